package dropin

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// smallNorm is the largest number of elements of a matrix whose norm is left
// to gonum by default, and normTile the order of the parts of others.
const (
	smallNorm = 1 << 10
	normTile  = 256
)

// Dlange returns a norm of the m×n matrix A: the largest magnitude, column sum
// or row sum, or the Frobenius norm; NaN if A holds one. work is not used, but
// must have n elements for lapack.MaxColumnSum. It panics as gonum's does.
//
// Reference: LAPACK xLANGE.
func (l LAPACK) Dlange(norm lapack.MatrixNorm, m, n int, a []float64, lda int, work []float64) float64 {
	if l.blas.core.small(smallNorm, m, n) || !isNorm(norm) || !fits(m, n, a, lda) ||
		norm == lapack.MaxColumnSum && len(work) < n {
		return l.Implementation.Dlange(norm, m, n, a, lda, work)
	}
	return view(m, n, a, lda, normTile).Norm(norm, l.blas.core.workers())
}

// Dlansy returns a norm of the symmetric n×n matrix of which A holds the uplo
// triangle, as [LAPACK.Dlange] does. work is not used, but must have n
// elements for lapack.MaxColumnSum and MaxRowSum, which are equal.
//
// Reference: LAPACK xLANSY.
func (l LAPACK) Dlansy(norm lapack.MatrixNorm, uplo blas.Uplo, n int, a []float64, lda int, work []float64) float64 {
	if l.blas.core.small(smallNorm, n, n) || !isNorm(norm) || !triangle(uplo) || !fits(n, n, a, lda) ||
		(norm == lapack.MaxColumnSum || norm == lapack.MaxRowSum) && len(work) < n {
		return l.Implementation.Dlansy(norm, uplo, n, a, lda, work)
	}
	return viewSym(uplo, n, a, lda, normTile).Norm(norm, l.blas.core.workers())
}

// Dlantr returns a norm of the m×n trapezoidal matrix that is the uplo part of
// A, with ones on its diagonal if diag is Unit, as [LAPACK.Dlange] does.
// Triangular matrices with a diagonal of their own are fast, gonum does the
// others.
//
// Reference: LAPACK xLANTR.
func (l LAPACK) Dlantr(norm lapack.MatrixNorm, uplo blas.Uplo, diag blas.Diag, m, n int, a []float64, lda int, work []float64) float64 {
	if m != n || diag != blas.NonUnit || l.blas.core.small(smallNorm, n, n) || !isNorm(norm) || !triangle(uplo) ||
		!fits(n, n, a, lda) || norm == lapack.MaxColumnSum && len(work) < n {
		return l.Implementation.Dlantr(norm, uplo, diag, m, n, a, lda, work)
	}
	return viewTri(uplo, n, a, lda, normTile).Norm(norm, l.blas.core.workers())
}

func isNorm(norm lapack.MatrixNorm) bool {
	switch norm {
	case lapack.MaxAbs, lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius:
		return true
	}
	return false
}
