package dropin

import "gonum.org/v1/gonum/blas"

// Dtrsm solves a triangular system in place,
//
//	B = alpha·op(A)⁻¹·B (side = Left,  A m×m),
//	B = alpha·B·op(A)⁻¹ (side = Right, A n×n),
//
// where B is m×n. Only the uplo triangle of A is read, and not its diagonal if
// diag is Unit. It panics as gonum's does.
//
// Reference: BLAS xTRSM.
func (b BLAS) Dtrsm(side blas.Side, uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, m, n int, alpha float64, a []float64, lda int, bb []float64, ldb int) {
	if !triangular(b.core, "Dtrsm", false, side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb) {
		b.Implementation.Dtrsm(side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb)
	}
}

// Strsm is Dtrsm in float32.
func (b BLAS) Strsm(side blas.Side, uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, m, n int, alpha float32, a []float32, lda int, bb []float32, ldb int) {
	if !triangular(b.core, "Strsm", false, side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb) {
		b.Implementation.Strsm(side, uplo, tA, diag, m, n, alpha, a, lda, bb, ldb)
	}
}
