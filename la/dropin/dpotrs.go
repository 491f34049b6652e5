package dropin

import "gonum.org/v1/gonum/blas"

// Dpotrs solves A·X = B in place for the n×n matrix A of which [LAPACK.Dpotrf]
// has left the factor in the uplo triangle of a, and n×nrhs B. It panics as
// gonum's does.
//
// Reference: LAPACK xPOTRS.
func (l LAPACK) Dpotrs(uplo blas.Uplo, n, nrhs int, a []float64, lda int, b []float64, ldb int) {
	if l.blas.core.smallCube(smallTrsm, n, n, nrhs) || !triangle(uplo) || !fits(n, n, a, lda) || !fits(n, nrhs, b, ldb) {
		l.Implementation.Dpotrs(uplo, n, nrhs, a, lda, b, ldb)
		return
	}
	first, then := blas.Trans, blas.NoTrans
	if uplo == blas.Lower {
		first, then = then, first
	}
	l.blas.Dtrsm(blas.Left, uplo, first, blas.NonUnit, n, nrhs, 1, a, lda, b, ldb)
	l.blas.Dtrsm(blas.Left, uplo, then, blas.NonUnit, n, nrhs, 1, a, lda, b, ldb)
}
