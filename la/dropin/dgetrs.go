package dropin

import "gonum.org/v1/gonum/blas"

// Dgetrs solves A·X = B or, for tA = Trans or ConjTrans, Aᵀ·X = B. A is n×n and B n×nrhs,
// overwritten with X. a and ipiv hold what [LAPACK.Dgetrf] left: with A = P·L·U, X =
// U⁻¹·L⁻¹·Pᵀ·B. It panics as gonum's does.
//
// Reference: LAPACK xGETRS.
func (l LAPACK) Dgetrs(trans blas.Transpose, n, nrhs int, a []float64, lda int, ipiv []int, b []float64, ldb int) {
	if l.blas.core.smallCube(smallTrsm, n, n, nrhs) || !transpose(trans) || !fits(n, n, a, lda) || !fits(n, nrhs, b, ldb) || len(ipiv) != n {
		l.Implementation.Dgetrs(trans, n, nrhs, a, lda, ipiv, b, ldb)
		return
	}
	if trans == blas.NoTrans {
		l.swapRows(false, nrhs, b, ldb, ipiv)
		l.blas.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, n, nrhs, 1, a, lda, b, ldb)
		l.blas.Dtrsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, n, nrhs, 1, a, lda, b, ldb)
		return
	}
	l.blas.Dtrsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, n, nrhs, 1, a, lda, b, ldb)
	l.blas.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.Unit, n, nrhs, 1, a, lda, b, ldb)
	l.swapRows(true, nrhs, b, ldb, ipiv)
}
