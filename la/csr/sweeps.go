package csr

import (
	"context"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
)

// sweeps solves with a preconditioner M = L·D·U in a permuted order of rows; L and U are unit triangular. The
// order is
//
//	segment 0 │ segment 1 │ … │ rest
//
// where no row of a segment has an element of L or U in another segment. So the workers can go through the
// segments at once, before the rest forwards, after it backwards. The segments depend on the matrix alone.
// Within a segment, and within the rest, rows that do not depend on one another are side by side: the
// processor works on several at once.
type sweeps struct {
	rt           exec.Runtime
	order        []int32   // row i of M is row order[i] of A
	lower, upper triangle  // without the diagonals
	inverse      []float64 // D⁻¹, of the scaled M
	scale        float64   // M⁻¹ is that of the scaled M, times this
	segments     []int     // the first row of each segment, and that of the rest
	site         loop.Site
	scratch      sync.Pool // of *[]float64
}

// triangle is a triangle without its diagonal in compressed sparse rows.
type triangle struct {
	ptr, col []int32
	val      []float64
}

// blockRows is the least number of rows of a segment.
const blockRows = 1 << 15

// dissect divides the rows of A into segments. It returns the rows in the order of their elimination, and
// where the segments begin and the rest does. Segments begin as runs of rows with about equally many entries.
// Where an element couples two of them, the row of the earlier run goes to the rest.
func (a *Matrix) dissect() (order []int32, segments []int) {
	order = make([]int32, 0, a.rows)
	runs := min(64, a.rows/blockRows)
	whole := func() ([]int32, []int) {
		for i := range a.rows {
			order = append(order, int32(i))
		}
		return order, []int{0, a.rows}
	}
	if runs < 2 {
		return whole()
	}
	of := make([]uint8, a.rows)
	for c, from := 1, 0; c <= runs; c++ {
		to := reach(a.ia, share(c, runs, len(a.ja)+a.rows))
		for i := from; i < to; i++ {
			of[i] = uint8(c - 1)
		}
		from = max(from, to)
	}
	rest, apart := 0, make([]bool, a.rows)
	for i := range a.rows {
		for _, j := range a.ja[a.ia[i]:a.ia[i+1]] {
			if of[i] != of[j] {
				k := i
				if of[j] < of[i] {
					k = j
				}
				if !apart[k] {
					apart[k] = true
					rest++
				}
			}
		}
	}
	if rest > a.rows/8 { // the rest is for one worker
		return whole()
	}
	for i := range a.rows {
		if apart[i] {
			continue
		}
		for len(segments) <= int(of[i]) {
			segments = append(segments, len(order))
		}
		order = append(order, int32(i))
	}
	segments = append(segments, len(order))
	for i := range a.rows {
		if apart[i] {
			order = append(order, int32(i))
		}
	}
	return order, segments
}

// newSweeps returns sweeps for rows in the given order. u is U in this order, with ascending columns; lower is
// L transposed in the same way; with nil L is Uᵀ.
func newSweeps(rt exec.Runtime, order []int32, segments []int, u, lower *triangle, inverse []float64, scale float64) *sweeps {
	n := len(order)
	s := &sweeps{rt: rt, segments: segments, scale: scale}
	if lower == nil {
		lower = u
	}
	// The level of a row is the length of the longest path to it within its segment.
	level := make([]int32, n)
	parts := slices.Concat(segments, []int{n})
	to := make([]int32, n) // the new place of each row
	for p, lo := range parts[:len(parts)-1] {
		hi := parts[p+1]
		count := make([]int32, 2)
		for i := lo; i < hi; i++ {
			next := level[i] + 1
			for int(next) >= len(count)-1 {
				count = append(count, 0)
			}
			count[next]++
			for _, t := range [...]*triangle{u, lower} {
				for _, j := range t.col[t.ptr[i]:t.ptr[i+1]] {
					if int(j) < hi {
						level[j] = max(level[j], next)
					}
				}
			}
		}
		for l := 1; l < len(count); l++ {
			count[l] += count[l-1]
		}
		for i := lo; i < hi; i++ {
			to[i] = int32(lo) + count[level[i]]
			count[level[i]]++
		}
	}
	s.order, s.inverse = make([]int32, n), make([]float64, n)
	from := make([]int32, n)
	for i, at := range to {
		from[at] = int32(i)
		s.order[at], s.inverse[at] = order[i], inverse[i]
	}
	s.upper = u.permuted(from, to)
	l := lower.permuted(from, to)
	s.lower = l.transposed(n)
	return s
}

// permuted returns the triangle with row from[i] in place i, and the columns renamed by to.
func (t *triangle) permuted(from, to []int32) triangle {
	p := newTriangle(len(from), len(t.col))
	at := int32(0)
	for i, k := range from {
		for e := t.ptr[k]; e < t.ptr[k+1]; e++ {
			p.col[at], p.val[at] = to[t.col[e]], t.val[e]
			at++
		}
		p.ptr[i+1] = at
	}
	return p
}

// transposed returns the transpose of a triangle of order n.
func (t *triangle) transposed(n int) triangle {
	p := newTriangle(n, len(t.col))
	next := make([]int32, n+1)
	for _, j := range t.col {
		next[j+1]++
	}
	for i := range n {
		next[i+1] += next[i]
	}
	copy(p.ptr, next)
	for i := range n {
		for e := t.ptr[i]; e < t.ptr[i+1]; e++ {
			at := next[t.col[e]]
			p.col[at], p.val[at] = int32(i), t.val[e]
			next[t.col[e]]++
		}
	}
	return p
}

func newTriangle(n, entries int) triangle {
	t := triangle{make([]int32, n+1), make([]int32, entries), make([]float64, entries)}
	pages.Large(t.col)
	pages.Large(t.val)
	return t
}

// Dims returns the order of M, twice.
func (s *sweeps) Dims() (rows, cols int) { return len(s.order), len(s.order) }

// Entries returns the number of elements of L, D and U together.
func (s *sweeps) Entries() int { return len(s.order) + len(s.lower.col) + len(s.upper.col) }

// SolveVecTo computes dst = M⁻¹·r. The bits are the same on any number of workers. The error is a
// *[la.ShapeError], or that of [loop.For]. SolveVecTo panics with [ErrOverlap] if dst and r begin at the same
// element.
func (s *sweeps) SolveVecTo(ctx context.Context, dst, r []float64) error {
	n := len(s.order)
	if err := checkSolve(n, dst, r); err != nil {
		return err
	}
	p, _ := s.scratch.Get().(*[]float64)
	if p == nil {
		v := make([]float64, n)
		pages.Large(v)
		p = &v
	}
	defer s.scratch.Put(p)
	y := *p
	if err := s.each(ctx, func(lo, hi int) { s.forward(y, r, lo, hi) }); err != nil {
		return err
	}
	rest := s.segments[len(s.segments)-1]
	s.forward(y, r, rest, n)
	s.backward(dst, y, rest, n)
	return s.each(ctx, func(lo, hi int) { s.backward(dst, y, lo, hi) })
}

// each calls do for all segments.
func (s *sweeps) each(ctx context.Context, do func(lo, hi int)) error {
	n := len(s.segments) - 1
	if n == 1 {
		do(s.segments[0], s.segments[1])
		return context.Cause(ctx)
	}
	return loop.For(ctx, s.rt, n, loop.Options{Site: &s.site}, func(c loop.Chunk) error {
		for p := c.Lo; p < c.Hi; p++ {
			do(s.segments[p], s.segments[p+1])
		}
		return nil
	})
}

// forward computes rows lo to hi−1 of y = L⁻¹·r; r is in the order of A.
func (s *sweeps) forward(y, r []float64, lo, hi int) {
	t := &s.lower
	for i := lo; i < hi; i++ {
		v := r[s.order[i]]
		from, to := t.ptr[i], t.ptr[i+1]
		col, val := t.col[from:to], t.val[from:to]
		val = val[:len(col)]
		for k, j := range col {
			v -= val[k] * y[j]
		}
		y[i] = v
	}
}

// backward computes rows hi−1 to lo of U⁻¹·D⁻¹·y in y, and stores them in dst in the order of A.
func (s *sweeps) backward(dst, y []float64, lo, hi int) {
	t := &s.upper
	for i := hi - 1; i >= lo; i-- {
		v := y[i] * s.inverse[i] * s.scale
		from, to := t.ptr[i], t.ptr[i+1]
		col, val := t.col[from:to], t.val[from:to]
		val = val[:len(col)]
		for k, j := range col {
			v -= val[k] * y[j]
		}
		y[i] = v
		dst[s.order[i]] = v
	}
}
