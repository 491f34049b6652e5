package graph

import (
	"math"
	"sync"
	"sync/atomic"
)

// Outcome is what becomes of a job: the failure of the task with the smallest number,
// whichever failed first in time, or why all was cancelled.
//
// Tasks with smaller numbers than one that has failed go on, for one of them may fail
// as well, and its failure is that of the sequential program. So barred only grows. It
// is read for each task, without the lock, and written under it.
type Outcome struct {
	// barred is the number of tasks that must not start any more, counted from the
	// largest number there is: all that follow the smallest one that failed, or all
	// when everything is cancelled. The zero Outcome lets all start.
	barred atomic.Uint64

	mu      sync.Mutex // a leaf
	fault   *Fault     // the smallest failure
	stops   *Fault     // the smallest failure after which no later task is to start
	aborted *Fault     // why all was cancelled
	ignored int        // failures that the tasks' policy ignores
}

// last returns the number of the last task that may start.
func (o *Outcome) last() uint64 { return math.MaxUint64 - o.barred.Load() }

// GoesOn reports whether a task may start, or be tried again. The answer may be late: a
// task may start while another one fails. That does no harm, its result is not used.
func (o *Outcome) GoesOn(id TaskID) bool { return uint64(id) <= o.last() }

// Bars returns why t must not start, nil if it may: what it would read was not made, or it does
// not go on.
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

// Cancelled reports whether everything is cancelled. A task that fails bars those after
// it, and its number is at least 1.
func (o *Outcome) Cancelled() bool { return o.last() == 0 }

// Why returns the failure that counts, nil if there is none.
func (o *Outcome) Why() *Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fault != nil {
		return o.fault
	}
	return o.aborted
}

// Abort cancels what has not started, for a reason that comes from outside of the job: the
// end of its context, or the runtime's. The first reason stays.
func (o *Outcome) Abort(cause error) {
	o.mu.Lock()
	if o.aborted == nil {
		o.aborted = &Fault{Err: cause}
	}
	o.barred.Store(math.MaxUint64)
	o.mu.Unlock()
}

// inherit notes the fault of a version that a task would have read. It may be that of
// an earlier job on the same data.
func (o *Outcome) inherit(f *Fault) {
	o.mu.Lock()
	if o.fault == nil {
		o.fault = f
	}
	o.mu.Unlock()
}

// Fail notes that a task has failed for good, and returns the fault that it passes on to
// those that read what it was to write. Late says that this comes of the end of
// everything, and is no failure of its own; stops, that no later task is to start.
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

// Ignore counts a failure that is ignored, by [Ignore]: who reads what the task was to
// write gets it as it is.
func (o *Outcome) Ignore() {
	o.mu.Lock()
	o.ignored++
	o.mu.Unlock()
}

// Ignored returns the number of these.
func (o *Outcome) Ignored() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ignored
}
