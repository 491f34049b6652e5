package exec

import (
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec/graph"
)

// outcome is what becomes of a job: the failure of the task with the smallest number,
// whichever failed first in time, or why all was cancelled.
//
// Tasks with smaller numbers than one that has failed go on, for one of them may fail
// as well, and its failure is that of the sequential program. So last only falls. It is
// read for each task, without the lock, and written under it.
type outcome struct {
	// last is the number of the last task that may start: the smallest one
	// that failed, or 0 when everything is to be cancelled.
	last atomic.Uint64

	sync.Mutex              // a leaf
	fault      *graph.Fault // the smallest failure
	aborted    *graph.Fault // why all was cancelled
	ignored    int          // failures that the tasks' policy ignores
}

// goesOn reports whether a task may start, or be tried again. The answer may be late: a
// task may start while another one fails. That does no harm, its result is not used.
func (o *outcome) goesOn(id graph.TaskID) bool { return uint64(id) <= o.last.Load() }

// cancelled reports whether everything is cancelled. A task that fails leaves its number in
// last, which is at least 1.
func (o *outcome) cancelled() bool { return o.last.Load() == 0 }

// why returns the failure that counts, nil if there is none.
func (o *outcome) why() *graph.Fault {
	o.Lock()
	defer o.Unlock()
	if o.fault != nil {
		return o.fault
	}
	return o.aborted
}

// abort cancels what has not started, for a reason that comes from outside of the job: the
// end of its context, or the runtime's. The first reason stays.
func (o *outcome) abort(cause error) {
	o.Lock()
	if o.aborted == nil {
		o.aborted = &graph.Fault{Err: cause}
	}
	o.last.Store(0)
	o.Unlock()
}

// inherit notes the fault of a version that a task would have read. It may be that of
// an earlier job on the same data.
func (o *outcome) inherit(f *graph.Fault) {
	o.Lock()
	if o.fault == nil {
		o.fault = f
	}
	o.Unlock()
}

// fail notes that a task has failed for good, and returns the fault that it passes on to
// those that read what it was to write. Late says that this comes of the end of
// everything, and is no failure of its own; stops, that no later task is to start.
func (o *outcome) fail(f *graph.Fault, late, stops bool) *graph.Fault {
	o.Lock()
	defer o.Unlock()
	if id := uint64(f.Task); stops && id < o.last.Load() {
		o.last.Store(id)
	}
	if late {
		return o.aborted
	}
	if o.fault == nil || f.Task < o.fault.Task {
		o.fault = f
	}
	return f
}

// ignore counts a failure that is ignored, by graph.Ignore: who reads what the task was to
// write gets it as it is.
func (o *outcome) ignore() {
	o.Lock()
	o.ignored++
	o.Unlock()
}

// count returns the number of these.
func (o *outcome) count() int {
	o.Lock()
	defer o.Unlock()
	return o.ignored
}
