package blocked

import "gonum.org/v1/gonum/blas"

// Potri submits the inverse of a symmetric positive definite matrix from its
// Cholesky factor L, or U = Lᵀ if a stores the upper half, as [Program.Potrf]
// leaves it:
//
//	W = L⁻¹,  C = Wᵀ·W = A⁻¹.
//
// W is n×n, TriLower, and overwritten; C is n×n, SymLower or SymUpper, and
// overwritten in its half. All have the tile size of a. In the diagonal tiles
// of a and C only the stored triangle is read or written.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if the kinds are others.
//
// Reference: LAPACK xPOTRI, xTRTRI, xLAUUM.
func (p *Program[T]) Potri(a, w, c *Matrix[T]) error {
	if w.Kind() != TriLower || (c.Kind() != SymLower && c.Kind() != SymUpper) {
		panic(ErrKind)
	}
	if a.Cols() != a.Rows() || w.Rows() != a.Rows() || c.Rows() != a.Rows() || w.NB() != a.NB() || c.NB() != a.NB() {
		panic(ErrShape)
	}
	p.Laset(0, 1, w)
	uplo, trans := blas.Lower, blas.NoTrans
	if a.Kind().Uplo() == blas.Upper {
		uplo, trans = blas.Upper, blas.Trans
	}
	p.trsm(blas.Left, uplo, trans, blas.NonUnit, 1, a, w, blas.Lower)
	p.syrk(blas.Trans, 1, w, 0, c)
	return p.err
}
