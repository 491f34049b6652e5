package core

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Gate holds back tasks whose operands are there, so that the node's runtime has about as many as
// it executes. The most urgent task passes first. Tasks at the gate can still go back to the
// driver. Tasks of one worker and tasks of several have rooms of their own: a task that waits in the
// runtime for several workers keeps none of them from the others.
//
//	operands are there ─► Enter ─► at the gate ─► in the runtime ─► Leave
//	                                   │                └─► StepAside: it waits for children elsewhere
//	                                   ├─► TakeBack
//	                                   └─► Divert: a node below executes it
type Gate[T comparable] struct {
	mu       sync.Mutex // a leaf
	window   window
	admitted []Gated[T] // tasks in the runtime, in the order of their beginning
	used     [2]int     // workers that they take, by room
	aside    []Gated[T] // tasks that wait for children elsewhere, or are themselves executed there
	waiting  []Gated[T] // the most urgent last
	waits    [2]int     // number of those, by room
}

// The rooms of tasks of one worker, and of several.
const (
	narrow = iota
	wide
)

// room returns the room of a task.
func (x *Gated[T]) room() int {
	if x.Width > 1 {
		return wide
	}
	return narrow
}

// Gated is a task at the gate.
type Gated[T any] struct {
	Task     T
	Priority int64
	Job, ID  uint64
	Width    int // workers that it takes
}

// NewGate returns the gate of a node with so many workers.
func NewGate[T comparable](workers int) Gate[T] { return Gate[T]{window: newWindow(workers, 1, 0)} }

// Enter reports whether a task is to begin. If not, it waits at the gate.
func (g *Gate[T]) Enter(x Gated[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := x.room(); g.waits[r] == 0 && g.hasRoom(r) {
		g.admit(x)
		return true
	}
	at, _ := slices.BinarySearchFunc(g.waiting, x, func(a, b Gated[T]) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.ID, a.ID))
	})
	g.waiting = slices.Insert(g.waiting, at, x)
	g.waits[x.room()]++
	return false
}

// gateTime is the longest time of tasks for which the runtime gets one more than it executes. Even
// on another node a task starts 0.1 ms after the end of the one before (BenchmarkHandOver), a
// hundredth of gateTime. So workers that wait for the gate after longer tasks lose less than 1 %
// (docs/internals/measurements.md, constants of the runtime).
const gateTime = 10e-3

// hasRoom reports whether the runtime may have another task of a room. If tasks are short it has one more
// than it executes, so that no worker waits for the gate. A longer task would block a worker for
// long and could not be given back. The caller holds mu.
func (g *Gate[T]) hasRoom(room int) bool {
	short := g.window.rate.ratio()*gateTime > float64(g.window.workers)
	return g.used[room] < g.window.size || g.used[room] == g.window.size && short
}

// admit notes that the runtime gets a task. The caller holds mu.
func (g *Gate[T]) admit(x Gated[T]) {
	g.admitted = append(g.admitted, x)
	g.used[x.room()] += x.Width
}

// Leave notes that a task has ended, and appends to next the tasks that are to begin.
func (g *Gate[T]) Leave(x T, now time.Time, next []T) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t, ok := remove(&g.aside, x); ok {
		g.window.noteEnds(t.Width, now)
		return next
	}
	if t, ok := remove(&g.admitted, x); ok {
		g.used[t.room()] -= t.Width
		g.window.noteEnds(t.Width, now)
	}
	return g.admitMore(next)
}

// StepAside notes that a task waits for children on other nodes, and appends to next the tasks that
// are to begin in its place. When it goes on, the runtime has one task more for a while.
func (g *Gate[T]) StepAside(x T, next []T) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t, ok := remove(&g.admitted, x); ok {
		g.used[t.room()] -= t.Width
		g.aside = append(g.aside, t)
	}
	return g.admitMore(next)
}

// PutAside notes that a task is executed elsewhere, which is not at the gate.
func (g *Gate[T]) PutAside(x Gated[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.aside = append(g.aside, x)
}

// Divert puts a task aside that waits at the gate, and reports whether it was there.
func (g *Gate[T]) Divert(x T) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.waiting, func(t Gated[T]) bool { return t.Task == x })
	if i < 0 {
		return false
	}
	g.aside = append(g.aside, g.waiting[i])
	g.take(i)
	return true
}

// admitMore appends to next the tasks that now have room, and admits them. The caller holds mu.
func (g *Gate[T]) admitMore(next []T) []T {
	admits := func(room int) bool { return g.waits[room] > 0 && g.hasRoom(room) }
	for i := len(g.waiting) - 1; i >= 0 && (admits(narrow) || admits(wide)); i-- {
		if t := g.waiting[i]; g.hasRoom(t.room()) {
			g.take(i)
			g.admit(t)
			next = append(next, t.Task)
		}
	}
	return next
}

// take removes the task at place i of those that wait. The caller holds mu.
func (g *Gate[T]) take(i int) {
	g.waits[g.waiting[i].room()]--
	g.waiting = slices.Delete(g.waiting, i, i+1)
}

// remove removes a task from a list and reports whether it was there.
func remove[T comparable](all *[]Gated[T], x T) (t Gated[T], ok bool) {
	i := slices.IndexFunc(*all, func(t Gated[T]) bool { return t.Task == x })
	if i < 0 {
		return t, false
	}
	t = (*all)[i]
	*all = slices.Delete(*all, i, i+1)
	return t, true
}

// Tasks returns the tasks in the runtime and those at the gate.
func (g *Gate[T]) Tasks() (in, waiting []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tasks := func(all []Gated[T]) (tasks []T) {
		for i := range all {
			tasks = append(tasks, all[i].Task)
		}
		return tasks
	}
	return slices.Concat(tasks(g.admitted), tasks(g.aside)), tasks(g.waiting)
}

// TakeBack removes from the gate, and returns, the first few of a job's tasks that are there.
func (g *Gate[T]) TakeBack(job uint64, ids []uint64, most int) (all []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if len(all) >= most {
			break
		}
		i := slices.IndexFunc(g.waiting, func(x Gated[T]) bool { return x.Job == job && x.ID == id })
		if i >= 0 {
			all = append(all, g.waiting[i].Task)
			g.take(i)
		}
	}
	return all
}
