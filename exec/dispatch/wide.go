package dispatch

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Wide has ready tasks that take several workers of one place at once, and says when they begin. A place is the
// workers of one kind with one near memory, as those of a NUMA node.
//
//	Add ──► waits ──► Take: so many workers of a place have nothing to do
//	          │ other tasks Pass
//	          └─► Holds: workers of a place take nothing else ──► Take
//
// A task that waits holds no worker, so such tasks cannot wait for one another. Workers take other tasks meanwhile:
// none is idle that has something to do. A place is held for the first task that fits there when so many others have
// passed it. Workers wait for one another then: about half a task each, once in [patience] tasks.
//
// The most urgent task is the first, of equal ones that which waits longest. Each method takes time proportional to the
// number of waiting tasks. Like a [Queue] it holds no lock.
type Wide struct {
	sizes []int // number of workers, by place
	kinds []int // kind of the workers, by place
	waits []WideTask
	held  int // the place that is held for the first task that fits there; -1: none
}

// WideTask is a task that takes several workers.
type WideTask struct {
	Task   *graph.Task
	Units  int // workers that it takes
	Kind   int // their kind
	Memory int64
	passed int
}

// patience is the number of tasks, for each worker of a place, that may pass a task before the place is held for it.
// Held workers wait for half a task on average, so they are idle for at most 1/(2·patience) of the time, 3 %.
const patience = 16

// NewWide returns a Wide without tasks for places with so many workers of these kinds.
func NewWide(sizes, kinds []int) Wide { return Wide{sizes: sizes, kinds: kinds, held: -1} }

// Len returns the number of tasks.
func (q *Wide) Len() int { return len(q.waits) }

// Most returns the largest number of workers of a kind at one place.
func (q *Wide) Most(kind int) (n int) {
	for place, size := range q.sizes {
		if q.kinds[place] == kind {
			n = max(n, size)
		}
	}
	return n
}

// Fits reports whether a place has the workers that a task takes.
func (q *Wide) Fits(t *WideTask, place int) bool {
	return t.Kind == q.kinds[place] && t.Units <= q.sizes[place]
}

// Add adds a task that cannot begin now.
func (q *Wide) Add(t WideTask) {
	at := slices.IndexFunc(q.waits, func(x WideTask) bool { return x.Task.Priority < t.Task.Priority })
	if at < 0 {
		at = len(q.waits)
	}
	q.waits = slices.Insert(q.waits, at, t)
}

// Take removes a task that can begin now at a place where so many workers have nothing to do.
func (q *Wide) Take(place, idle int) (_ WideTask, ok bool) {
	for i, t := range q.waits {
		if !q.Fits(&t, place) {
			continue
		}
		if t.Units <= idle {
			q.waits = slices.Delete(q.waits, i, i+1)
			q.held = -1 // Pass holds it anew if another task has waited for long
			return t, true
		}
		if q.Holds(place) {
			break
		}
	}
	return WideTask{}, false
}

// Holds reports whether workers of a place are to take nothing but what Take returns.
func (q *Wide) Holds(place int) bool { return q.held == place }

// Pass notes that a worker of a place takes another task.
func (q *Wide) Pass(place int) {
	for i := range q.waits {
		t := &q.waits[i]
		if !q.Fits(t, place) {
			continue
		}
		if t.passed++; t.passed > patience*q.sizes[place] && q.held < 0 {
			q.held = place
		}
		return
	}
}
