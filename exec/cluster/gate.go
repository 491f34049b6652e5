package cluster

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// gate holds tasks of which all operands are there, so that the node's runtime has as many as
// it executes, and few more. Those at the gate go the most urgent first, and can be given back
// to the driver.
//
//	operands are there ─► at the gate ─► in the runtime ─► end
//	                           └─► given back
type gate[T comparable] struct {
	mu      sync.Mutex // a leaf
	pace    pace
	in      []T        // tasks that the runtime has, the first to begin first
	apart   []T        // of these, those that only wait for their children elsewhere: they are no more in
	waiting []gated[T] // the most urgent last
}

// gated is a task of a job at the gate.
type gated[T any] struct {
	task     T
	priority int64
	job, id  uint64
}

func newGate[T comparable](workers int) gate[T] { return gate[T]{pace: newPace(workers, 1, 0)} }

// enter reports whether a task is to begin. If not, it waits.
func (g *gate[T]) enter(x gated[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 && len(g.in) <= g.pace.size {
		g.in = append(g.in, x.task)
		return true
	}
	at, _ := slices.BinarySearchFunc(g.waiting, x, func(a, b gated[T]) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.id, a.id))
	})
	g.waiting = slices.Insert(g.waiting, at, x)
	return false
}

// leave notes that a task has ended, and appends those to next that are to begin.
func (g *gate[T]) leave(x T, now time.Time, next []T) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pace.ended(1, now)
	if i := slices.Index(g.apart, x); i >= 0 {
		g.apart = slices.Delete(g.apart, i, i+1)
		return next
	}
	return g.out(x, next)
}

// aside notes that a task is going to wait for others elsewhere, and appends those to next that
// are to begin in its place. When it goes on it has no place: the runtime has one more.
func (g *gate[T]) aside(x T, next []T) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.apart = append(g.apart, x)
	return g.out(x, next)
}

// out is leave, but for the pace, for who holds mu.
func (g *gate[T]) out(x T, next []T) []T {
	if i := slices.Index(g.in, x); i >= 0 {
		g.in = slices.Delete(g.in, i, i+1)
	}
	for n := len(g.waiting); n > 0 && len(g.in) <= g.pace.size; n-- {
		next = append(next, g.waiting[n-1].task)
		g.waiting = slices.Delete(g.waiting, n-1, n)
		g.in = append(g.in, next[len(next)-1])
	}
	return next
}

// now returns the tasks that the runtime has, and those at the gate.
func (g *gate[T]) now() (in, waiting []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.waiting {
		waiting = append(waiting, g.waiting[i].task)
	}
	return slices.Concat(g.in, g.apart), waiting
}

// back takes those of some tasks of a job that are at the gate away.
func (g *gate[T]) back(job uint64, ids []uint64) (all []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(x gated[T]) bool {
		if x.job != job || !slices.Contains(ids, x.id) {
			return false
		}
		all = append(all, x.task)
		return true
	})
	return all
}
