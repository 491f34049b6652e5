package dropin

import "gonum.org/v1/gonum/blas"

// Dtrmm computes the product with a triangular matrix in place,
//
//	B = alpha·op(A)·B (side = Left,  A m×m),
//	B = alpha·B·op(A) (side = Right, A n×n),
//
// where B is m×n. Only the uplo triangle of A is read, and not its diagonal if
// diag is Unit. It panics as gonum's does.
//
// Reference: BLAS xTRMM.
func (b BLAS) Dtrmm(side blas.Side, uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, m, n int, alpha float64, a []float64, lda int, bb []float64, ldb int) {
	if !triangular(b.core, "Dtrmm", true, side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb) {
		b.Implementation.Dtrmm(side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb)
	}
}

// Strmm is Dtrmm in float32.
func (b BLAS) Strmm(side blas.Side, uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, m, n int, alpha float32, a []float32, lda int, bb []float32, ldb int) {
	if !triangular(b.core, "Strmm", true, side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb) {
		b.Implementation.Strmm(side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb)
	}
}
