package offload

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Accelerator is a processor with memory of its own that executes calls by
// itself: kernels/cuda has those of NVIDIA and a simulated one. A runtime has
// one worker for each, which starts calls there and hears of their end.
//
// A value (that of a datum) is on the host, on the accelerator, or both, and
// the accelerator knows which. Only the runtime's order of tasks keeps a value
// from being used in two places while one writes it.
//
// Launch, Ended and Prefetch are called by one goroutine, the others by any.
type Accelerator interface {
	// Name is what people call it: "cuda0".
	Name() string
	// Target is what it offers to versions.
	Target() *versions.Target
	// Claim has it serve one runtime, until Release, and reports false if another
	// one has it: two would take the ends of each other's calls.
	Claim() bool
	Release()
	// Fits returns nil if a call can have all these values in the accelerator's
	// memory at once, with extra bytes beside them, or an error that says why it
	// never can.
	Fits(values []any, extra int64) error
	// Missing returns how many of a value's bytes would have to be copied to
	// the accelerator before a call could read it there, and Bring the time that
	// this is expected to take. Back returns the time that the host would wait
	// for a value that only the accelerator has; 0 if the host has it.
	Missing(value any) (bytes int64)
	Bring(bytes int64) time.Duration
	Back(value any) time.Duration

	// Prefetch begins to copy values that a call will soon read, as far as there
	// is room that nobody needs.
	Prefetch(values []any, job uint64)
	// Launch starts a call: it brings its operands in and lets the version
	// enqueue its work. It does not wait for the device but for room. If it
	// returns an error the call has not been started.
	Launch(l *versions.Launch) error
	// Ended appends the launches that have ended since the last call to ended.
	// If there are none it waits for the first at most for the given time, and
	// no longer than until [Accelerator.Wake].
	Ended(ended []*versions.Launch, wait time.Duration) []*versions.Launch
	Wake()

	// Fetch prepares a value for a use by the host: it copies it back if only
	// the accelerator has it as it is, and gives up the accelerator's copy if
	// the host is going to write. The error says that the value is lost.
	Fetch(value any, use versions.Use) error
	// Flush fetches all values that calls of a job have used, and gives up the
	// accelerator's copies.
	Flush(job uint64) error
	// Lost returns why the accelerator is of no use any more, or nil.
	Lost() error
	// Close gives everything back. All calls must have ended.
	Close() error
}

// Copier is an [Accelerator] that can tell of its copies, for traces.
type Copier interface {
	// OnCopy has f called for each copy that has ended, by any goroutine and
	// maybe some time later; nil ends that. It is called while nothing is copied.
	OnCopy(f func(versions.Copy))
}

// Batcher is an [Accelerator] that can start several calls as one: those of a
// version whose keys are equal, see [versions.Batch].
type Batcher interface {
	// LaunchBatch starts at least two calls as one. They end together, each with
	// an error of its own, and share the time that they took. If it returns an
	// error none of them has been started, and each may be.
	LaunchBatch(calls []*versions.Launch) error
}

// InUseError says that an accelerator serves another runtime.
type InUseError struct{ Accelerator string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("exec: the accelerator %s serves another runtime", e.Accelerator)
}

// Claim has all accelerators serve one runtime, or none. The error is an
// *InUseError.
func Claim(all []Accelerator) error {
	for i, a := range all {
		if !a.Claim() {
			Release(all[:i])
			return &InUseError{a.Name()}
		}
	}
	return nil
}

// Release gives all of them back.
func Release(all []Accelerator) {
	for _, a := range all {
		a.Release()
	}
}
