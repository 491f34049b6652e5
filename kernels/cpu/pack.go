package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu/internal/asm"
)

// packA packs the m×k matrix A, whose element (i, p) is src[i*rs+p*cs], and
// returns the strides of the copy as strip has them. Rows stay rows and
// columns stay columns: the micro-kernels read either.
func (v *vectors[T]) packA(dst, src []T, rs, cs, m, k, mr int) (prs, pcs, ps int) {
	if cs == 1 {
		for i := range m {
			copy(dst[i*k:(i+1)*k], src[i*rs:])
		}
		return k, 1, mr * k
	}
	size := int(unsafe.Sizeof(*new(T)))
	for i := 0; i < m; i += mr {
		h := min(mr, m-i)
		_, _ = dst[(i+mr)*k-1], src[i+h-1+(k-1)*cs]
		v.copy(asm.Panel{
			Dst: unsafe.Pointer(&dst[i*k]), Pitch: mr * size,
			Src: unsafe.Pointer(&src[i]), Stride: cs * size,
			K: k, W: h * size,
		})
	}
	return 1, mr, mr * k
}

// packB packs a strip of B: the k×w matrix whose element (p, j) is
// src[p*rs+j*cs], into rows of r elements, a multiple of a vector, that end in
// zeros.
func (v *vectors[T]) packB(dst, src []T, rs, cs, w, k, r int) {
	size := int(unsafe.Sizeof(*new(T)))
	_, _ = dst[k*r-1], src[(k-1)*rs+(w-1)*cs]
	if cs == 1 {
		v.copy(asm.Panel{
			Dst: unsafe.Pointer(&dst[0]), Pitch: r * size,
			Src: unsafe.Pointer(&src[0]), Stride: rs * size,
			K: k, W: w * size,
		})
		return
	}
	for j := 0; j < w; j += v.lanes {
		v.transpose(asm.Panel{
			Dst: unsafe.Pointer(&dst[j]), Pitch: r * size,
			Src: unsafe.Pointer(&src[j*cs]), Stride: cs * size,
			K: k, W: min(v.lanes, w-j),
		})
	}
}
