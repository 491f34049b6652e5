package kernels

import (
	"gonum.org/v1/gonum/blas"
)

// Gemm is the parameter of op "gemm" (BLAS xGEMM):
//
//	C = Alpha·op(A)·op(B) + Beta·C
//
// Operands, in order: A (in), B (in), C (inout). op(A) is m×k, op(B) k×n,
// C m×n. With Beta = 0, C is not read and may hold NaN; with Alpha = 0, A and B
// are not read, either.
//
// What tasks share ([Packings]) is op(A) as A and op(B) as B.
type Gemm struct {
	TransA, TransB blas.Transpose
	Alpha, Beta    float64
}

// Syrk is the parameter of op "syrk" (BLAS xSYRK):
//
//	C = Alpha·A·Aᵀ + Beta·C  (Trans = NoTrans, A n×k)
//	C = Alpha·Aᵀ·A + Beta·C  (Trans = Trans,   A k×n)
//
// Operands: A (in), C (inout). Only the Uplo triangle of C (n×n) is read or
// written. With Beta = 0, C is not read and may hold NaN; with Alpha = 0 so is A.
//
// What tasks share ([Packings]) is op(A), as A for all products that have it on their
// left, and its transpose, as B for those that have that on their right.
type Syrk struct {
	Uplo        blas.Uplo
	Trans       blas.Transpose
	Alpha, Beta float64
}

// Trsm is the parameter of op "trsm" (BLAS xTRSM):
//
//	B = Alpha·op(A)⁻¹·B  (Side = Left,  A m×m)
//	B = Alpha·B·op(A)⁻¹  (Side = Right, A n×n)
//
// Operands: A (in), B (inout, m×n). Only the Uplo triangle of A is read, and
// not its diagonal if Diag is Unit. The tile of A may be larger than A, which
// is then its leading block: so are factors in the last tiles of a rectangular
// matrix. With Alpha = 0 neither A nor B is read, and both may hold NaN; B becomes 0.
type Trsm struct {
	Side  blas.Side
	Uplo  blas.Uplo
	Trans blas.Transpose
	Diag  blas.Diag
	Alpha float64
}

// Potrf is the parameter of op "potrf" (LAPACK xPOTRF): the Cholesky
// factorization of a symmetric positive definite tile,
//
//	A = L·Lᵀ (Uplo = Lower) or A = Uᵀ·U (Uplo = Upper).
//
// Operand: A (inout, n×n); the factor overwrites its Uplo triangle, the other
// one is neither read nor written. If leading minor i (from 1) is not
// positive definite the version returns *NotPositiveDefiniteError with
// Minor = Offset+i, LAPACK's info for the whole matrix.
type Potrf struct {
	Uplo   blas.Uplo
	Offset int // global index of the tile's first row
}
