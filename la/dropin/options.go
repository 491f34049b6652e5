package dropin

import (
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/lapack"
)

// FailedError is the panic of a routine whose computation has broken down in
// the middle, so that its result is undefined: a version of an operation has
// failed or panicked, or the engine given to [InstallWith] was closed. BLAS has
// no error to return.
type FailedError struct {
	Routine string // as in "Dgemm"
	Err     error  // an *exec.TaskError, or exec.ErrClosed
}

func (e *FailedError) Error() string { return "dropin: " + e.Routine + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *FailedError) Unwrap() error { return e.Err }

// Options configures a [BLAS] and a [LAPACK]. The zero value is what Install
// uses.
type Options struct {
	// Engine computes; it must stay open until Restore. Nil means an engine
	// with the options la.Options{Static: true}, that is one worker for each
	// core, made by Install and closed by Restore.
	Engine *la.Engine
	// Small is the largest product of the dimensions, the number of
	// multiplications, of a problem that is left to gonum's own routine; 0
	// means a default by routine, -1 that nothing is too small.
	Small int
	// Accurate leaves singular value decompositions to gonum's QR iteration. It is slow, and the small singular
	// values of a graded matrix, whose rows or columns are of very different sizes, keep more digits.
	Accurate bool
	// LAPACK is what Restore is to register with lapack64, which unlike blas64
	// does not tell what it has. Nil means gonum's own.
	LAPACK lapack.Float64
}
