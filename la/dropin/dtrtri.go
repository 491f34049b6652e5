package dropin

import "gonum.org/v1/gonum/blas"

// smallTrtri is the cube of the largest order left to gonum by default.
const smallTrtri = 48 * 48 * 48

// Dtrtri computes the inverse of the triangular n×n matrix in the uplo triangle
// of a in place; with diag = Unit its diagonal is ones and not read. It returns
// false, and does nothing, if the matrix is singular. It panics as gonum's
// does.
//
// Reference: LAPACK xTRTRI; in halves, where LAPACK has blocks.
func (l LAPACK) Dtrtri(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int) (ok bool) {
	if l.blas.core.smallCube(smallTrtri, n, n, n) || !fitsTri(blas.Left, uplo, blas.NoTrans, diag) || !fits(n, n, a, lda) {
		return l.Implementation.Dtrtri(uplo, diag, n, a, lda)
	}
	if diag == blas.NonUnit {
		for i := range n {
			if a[i*lda+i] == 0 {
				return false
			}
		}
	}
	l.trtri(uplo, diag, n, a, lda)
	return true
}

// trtri inverts a triangle of order 2 at least by halves:
//
//	⎡A11    ⎤⁻¹   ⎡A11⁻¹              ⎤
//	⎣A21 A22⎦   = ⎣−A22⁻¹·A21·A11⁻¹  A22⁻¹⎦, and the transpose of it.
func (l LAPACK) trtri(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int) {
	if n < 2 || l.blas.core.smallCube(smallTrtri, n, n, n) {
		l.Dtrti2(uplo, diag, n, a, lda)
		return
	}
	h := (n/2 + 7) &^ 7
	if h >= n {
		h = n / 2
	}
	second := a[h*lda+h:]
	if uplo == blas.Lower {
		beside := a[h*lda:]
		l.blas.Dtrsm(blas.Left, uplo, blas.NoTrans, diag, n-h, h, -1, second, lda, beside, lda)
		l.blas.Dtrsm(blas.Right, uplo, blas.NoTrans, diag, n-h, h, 1, a, lda, beside, lda)
	} else {
		beside := a[h:]
		l.blas.Dtrsm(blas.Left, uplo, blas.NoTrans, diag, h, n-h, -1, a, lda, beside, lda)
		l.blas.Dtrsm(blas.Right, uplo, blas.NoTrans, diag, h, n-h, 1, second, lda, beside, lda)
	}
	l.trtri(uplo, diag, h, a, lda)
	l.trtri(uplo, diag, n-h, second, lda)
}

// Dtrtrs solves op(A)·X = B in place for the triangular n×n matrix A in the
// uplo triangle of a, and n×nrhs B. It returns false, and does nothing, if A is
// singular. It panics as gonum's does.
//
// Reference: LAPACK xTRTRS.
func (l LAPACK) Dtrtrs(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, n, nrhs int, a []float64, lda int, b []float64, ldb int) (ok bool) {
	if l.blas.core.smallCube(smallTrsm, n, n, nrhs) || !fitsTri(blas.Left, uplo, trans, diag) || !fits(n, n, a, lda) || !fits(n, nrhs, b, ldb) {
		return l.Implementation.Dtrtrs(uplo, trans, diag, n, nrhs, a, lda, b, ldb)
	}
	if diag == blas.NonUnit {
		for i := range n {
			if a[i*lda+i] == 0 {
				return false
			}
		}
	}
	l.blas.Dtrsm(blas.Left, uplo, trans, diag, n, nrhs, 1, a, lda, b, ldb)
	return true
}
