package cpu

import "gonum.org/v1/gonum/blas"

// Element is the constraint of the element types.
type Element interface {
	float32 | float64
}

// Routines is one implementation of the level-3 routines. Matrices are
// row-major: element (i, j) of a is a[i*lda+j]; what lies beyond the last
// column is neither read nor written. Complex transposes mean plain ones.
//
// Every routine panics with an [Error] if an enumeration, a dimension, a
// leading dimension, or the length of a slice is wrong. The work slice is
// scratch of at least Work(d) elements, where d is the largest dimension of
// the call; its contents on return are unspecified. The operand that is
// written must not overlap another one.
//
// An implementation is safe for concurrent use with distinct work slices.
type Routines[T Element] interface {
	// Work returns the number of elements of scratch that a call needs whose
	// dimensions do not exceed dim. It does not grow without bound.
	Work(dim int) int

	// Gemm computes
	//
	//	C = alpha·op(A)·op(B) + beta·C
	//
	// with op(A) m×k, op(B) k×n and C m×n. With beta = 0, C is not read; with
	// alpha = 0, A and B are not. Reference: BLAS xGEMM.
	Gemm(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, work []T)

	// Syrk computes, in the uplo triangle of the n×n matrix C,
	//
	//	C = alpha·A·Aᵀ + beta·C  (trans = NoTrans, A n×k)
	//	C = alpha·Aᵀ·A + beta·C  (otherwise,       A k×n)
	//
	// The other triangle is neither read nor written. With beta = 0, C is
	// not read; with alpha = 0, A is not. Reference: BLAS xSYRK.
	Syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int, work []T)

	// Trsm overwrites the m×n matrix B with X, the solution of
	//
	//	op(A)·X = alpha·B  (side = Left,  A m×m)
	//	X·op(A) = alpha·B  (side = Right, A n×n)
	//
	// where A is triangular. Only the uplo triangle of A is read, and not its
	// diagonal if diag is Unit; with alpha = 0, A is not read and B becomes
	// zero. A zero on the diagonal gives infinities or NaN, no panic.
	// Reference: BLAS xTRSM.
	Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T)

	// Trmm overwrites the m×n matrix B with
	//
	//	alpha·op(A)·B  (side = Left,  A m×m)
	//	alpha·B·op(A)  (side = Right, A n×n)
	//
	// where A is triangular. Only the uplo triangle of A is read, and not its
	// diagonal if diag is Unit; with alpha = 0, A is not read and B becomes
	// zero. A NaN or an infinity in a column (left) or row (right) of B may
	// make NaN of all of it, but of no other. Reference: BLAS xTRMM.
	Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T)

	// Potrf factors the n×n symmetric positive definite matrix A in place,
	//
	//	A = L·Lᵀ (uplo = Lower) or A = Uᵀ·U (uplo = Upper),
	//
	// in its uplo triangle; the other one is neither read nor written. It
	// returns 0, or the order of the first leading minor that is not positive
	// definite or not a number; the triangle then holds intermediate values.
	// Reference: LAPACK xPOTRF.
	Potrf(uplo blas.Uplo, n int, a []T, lda int, work []T) (info int)
}
