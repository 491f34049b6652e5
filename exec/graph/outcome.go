package graph

import (
	"math"
	"sync"
	"sync/atomic"
)

// Outcome is the result of a job: the failure of the task with the smallest number, whichever
// failed first in time, or the reason why everything was cancelled.
//
// Tasks with smaller numbers than a failed one go on, because one of them may fail as well, and its
// failure is the sequential program's. So barred only grows. It is read for each task without the
// lock, and written under it.
type Outcome struct {
	// barred is the number of tasks that must not start any more, counted down from the largest
	// number there is: all after the smallest failed one, or all if everything is cancelled. The
	// zero Outcome bars none.
	barred atomic.Uint64

	mu      sync.Mutex // a leaf
	fault   *Fault     // the smallest failure
	stops   *Fault     // the smallest failure after which no later task is to start
	aborted *Fault     // why all was cancelled
	ignored int        // failures under the policy Ignore
}

// last returns the number of the last task that may start.
func (o *Outcome) last() uint64 { return math.MaxUint64 - o.barred.Load() }

// GoesOn reports whether a task may start, or be retried. A task may start while another one fails:
// that does no harm, because its result is not used.
func (o *Outcome) GoesOn(id TaskID) bool { return uint64(id) <= o.last() }

// Bars returns why t must not start, nil if it may: an input is tainted, or the job does not go on.
func (o *Outcome) Bars(t *Task) *Fault {
	if f := t.Tainted(); f != nil {
		o.inherit(f)
		return f
	}
	if o.GoesOn(t.ID()) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.aborted != nil && (o.stops == nil || t.ID() <= o.stops.Task) { // whatever else has failed
		return o.aborted
	}
	return o.stops
}

// Cancelled reports whether everything is cancelled. A failed task bars only tasks after it, and
// its number is at least 1.
func (o *Outcome) Cancelled() bool { return o.last() == 0 }

// Why returns the job's failure, nil if there is none.
func (o *Outcome) Why() *Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fault != nil {
		return o.fault
	}
	return o.aborted
}

// Abort cancels all tasks that have not started, because the context or the runtime ends. The first
// cause stays.
func (o *Outcome) Abort(cause error) {
	o.mu.Lock()
	if o.aborted == nil {
		o.aborted = &Fault{Err: cause}
	}
	o.barred.Store(math.MaxUint64)
	o.mu.Unlock()
}

// inherit notes the fault of a version that a task was to read. It may be a fault of an earlier job
// on the same data.
func (o *Outcome) inherit(f *Fault) {
	o.mu.Lock()
	if o.fault == nil {
		o.fault = f
	}
	o.mu.Unlock()
}

// Fail notes that a task has failed for good, and returns the fault for the readers of its outputs.
// late says that the failure only follows from the job's end; stops, that no later task is to
// start.
func (o *Outcome) Fail(f *Fault, late, stops bool) *Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	if id := uint64(f.Task); stops && id < o.last() {
		o.barred.Store(math.MaxUint64 - id)
		o.stops = f
	}
	if late {
		return o.aborted
	}
	if o.fault == nil || f.Task < o.fault.Task {
		o.fault = f
	}
	return f
}

// Ignore counts a failure under the policy [Ignore]: readers of the task's outputs get them as they
// are.
func (o *Outcome) Ignore() {
	o.mu.Lock()
	o.ignored++
	o.mu.Unlock()
}

// Ignored returns the number of ignored failures.
func (o *Outcome) Ignored() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ignored
}
