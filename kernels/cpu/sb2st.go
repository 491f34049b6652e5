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
	// chaseLooks is how often a unit looks for the end of another piece before it sleeps: some hundred microseconds at most. Waking it
	// takes longer, and where one group follows closely on another it waits for each piece.
	chaseLooks = 100000
)

// BandStride returns the distance of the rows of a symmetric matrix with b superdiagonals, seen as a dense matrix: element
// (i, j) is element i·stride + j + b−1. There is room for b−1 subdiagonals and 2·b−1 superdiagonals.
func BandStride[T Element](b int) int { return padded[T](3*b - 2) }

// BandSize returns the number of elements of such a matrix of order n.
func BandSize[T Element](n, b int) int { return max(n-1, 0)*BandStride[T](b) + n + b }

// ChaseSteps returns the largest number of reflectors in a sweep of Sb2st.
func ChaseSteps(n, b int) int { return max(n-2, 0)/b + 1 }

// Sb2st reduces the symmetric n×n matrix B, which has b superdiagonals, to
//
//	Qᵀ·B·Q = T,  Q = Π H(s,u),  s = 0, …, n−2,  u = 0, 1, …,  H(s,u) = I − tau(s,u)·v(s,u)·v(s,u)ᵀ,
//
// with the diagonal d of T and e beside it. band holds B as [BandStride] has it: b superdiagonals and b−1
// subdiagonals. It is overwritten. v(s,u) has its elements, of which the first is 1, in rows s+1+u·b to s+(u+1)·b, and
// they are left in these columns of row s of v, whose rows are ldv elements apart. tau(s,u) is element
// s·ChaseSteps(n,b)+u of tau.
//
// Sweep s makes row s tridiagonal. What that fills above the band, a bulge, it chases to the end of the matrix, but for
// the part that the next sweep has to chase anyway:
//
//	s ─ x x x x                 H(s,0) makes zeros in row s,
//	      D D D B B B           two-sided it changes D, and from the left B, which it fills.
//	      D D D B B B           H(s,1) makes zeros in the first row of B, and so on.
//	      D D D B B B
//	            D D D
//
// Sweep s may do step u as soon as sweep s−1 has done step u+1. So several groups of sweeps are on their way at once.
//
// d has n elements, and e has n−1. The bits of the result do not depend on the crew.
//
// References: Bischof, Lang and Sun, A framework for symmetric band reduction (2000); Haidar, Ltaief and Dongarra,
// Parallel reduction to condensed forms for symmetric eigenvalue problems using aggregated fine-grained and memory-aware
// kernels (2011).
func (t *Tridiagonal[T]) Sb2st(n, b int, band []T, v []T, ldv int, tau, d, e []T) {
	if n == 0 {
		return
	}
	c := chase[T]{Tridiagonal: t, n: n, b: b, band: band, ld: BandStride[T](b), v: v, ldv: ldv, tau: tau, d: d, e: e}
	groups := (n - 1 + chaseSweeps - 1) / chaseSweeps
	c.done, c.busy = make([]int, groups), make([]bool, groups)
	c.news.L = &c.mu
	// A group waits until the one before is two pieces of work ahead.
	t.crew(min(groups, c.pieces(0)/2+1), 3*b, func(_, _ int, work []T) { c.work(work) })
	d[n-1] = c.at(n-1, n-1)[0]
}

// chase is one call of Sb2st. Its pieces of work are (group, piece), of which each does chaseSteps steps of a group:
// the sweeps of a group are one step behind one another.
type chase[T Element] struct {
	*Tridiagonal[T]
	n, b int
	band []T
	ld   int
	v    []T
	ldv  int
	tau  []T
	d, e []T

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

// step makes v(s,u), which makes zeros in row s (u = 0) or in the first row of a block B, and applies it.
func (c *chase[T]) step(s, u int, scratch []T) {
	b := c.b
	at := s + 1 + u*b
	nc := min(b, c.n-at)
	v, taus := c.v[s*c.ldv+at:][:nc], c.tau[s*ChaseSteps(c.n, b):]
	y, w, z := scratch[:b], scratch[b:][:nc], scratch[2*b:][:nc]
	if u == 0 {
		c.d[s] = c.at(s, s)[0]
		copy(v, c.at(s, at))
		taus[0], c.e[s] = c.larfg(v)
		v[0] = 1
	} else {
		// B = (I − τ·x·xᵀ)·B·(I − τ'·v·vᵀ), with the reflector before as x, in one update of rank 2. Its first row after
		// the product from the left is what v is made of.
		x, block := c.v[s*c.ldv+at-b:][:b], c.at(at-b, at)
		clear(w)
		c.stripColumns(0, b, nc, block, c.ld, x, w)
		scalWith(&c.vectors, -taus[u-1], w)
		copy(v, block)
		axpyWith(&c.vectors, 1, w, v)
		var beta T
		taus[u], beta = c.larfg(v)
		v[0] = 1
		clear(y)
		c.stripRows(0, b, nc, block, c.ld, v, y)
		axpyWith(&c.vectors, dotWith(&c.vectors, w, v), x, y)
		copy(z, v)
		scalWith(&c.vectors, -taus[u], z)
		c.stripUpdate(b, nc, block, c.ld, x, y, w, z)
		block[0] = beta
		clear(block[1:nc]) // rounding errors, which the next sweeps would take for elements
	}
	// D is stored as a whole, since that is faster to multiply with. Its last column was in B up to now.
	block := c.at(at, at)
	for i := range nc - 1 {
		block[(nc-1)*c.ld+i] = block[i*c.ld+nc-1]
	}
	if taus[u] == 0 {
		return
	}
	y = y[:nc]
	clear(y)
	c.stripColumns(0, nc, nc, block, c.ld, v, y)
	scalWith(&c.vectors, -taus[u], y)
	axpyWith(&c.vectors, -taus[u]/2*dotWith(&c.vectors, y, v), v, y)
	c.stripUpdate(nc, nc, block, c.ld, v, y, y, v)
}
