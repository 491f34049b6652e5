package kernels

import "gonum.org/v1/gonum/blas"

// Lacpy is the parameter of op "lacpy" (LAPACK xLACPY): B = A, in all of B (Uplo =
// All) or in its Uplo triangle with the diagonal. The rest of B is not written; it is
// undefined where B is only out, since a device has not what the host had there.
//
// Operands: A (in), B (out, m×n; inout to keep the rest). A is m×n or larger; then
// its leading block is copied.
type Lacpy struct {
	Uplo blas.Uplo
}

// Laset is the parameter of op "laset" (LAPACK xLASET): A = Beta on the diagonal
// and Alpha off it, in all of A (Uplo = All) or in its Uplo triangle. The rest of A
// is not written.
//
// Operand: A (out, m×n; inout unless Uplo = All).
type Laset struct {
	Uplo        blas.Uplo
	Alpha, Beta float64
}
