package blocked

import (
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Getri submits the inverse of the product of the factors of an LU
// factorization, as [Program.Getrf] leaves them in the n×n matrix a,
//
//	W = (L·U)⁻¹ = U⁻¹·L⁻¹.
//
// W must be the n×n identity, Full, of the tile size of a. The inverse of
// A = P·L·U is W·Pᵀ: that is W with the interchanges of the rows done to its
// columns, the last one first. A zero on the diagonal of U gives infinities and
// NaN.
//
// Reference: LAPACK xGETRI, which solves the same for W·L = U⁻¹.
func (p *Program[T]) Getri(a, w *Matrix[T]) error {
	if a.kind != Full || w.kind != Full {
		panic(ErrKind)
	}
	if a.rows != a.cols || w.rows != a.rows || w.cols != a.cols || w.nb != a.nb {
		panic(ErrShape)
	}
	l, o := p.operand(a), p.operand(w)
	trsm := &kernels.Trsm{Side: blas.Left, Uplo: blas.Lower, Trans: blas.NoTrans, Diag: blas.Unit, Alpha: 1}
	gemm := &kernels.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: -1, Beta: 1}
	mt := a.mt
	for k := range mt {
		for j := range k + 1 { // L⁻¹ is lower triangular
			if err := p.submit(p.ops.Trsm, trsm, int64(2*mt-k), in(l.tile(k, k)), inout(o.tile(k, j))); err != nil {
				return err
			}
		}
		for i := k + 1; i < mt; i++ {
			for j := range k + 1 {
				if err := p.submit(p.ops.Gemm, gemm, int64(2*mt-i), in(l.tile(i, k)), in(o.tile(k, j)), inout(o.tile(i, j))); err != nil {
					return err
				}
			}
		}
	}
	return p.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 1, a, w)
}
