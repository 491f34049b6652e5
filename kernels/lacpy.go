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

// Recut is the parameter of op "recut": B = the m×n elements from (Row, Col) on of a matrix
// that is there in tiles of other sizes, so many across:
//
//	A1 │ A2 │ A3       Across = 3
//	───┼────┼───
//	A4 │┌A5─┼──┐A6     Row and Col are counted from
//	───┼┼───┼──┼       the first element of A1
//	A7 ││A8 │ B│A9
//	   │└───┼──┘
//
// Operands, in order: B (out, m×n), the tiles (in) by rows; equally high in a row of them, and
// equally wide in a column. With Uplo = Lower or Upper there are as many rows of tiles as
// columns, and only the tiles of that triangle are operands. B is undefined where the others are.
type Recut struct {
	Across, Row, Col int
	Uplo             blas.Uplo
}
