package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// gemv is op "gemm" for a C of one row or column: packing the matrix for it
// would take longer than the product.
func gemv[T kernels.Element](r *cpu.Packed[T], p *kernels.Gemm, a, b, c *kernels.Tile[T]) {
	if c.Cols == 1 {
		inc := b.Stride
		if p.TransB != blas.NoTrans {
			inc = 1 // b is a row
		}
		r.Gemv(p.TransA, a.Rows, a.Cols, T(p.Alpha), a.Data, a.Stride, b.Data, inc, T(p.Beta), c.Data, c.Stride)
		return
	}
	// Cᵀ = Alpha·op(B)ᵀ·op(A)ᵀ + Beta·Cᵀ
	inc := 1
	if p.TransA != blas.NoTrans {
		inc = a.Stride // a is a column
	}
	r.Gemv(flip(p.TransB), b.Rows, b.Cols, T(p.Alpha), b.Data, b.Stride, a.Data, inc, T(p.Beta), c.Data, 1)
}
