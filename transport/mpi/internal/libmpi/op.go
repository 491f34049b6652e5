package libmpi

import (
	"errors"
	"fmt"
	"runtime"
)

// Piece is the largest message of MPI in bytes: its counts have 31 bits.
const Piece = 1 << 30

// Op is a message that is being sent or received.
type Op struct {
	N    int       // bytes received
	Err  error     // an *Error
	Then func(*Op) // called at the end, by the progress goroutine; must not block

	buf  []byte
	pins runtime.Pinner
	rank int // of the other side
	in   bool
}

// finish ends an operation that MPI has completed.
func (o *Op) finish() {
	o.pins.Unpin()
	o.buf = nil
	if o.Then != nil {
		o.Then(o)
	}
}

// Error is an error of MPI.
type Error struct {
	Call string
	Text string // as MPI has it
}

func (e *Error) Error() string { return fmt.Sprintf("mpi: %s: %s", e.Call, e.Text) }

// ErrAbsent says that MPI_Init does not return, as it waits for other ranks.
var ErrAbsent = errors.New("mpi: MPI_Init still waits for other ranks; has one of them ended, or not been started?")

// ErrStuck says that MPI_Finalize does not return, though all ranks have called it.
var ErrStuck = errors.New("mpi: all ranks are done, but MPI_Finalize does not return")

// ThreadError says that MPI was initialised for calls from fewer threads than are needed.
type ThreadError struct {
	Multiple bool // several threads are to call MPI at once; otherwise one at a time
	Library  bool // the library offers no more; otherwise the program has asked for less
}

func (e *ThreadError) Error() string {
	switch {
	case e.Library && e.Multiple:
		return "mpi: this library does not offer MPI_THREAD_MULTIPLE"
	case e.Library:
		return "mpi: this library does not offer MPI_THREAD_SERIALIZED"
	case e.Multiple:
		return "mpi: tasks that call MPI need MPI_THREAD_MULTIPLE: use OpenMultiple, or call MPI_Init_thread with it"
	}
	return "mpi: the program has initialised MPI for one thread: call MPI_Init_thread with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE"
}

// BuildError says that this program was built without MPI.
type BuildError struct{ Problem string }

func (e *BuildError) Error() string { return "mpi: " + e.Problem }
