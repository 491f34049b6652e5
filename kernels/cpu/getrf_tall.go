package cpu

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// Crew is several cores at work on one call. It calls f(0, parts, …) to
// f(parts-1, parts, …), each once and maybe at the same time, with work elements
// of scratch that no other call has meanwhile, and returns when all have
// returned.
type Crew[T Element] func(parts, work int, f func(part, parts int, work []T))

// luRows is the least number of rows of a part of a panel that several cores
// factor. Each column of a leaf ends with a meeting of the parts, which takes
// about a microsecond; so many rows of eight columns take three.
const luRows = 2048

// tall is how several cores factor the leaves of a panel. The rows are cut into
// parts, each with scratch of its own, and each part begins with a copy of the
// uppermost rows, in which all pivots of the leaf end up:
//
//	          part 0     part 1     part 2
//	┌───┐     ┌───┐
//	│top│     │top│      ┌───┐      ┌───┐
//	├───┤     │   │      │top│      │top│
//	│   │  →  │   │      ├───┤      ├───┤
//	│   │     └───┘      │   │      │   │
//	│   │                │   │      │   │
//	└───┘                └───┘      └───┘
//
// So each part is a panel that the kernel for columns can work on, and does so to
// its copy of the uppermost rows as the others do. After each column the parts
// meet, and the greatest of their candidates becomes the pivot. The part that
// has it gives its row to all.
type tall[T Element] struct {
	rows int // least number of rows of a part, not less than those of the top
	crew Crew[T]
	part []luPart[T]

	// The interchange that every part has still to make: of rows j and r of the
	// leaf, and what is in them.
	j, r     int
	up, down [luWidth]T
}

// luPart is a part of the rows of a leaf.
type luPart[T Element] struct {
	lo, hi int // rows of the leaf, which those of the top precede if lo > 0
	x      []T
	ld, m  int // m is the number of rows in x
	t      isa.LUColumn
	pivot  int // the candidate, a row of x
}

// parts returns the number of parts for m rows.
func (s *tall[T]) parts(m int) int { return max(1, m/s.rows) }

// work returns the scratch, in elements, for panels of m rows and k pivots, and
// for what is left of them further down: fewer rows in fewer parts may be longer
// ones. Every part has the rows of the top besides, and is rounded up.
func (s *tall[T]) work(l *luLeaves[T], m, k int) int {
	return (m + s.parts(m)*l.ld(2*l.block())) * min(k, luWidth)
}

// leaf does what luPanel.leaf does.
func (s *tall[T]) leaf(p *luPanel[T], c, w int) {
	m := p.m - c
	n := s.parts(m)
	top := p.leaves.block()
	if cap(s.part) < n {
		s.part = make([]luPart[T], n)
	}
	s.part = s.part[:n]
	rest := p.scratch
	for i := range s.part {
		q := &s.part[i]
		*q = luPart[T]{lo: m * i / n, hi: m * (i + 1) / n}
		q.m = q.hi - q.lo
		if i > 0 {
			q.m += top
		}
		q.ld = p.leaves.ld(q.m)
		q.x, rest = rest[:q.ld*w], rest[q.ld*w:]
	}
	for j := range w + 1 {
		s.crew(n, 0, func(i, _ int, _ []T) { s.column(p, &s.part[i], c, w, j) })
		if j < w {
			s.choose(p, c, w, j, top)
		}
	}
}

// column takes part q to the candidates for the pivot of column j of the leaf,
// and back into the panel when there is no such column any more.
func (s *tall[T]) column(p *luPanel[T], q *luPart[T], c, w, j int) {
	l, top := &p.leaves, p.leaves.block()
	scale := T(1)
	if j == 0 {
		q.load(p, c, w, top)
	} else {
		s.exchange(q, w, top)
		col := q.x[(j-1)*q.ld : (j-1)*q.ld+q.m]
		switch pivot := col[j-1]; {
		case pivot == 0:
		case magnitude(pivot) < safeMin[T]():
			divide(col[j:], pivot)
		default:
			scale = 1 / pivot
		}
	}
	q.t.K, q.t.Scale = j, bits(scale)
	if j == w {
		l.LUScale(&q.t)
		x := q.x
		if q.lo > 0 {
			x = x[top:]
		}
		p.scatterRows(x, q.ld, c, w, c+q.lo, c+q.hi)
		return
	}
	col := q.x[j*q.ld : j*q.ld+q.m]
	q.t.C = at(col, 0)
	l.LUUpdate(&q.t)
	q.pivot = l.pivot(&q.t, col, j)
}

// load copies the rows of q from the panel.
func (q *luPart[T]) load(p *luPanel[T], c, w, top int) {
	x := q.x
	if q.lo > 0 {
		p.gatherRows(x, q.ld, c, w, c, c+top)
		x = x[top:]
	}
	p.gatherRows(x, q.ld, c, w, c+q.lo, c+q.hi)
	end := roundUp(q.m, p.leaves.block())
	for j := range w {
		clear(q.x[j*q.ld+q.m : j*q.ld+end])
	}
	q.t.X, q.t.LD, q.t.Blocks = at(q.x, 0), q.ld*scalar.Size[T](), end/p.leaves.block()
}

// choose makes the greatest of the candidates the pivot of column j.
func (s *tall[T]) choose(p *luPanel[T], c, w, j, top int) {
	first := &s.part[0]
	owner, local := first, first.pivot
	most := magnitude(first.x[j*first.ld+local])
	for i := 1; i < len(s.part); i++ {
		q := &s.part[i]
		if q.pivot < top {
			continue // what the first part has, too
		}
		if v := magnitude(q.x[j*q.ld+q.pivot]); v > most {
			most, owner, local = v, q, q.pivot
		}
	}
	s.j, s.r = j, local
	if owner.lo > 0 {
		s.r = owner.lo + local - top
	}
	p.ipiv[c+j] = c + s.r
	for k := range w {
		s.up[k], s.down[k] = owner.x[k*owner.ld+local], first.x[k*first.ld+j]
	}
	if s.up[j] == 0 && p.info == 0 {
		p.info = c + j + 1
	}
}

// exchange makes the last interchange in q.
func (s *tall[T]) exchange(q *luPart[T], w, top int) {
	if s.r == s.j {
		return
	}
	local := -1 // row s.r, if q has it
	switch {
	case s.r < top:
		local = s.r
	case s.r >= q.lo && s.r < q.hi:
		local = s.r - q.lo
		if q.lo > 0 {
			local += top
		}
	}
	for k := range w {
		q.x[k*q.ld+s.j] = s.up[k]
		if local >= 0 {
			q.x[k*q.ld+local] = s.down[k]
		}
	}
}
