package offload

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Accelerator is a processor with memory of its own that executes calls by itself: package
// kernels/cuda has those of NVIDIA and a simulated one. A runtime has one worker for each, which
// starts calls and learns of their ends.
//
// A value (of a datum) is on the host, on the accelerator, or on both, and the accelerator knows
// which. Only the runtime's order of tasks prevents that a value is used in two places while a task
// writes it.
//
// Launch, Ended and Prefetch are called by one goroutine, the others by any.
type Accelerator interface {
	// Name returns the accelerator's name, as "cuda0".
	Name() string
	// Target returns what versions can use of it.
	Target() *versions.Target
	// Claim reserves the accelerator for one runtime until Release, and reports false if another
	// runtime has it: two would take the ends of each other's calls.
	Claim() bool
	Release()
	// Fits returns nil if all these values, and extra bytes beside them, can be in the
	// accelerator's memory at once, or an error that says why they never can.
	Fits(values []any, extra int64) error
	// Missing returns the number of a value's bytes that must be copied to the accelerator before a
	// call can read it there, and Bring the expected time for copying so many bytes. Back returns
	// the time that the host would wait for a value that only the accelerator has; 0 if the host
	// has it.
	Missing(value any) (bytes int64)
	Bring(bytes int64) time.Duration
	Back(value any) time.Duration

	// Prefetch begins to copy values that a call will soon read, as far as there is free memory.
	Prefetch(values []any, job uint64)
	// Launch starts a call: it copies its operands in and lets the version enqueue its work. It may
	// wait for memory, not for the device. After an error the call has not been started.
	Launch(l *versions.Launch) error
	// Ended appends the launches that have ended since the last call to ended. If there are none,
	// it waits for the first, at most for the given time and until [Accelerator.Wake].
	Ended(ended []*versions.Launch, wait time.Duration) []*versions.Launch
	Wake()

	// Fetch prepares a value for a use by the host: it copies the value back if only the
	// accelerator has its latest state, and drops the accelerator's copy if the host is going to
	// write. The error says that the value is lost.
	Fetch(value any, use versions.Use) error
	// Flush fetches all values that calls of a job have used, and drops the accelerator's copies.
	Flush(job uint64) error
	// Lost returns why the accelerator cannot be used any more, or nil.
	Lost() error
	// Close releases all resources. All calls must have ended.
	Close() error
}

// Copier is an [Accelerator] that can report its copies, for traces.
type Copier interface {
	// OnCopy sets a function that any goroutine calls for each copy that has ended, perhaps some
	// time later; nil ends that. OnCopy is called while no copy runs.
	OnCopy(f func(versions.Copy))
}

// Retainer is an [Accelerator] that can leave its copies of values where they are when a job ends.
type Retainer interface {
	// Retain says that copies of these values are to stay until Discard. The accelerator may drop
	// them when it has no room. Flush makes the host's values valid all the same.
	Retain(values []any)
	Discard(values []any)
}

// Batcher is an [Accelerator] that can start several calls as one: those of a
// version whose keys are equal, see [versions.Batch].
type Batcher interface {
	// LaunchBatch starts at least two calls as one. They end together, each with an error of its
	// own, and share the time. After an error none of them has been started, and each may be
	// started alone.
	LaunchBatch(calls []*versions.Launch) error
}

// InUseError says that an accelerator serves another runtime.
type InUseError struct{ Accelerator string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("exec: the accelerator %s serves another runtime", e.Accelerator)
}

// Claim reserves all accelerators for one runtime, or none. The error is an *InUseError.
func Claim(all []Accelerator) error {
	for i, a := range all {
		if !a.Claim() {
			Release(all[:i])
			return &InUseError{a.Name()}
		}
	}
	return nil
}

// Release releases all of them.
func Release(all []Accelerator) {
	for _, a := range all {
		a.Release()
	}
}
