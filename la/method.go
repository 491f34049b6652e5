package la

import "github.com/tessera-la/tessera/internal/words"

// Method is how [Solve] and [Inverse] treat a matrix.
type Method uint8

// The methods, with their flops for an n×n matrix to leading order.
const (
	// MethodNone: there was nothing to solve, or an error occurred before a method was chosen.
	MethodNone Method = iota
	// MethodDiagonal divides by the diagonal.
	MethodDiagonal
	// MethodTriangular substitutes, in n² flops for each right-hand side.
	MethodTriangular
	// MethodCholesky is that of [Cholesky]: n³/3 flops.
	MethodCholesky
	// MethodLU is that of [LU] with partial pivoting: 2n³/3 flops.
	MethodLU
	// MethodQR is that of [QR], for matrices that are not square: 2n²(m−n/3)
	// flops of an m×n one with m ≥ n.
	MethodQR
)

var methods = words.Of[Method]{"none", "diagonal", "triangular", "Cholesky", "LU", "QR"}

func (m Method) String() string { return methods.Name(m) }

// SolveReport reports how a system was solved.
type SolveReport struct {
	// Method is the method that gave the solution or the error.
	Method Method
	// Band says that the method worked on the band of the matrix alone.
	Band bool
	// Minor is not 0 if a symmetric matrix with a positive diagonal was not positive definite, and
	// MethodLU solved it instead: the order of the minor that is not positive definite, as in
	// [NotPositiveDefiniteError].
	Minor int
}
