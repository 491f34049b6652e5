//go:build !noasm

package avx2

//go:noescape
func absSumsF64(x *float64, stride, n int, col, row, top *float64)

//go:noescape
func absSumsF32(x *float32, stride, n int, col, row, top *float64)

//go:noescape
func topBitsF64(x *float64, n int, top *[8]uint64)

//go:noescape
func topBitsF32(x *float32, n int, top *[8]uint64)
