package core

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Gate holds tasks of which all operands are there, so that the node's runtime has as many as
// it executes, and few more. Those at the gate go the most urgent first, and can be given back
// to the driver.
//
//	operands are there ─► at the gate ─► in the runtime ─► end
//	                           └─► given back
type Gate[T comparable] struct {
	mu      sync.Mutex // a leaf
	pace    pace
	in      []Gated[T] // tasks that the runtime has, the first to begin first
	taken   int        // workers that they take
	apart   []Gated[T] // of these, those that only wait for their children elsewhere: they are no more in
	waiting []Gated[T] // the most urgent last
}

// Gated is a task of a job at the gate.
type Gated[T any] struct {
	Task     T
	Priority int64
	Job, ID  uint64
	Width    int // workers that it takes
}

// NewGate returns the gate of a node with so many workers.
func NewGate[T comparable](workers int) Gate[T] { return Gate[T]{pace: newPace(workers, 1, 0)} }

// Enter reports whether a task is to begin. If not, it waits.
func (g *Gate[T]) Enter(x Gated[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 && g.room() {
		g.begins(x)
		return true
	}
	at, _ := slices.BinarySearchFunc(g.waiting, x, func(a, b Gated[T]) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.ID, a.ID))
	})
	g.waiting = slices.Insert(g.waiting, at, x)
	return false
}

// gateTime is how long tasks take at most for the runtime to have one more. To pass the gate takes a
// worker some hundredth of it. Not measured.
const gateTime = 10e-3

// room reports whether the runtime is to have another task. If tasks are short it has one more than
// it executes, so that no worker waits for the gate. A longer one would wait there for long, and
// could not be given back meanwhile. The caller holds mu.
func (g *Gate[T]) room() bool {
	short := g.pace.rate.ratio()*gateTime > float64(g.pace.workers)
	return g.taken < g.pace.size || g.taken == g.pace.size && short
}

// begins notes that the runtime gets a task. The caller holds mu.
func (g *Gate[T]) begins(x Gated[T]) {
	g.in = append(g.in, x)
	g.taken += x.Width
}

// Leave notes that a task has ended, and appends those to next that are to begin.
func (g *Gate[T]) Leave(x T, now time.Time, next []T) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t, ok := remove(&g.apart, x); ok {
		g.pace.ended(t.Width, now)
		return next
	}
	if t, ok := remove(&g.in, x); ok {
		g.taken -= t.Width
		g.pace.ended(t.Width, now)
	}
	return g.more(next)
}

// Aside notes that a task is going to wait for others elsewhere, and appends those to next that
// are to begin in its place. When it goes on it has no place: the runtime has one more.
func (g *Gate[T]) Aside(x T, next []T) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t, ok := remove(&g.in, x); ok {
		g.taken -= t.Width
		g.apart = append(g.apart, t)
	}
	return g.more(next)
}

// more appends the tasks to next for which there is room, and which are to begin. The caller
// holds mu.
func (g *Gate[T]) more(next []T) []T {
	for n := len(g.waiting); n > 0 && g.room(); n-- {
		t := g.waiting[n-1]
		g.waiting = slices.Delete(g.waiting, n-1, n)
		g.begins(t)
		next = append(next, t.Task)
	}
	return next
}

// remove takes a task out of some, and reports whether it was there.
func remove[T comparable](all *[]Gated[T], x T) (t Gated[T], ok bool) {
	i := slices.IndexFunc(*all, func(t Gated[T]) bool { return t.Task == x })
	if i < 0 {
		return t, false
	}
	t = (*all)[i]
	*all = slices.Delete(*all, i, i+1)
	return t, true
}

// Now returns the tasks that the runtime has, and those at the gate.
func (g *Gate[T]) Now() (in, waiting []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tasks := func(all []Gated[T]) (tasks []T) {
		for i := range all {
			tasks = append(tasks, all[i].Task)
		}
		return tasks
	}
	return slices.Concat(tasks(g.in), tasks(g.apart)), tasks(g.waiting)
}

// Back takes the first few away of those of some tasks of a job that are at the gate.
func (g *Gate[T]) Back(job uint64, ids []uint64, most int) (all []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if len(all) >= most {
			break
		}
		i := slices.IndexFunc(g.waiting, func(x Gated[T]) bool { return x.Job == job && x.ID == id })
		if i >= 0 {
			all = append(all, g.waiting[i].Task)
			g.waiting = slices.Delete(g.waiting, i, i+1)
		}
	}
	return all
}
