package kernels

import "fmt"

// Error is the type of the constants that ops and tables panic with when they
// are misused.
type Error string

func (e Error) Error() string { return string(e) }

// Misuse of ops and tables. A wrong enumeration in a parameter panics with a
// constant of kernels/cpu.
const (
	ErrParams  Error = "kernels: parameter is not of the op's type"
	ErrArgs    Error = "kernels: wrong number or type of operands"
	ErrShape   Error = "kernels: shapes of the tiles do not fit together"
	ErrDevice  Error = "kernels: a version for devices called without one"
	ErrVersion Error = "kernels: version without a name or function, or one that the op has, or a foreign op"
)

// OverflowError reports a result that is out of the range of its type, although all operands are finite.
type OverflowError struct {
	Row, Col int // its first element that is infinite or NaN in row-major order, from 0
}

// Error names package la, whose users read it.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("la: the element of the result in row %d, column %d (counted from 1) overflows", e.Row+1,
		e.Col+1)
}

// Final says that another attempt would find the same: see graph.Failure.
func (e *OverflowError) Final() bool { return true }

// NotPositiveDefiniteError reports a symmetric matrix that has no Cholesky factorization: op "potrf"
// returns it for a tile whose leading minor is not positive definite, or holds a NaN.
type NotPositiveDefiniteError struct {
	// Minor is the order, from 1, of the smallest leading minor of the whole matrix that is not
	// positive definite: LAPACK's info.
	Minor int
}

// Error names package la, whose users read it.
func (e *NotPositiveDefiniteError) Error() string {
	return fmt.Sprintf("la: matrix is not positive definite: the leading minor of order %d is not", e.Minor)
}

// Final says that another attempt would find the same: see graph.Failure.
func (e *NotPositiveDefiniteError) Final() bool { return true }
