package cpu

import (
	"sync"
	"sync/atomic"
)

const (
	// chaseSweeps is the number of sweeps in a group. The blocks that its sweeps are at follow one another, and stay in
	// the second-level cache until the last sweep has passed.
	chaseSweeps = 8
	// chaseSteps is the number of steps in which the sweeps of a group move on as one piece of work.
	chaseSteps = 4
	// chaseLooks is how often a unit looks for the end of another piece before it sleeps: some hundred microseconds at
	// most. Waking it takes longer, and where one group follows closely on another it waits for each piece.
	chaseLooks = 100000
)

// BandStride returns the distance of the rows of a matrix with b superdiagonals, seen as a dense matrix: element
// (i, j) is element i·stride + j + b−1. There is room for b−1 subdiagonals and 2·b−1 superdiagonals.
func BandStride[T Element](b int) int { return padded[T](3*b - 2) }

// BandSize returns the number of elements of such a matrix of order n.
func BandSize[T Element](n, b int) int { return max(n-1, 0)*BandStride[T](b) + n + b }

// chase is one call of Sb2st or Tb2bd: sweeps s = 0, …, n−2 of steps u = 0, 1, …, of which sweep s may do step u as soon
// as sweep s−1 has done step u+1. Its pieces of work are (group, piece), of which each does chaseSteps steps of a group: the
// sweeps of a group are one step behind one another.
type chase[T Element] struct {
	*condensed[T]
	n, b int
	band []T // as BandStride has it
	ld   int
	step func(s, u int, scratch []T) // set by all

	mu    sync.Mutex
	news  sync.Cond
	done  []int  // pieces of each group that are done
	busy  []bool // a unit is at a piece of the group
	first int    // the first group that is not done
	units int    // that have come
	ended bool

	pieced atomic.Int64 // how many pieces are done, for units that look for one
}

// at returns the elements from (i, j) on.
func (c *chase[T]) at(i, j int) []T { return c.band[i*c.ld+j+c.b-1:] }

// all does all steps, each with some scratch.
func (c *chase[T]) all(scratch int, step func(s, u int, scratch []T)) {
	c.step = step
	groups := (c.n - 1 + chaseSweeps - 1) / chaseSweeps
	c.done, c.busy = make([]int, groups), make([]bool, groups)
	c.news.L = &c.mu
	// A group waits until the one before is two pieces of work ahead.
	c.crew(min(groups, c.pieces(0)/2+1), scratch, func(_, _ int, work []T) { c.work(work) })
}

// steps returns the number of steps of sweep s.
func (c *chase[T]) steps(s int) int { return (c.n-2-s)/c.b + 1 }

// sweeps returns the first sweep of a group, and the end of its sweeps.
func (c *chase[T]) sweeps(group int) (first, end int) {
	return group * chaseSweeps, min((group+1)*chaseSweeps, c.n-1)
}

// pieces returns the number of pieces of a group.
func (c *chase[T]) pieces(group int) int {
	if group == len(c.done) {
		return 0
	}
	first, end := c.sweeps(group)
	return (c.steps(first) + end - first - 1 + chaseSteps - 1) / chaseSteps
}

// work does pieces until there are none. It waits while every piece waits for one that another unit is at. So a unit that
// is alone never waits.
func (c *chase[T]) work(scratch []T) {
	c.mu.Lock()
	defer func() {
		c.ended = true // or this unit panics, and no other one may wait for it
		c.news.Broadcast()
		c.mu.Unlock()
	}()
	zone, looked := c.units, int64(-1) // looked is the pieces that were done when the unit looked for more
	c.units++
	for !c.ended {
		group := c.next(zone)
		if group < 0 {
			if done := c.pieced.Load(); looked == done {
				c.news.Wait()
			} else {
				looked = done
				c.look(done)
			}
			continue
		}
		piece := c.done[group]
		c.busy[group] = true
		func() {
			c.mu.Unlock()
			defer c.mu.Lock()
			c.run(group, piece, scratch)
		}()
		c.busy[group] = false
		c.done[group]++
		c.pieced.Add(1)
		for c.first < len(c.done) && c.done[c.first] == c.pieces(c.first) {
			c.first++
		}
		if c.first == len(c.done) || c.stopped() {
			return
		}
		c.news.Broadcast()
	}
}

// look returns when more pieces are done, or soon.
func (c *chase[T]) look(done int64) {
	c.mu.Unlock()
	for i := 0; i < chaseLooks && c.pieced.Load() == done; i++ {
	}
	c.mu.Lock()
}

// next returns a group with a piece that can be done: one in the zone if there is one, else the first one. It returns −1
// if there is none. The zones divide what is left of the band among the units, so that each finds most of its blocks in
// its own caches.
func (c *chase[T]) next(zone int) int {
	found := -1
	for g := c.first; g < len(c.done); g++ {
		switch {
		case c.ready(g):
			if c.done[g]*c.units/c.pieces(g) == zone {
				return g
			}
			if found < 0 {
				found = g
			}
		case c.done[g] == 0:
			return found // the groups after it wait for it
		}
	}
	return found
}

// ready reports whether the next piece of a group can be done: if the last sweep of the group before is ahead of the
// steps of the piece.
func (c *chase[T]) ready(group int) bool {
	piece := c.done[group]
	if c.busy[group] || piece == c.pieces(group) {
		return false
	}
	needed := ((piece+1)*chaseSteps + chaseSweeps + chaseSteps - 1) / chaseSteps
	return group == 0 || c.done[group-1] >= min(needed, c.pieces(group-1))
}

// run does a piece.
func (c *chase[T]) run(group, piece int, scratch []T) {
	first, end := c.sweeps(group)
	for step := piece * chaseSteps; step < (piece+1)*chaseSteps; step++ {
		for s := first; s < end; s++ {
			if u := step - (s - first); u >= 0 && u < c.steps(s) {
				c.step(s, u, scratch)
			}
		}
	}
}
