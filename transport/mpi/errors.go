package mpi

import (
	"errors"
	"fmt"

	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

// ErrLost says that MPI was not finalised, as a rank was lost.
var ErrLost = errors.New("mpi: a rank was lost, so MPI was not finalised")

// ErrAbsent says that MPI_Init did not return in the time that [Open] waits, as other ranks have not
// called it. The process has to end.
var ErrAbsent = libmpi.ErrAbsent

// ErrStuck says that all ranks are done, but MPI_Finalize does not return.
var ErrStuck = libmpi.ErrStuck

type (
	// BuildError says that this program was built without MPI, and how to build it.
	BuildError = libmpi.BuildError
	// ThreadError says that MPI was initialised for calls from fewer threads than are needed: one at a time, or
	// several at once if its field Multiple is set.
	ThreadError = libmpi.ThreadError
	// Error is an error of MPI.
	Error = libmpi.Error
)

// Errors returns an error of each type that tasks return, for cluster.Options.Errors.
func Errors() []error { return []error{&RankError{}, &CommError{}, &ThreadError{}, &Error{}} }

// RankError is the error of one rank of a task, on all of them: see [Comm.Agree].
type RankError struct {
	Rank int    // among the ranks of the task
	Text string // of its error
	own  error  // the error itself, on that rank
}

func (e *RankError) Error() string {
	return fmt.Sprintf("mpi: rank %d of the task: %s", e.Rank, e.Text)
}

// Unwrap returns the error on the rank that has passed it, and nil on others.
func (e *RankError) Unwrap() error { return e.own }

// CommError says why a task can have no communicator.
type CommError struct{ Reason string }

func (e *CommError) Error() string { return "mpi: " + e.Reason }
