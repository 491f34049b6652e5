package chol

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Potri submits the inverse of a symmetric positive definite matrix from its
// Cholesky factor L, or U = Lᵀ if a stores the upper half, as [Potrf]
// leaves it:
//
//	W = L⁻¹,  C = Wᵀ·W = A⁻¹.
//
// W is n×n and TriLower, and is overwritten. C is n×n and SymLower or SymUpper; the
// half that it stores is overwritten. All have the tile size of a. In the diagonal
// tiles of a and C only the stored triangle is read or written.
//
// The error is that of the first submission that has failed, such as the end of the job's context. Potri panics with
// ErrShape if the shapes or tile sizes do not fit, and with ErrKind if w or c is of another kind.
//
// Reference: LAPACK xPOTRI, xTRTRI, xLAUUM.
func Potri[T kernels.Element](p *blocked.Program[T], a, w, c *blocked.Matrix[T]) error {
	if w.Kind() != blocked.TriLower || !c.Kind().Symmetric() {
		panic(blocked.ErrKind)
	}
	if a.Cols() != a.Rows() || w.Rows() != a.Rows() || c.Rows() != a.Rows() || w.NB() != a.NB() || c.NB() != a.NB() {
		panic(blocked.ErrShape)
	}
	p.Laset(0, 1, w) // W = I, which the solution of L·W = I overwrites
	uplo, trans := blas.Lower, blas.NoTrans
	if a.Kind().Uplo() == blas.Upper {
		uplo, trans = blas.Upper, blas.Trans
	}
	tasks := submit.Of(p)
	tasks.Trsm(blas.Left, uplo, trans, blas.NonUnit, 1, a, w, blas.Lower)
	tasks.Syrk(blas.Trans, 1, w, 0, c)
	return tasks.Err
}
