//go:build !noasm

package blocked

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// fetchRows is how many rows ahead copyFetching fetches.
const fetchRows = 8

// copyAVX2 copies rows of n ≥ 64 bytes, ss and ld bytes apart, from src to dst,
// and fetches each row that is ahead bytes further on in src.
//
//go:noescape
func copyAVX2(dst unsafe.Pointer, ld int, src unsafe.Pointer, ss, n, rows, ahead int)

// copyFetching copies a rows×cols block from src to dst, with strides ss and ld,
// and fetches the rows of src that come some rows later, be they of this block
// or below it. It returns false, and has done nothing, if the rows are short, or
// without AVX2.
func copyFetching[T Element](dst []T, ld int, src []T, ss, rows, cols int) bool {
	size := int(unsafe.Sizeof(*new(T)))
	if cols*size < 64 || !cpu.X86.HasAVX2 {
		return false
	}
	_, _ = dst[(rows-1)*ld+cols-1], src[(rows-1)*ss+cols-1]
	copyAVX2(unsafe.Pointer(&dst[0]), ld*size, unsafe.Pointer(&src[0]), ss*size, cols*size, rows, fetchRows*ss*size)
	return true
}
