package mpi

import (
	"errors"

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
	// ThreadError says that the program has initialised MPI for calls from one thread only.
	ThreadError = libmpi.ThreadError
	// Error is an error of MPI.
	Error = libmpi.Error
)
