package loop

import (
	"fmt"

	"github.com/tessera-la/tessera/internal/problems"
)

// Error is the panic of misuse.
type Error string

func (e Error) Error() string { return string(e) }

// The panics of this package.
const (
	ErrItems  Error = "loop: the number of items is negative"
	ErrBody   Error = "loop: there is no body"
	ErrScheme Error = "loop: no such scheme, or none that has chunks of its own"
	ErrShape  Error = "loop: a shape without workers, or a negative number in it"
)

// ChunkError reports a chunk whose body has failed. Of all chunks of a loop that fail, the
// one with the first items is reported, whichever failed first in time: if the body goes
// through its items in order and returns its first error, that is the error of the loop
// on one goroutine.
type ChunkError struct {
	Chunk
	Err error // what the body returned; *exec.PanicError
}

func (e *ChunkError) Error() string {
	return fmt.Sprintf("items %d to %d, on worker %d: %v", e.Lo, e.Hi-1, e.Worker, e.Err)
}

// Unwrap returns the cause.
func (e *ChunkError) Unwrap() error { return e.Err }

// OptionsError lists everything that is wrong with an Options.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string { return problems.InvalidOptions("loop", e.Problems) }
