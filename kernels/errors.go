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

// NotPositiveDefiniteError is what op "potrf" returns for a tile whose
// leading minor is not positive definite, or holds a NaN.
type NotPositiveDefiniteError struct {
	Minor int // order of the minor, from 1, in the whole matrix
}

func (e *NotPositiveDefiniteError) Error() string {
	return fmt.Sprintf("potrf: the leading minor of order %d is not positive definite", e.Minor)
}

// Final says that another attempt would find the same: see graph.Failure.
func (e *NotPositiveDefiniteError) Final() bool { return true }
