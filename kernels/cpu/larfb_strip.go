package cpu

import "gonum.org/v1/gonum/blas"

// stripGroup is some columns of C in strips as wide as the vector
// micro-kernels are, of whole vectors: the one at column x begins at c[x*m], its
// rows next to one another.
type stripGroup[T Element] struct {
	c    []T
	m, n int
	unit []T // the rows that the unit matrix meets, where they lie; nil if there is none
	ldu  int
}

// next returns the number of columns in the strip at column x of g, and with
// those that fill its last vector.
func (q *QR[T]) next(g *stripGroup[T], x int) (n, wide int) {
	n = q.vec.width(g.n - x)
	return n, roundUp(n, q.vec.vectors.lanes)
}

// load copies the m×n matrix C to g.
func (q *QR[T]) load(g *stripGroup[T], c []T, ldc int) {
	if g.m > 0 {
		q.vec.packAllB(g.c, c, ldc, 1, g.n, g.m)
	}
}

// store copies g to C.
func (q *QR[T]) store(g *stripGroup[T], c []T, ldc int) {
	for x := 0; x < g.n && g.m > 0; {
		n, wide := q.next(g, x)
		q.panels.copy(c[x:], ldc, g.c[x*g.m:], wide, g.m, n)
		x += n
	}
}

// applyStrips is apply from the left with vector micro-kernels. A group of
// columns of C at a time goes through a buffer, where it stays while all blocks
// are applied to it.
func (q *QR[T]) applyStrips(f *reflectors[T], trans bool, n int, x target[T], s *scratch[T]) {
	width := q.group(f.m)
	for j := 0; j < n; j += width {
		y := x.from(j)
		g := stripGroup[T]{c: s.c, m: f.m, n: min(width, n-j), unit: y.unit, ldu: y.ldu}
		q.load(&g, y.c, y.ldc)
		blocks := f.blocks()
		for i := range blocks {
			b, next := i, i+1
			if !trans { // the first block goes first in Qᵀ·C
				b, next = blocks-1-i, blocks-2-i
			}
			var ahead []T
			if f.packed != nil && i+1 < blocks {
				ahead = f.packed[next*f.ib*f.m:]
			}
			q.applyGroup(f, b, trans, &g, ahead, s)
		}
		q.store(&g, y.c, y.ldc)
	}
}

// applyGroup applies block b of f to g:
//
//	for all rows, KC at a time: for all strips: W += Vᵀ·C
//	for all strips: W2 = op(T)·W, C1 −= W2
//	for all rows, KC at a time: for all strips: C −= V·W2
//
// where C1 is what the unit matrix meets. All that the micro-kernels read
// follows one another: KC rows of V stay in the second-level cache while the
// strips pass, and those of a strip in the first. If ahead is set, it is what will
// be wanted after that.
func (q *QR[T]) applyGroup(f *reflectors[T], b int, trans bool, g *stripGroup[T], ahead []T, s *scratch[T]) {
	v, mr := &q.vec.vectors, q.vec.MR
	j, k := f.at(b)
	t := f.t[j*f.ib : j*f.ib+k*k]
	corner, rest := f.parts(b)

	// Strip x of W and of W2 begins at its element x·k.
	r := strip[T]{alpha: 1, padded: true, uplo: blas.All, ahead: ahead}
	if g.unit != nil {
		for x := 0; x < g.n; {
			n, wide := q.next(g, x)
			v.packB(s.w[x*k:], g.unit[j*g.ldu+x:], g.ldu, 1, n, k, wide)
			x += n
		}
		r.beta = 1
	}
	empty := g.unit == nil
	for _, p := range [...]*rowsOf[T]{&corner, &rest} {
		step := part(p.m, q.vec.KC, 1)
		for i := 0; i < p.m; i += step {
			rows := min(step, p.m-i)
			a, lda := q.near(p, i, rows, k, s)
			r.a, r.rs, r.cs, r.ps = a, 1, lda, mr
			for x := 0; x < g.n; {
				n, wide := q.next(g, x)
				r.m, r.k, r.n, r.ldb, r.ldc = k, rows, wide, wide, wide
				r.b, r.c = g.c[x*g.m+(p.first+i)*wide:], s.w[x*k:]
				v.run(r)
				x += n
			}
			r.beta, empty = 1, false
		}
	}
	if empty {
		clear(s.w[:roundUp(g.n, v.lanes)*k])
	}

	r.beta = 0
	for x := 0; x < g.n; {
		n, wide := q.next(g, x)
		w, w2 := s.w[x*k:], s.w2[x*k:]
		r.n, r.ldb, r.ldc = wide, wide, wide
		for i := 0; i < k; i += applyStep {
			r.m = min(applyStep, k-i)
			if trans {
				r.k, r.a, r.rs, r.cs, r.ps, r.b = i+r.m, t[i:], 1, k, mr, w
			} else {
				r.k, r.a, r.rs, r.cs, r.ps, r.b = k-i, t[i*k+i:], k, 1, mr*k, w[i*wide:]
			}
			r.c = w2[i*wide:]
			v.run(r)
		}
		if g.unit != nil {
			q.panels.subtract(g.unit[j*g.ldu+x:], g.ldu, w2, wide, k, n)
		}
		x += n
	}

	r.alpha, r.beta = -1, 1
	for _, p := range [...]*rowsOf[T]{&corner, &rest} {
		step := part(p.m, q.vec.KC, mr)
		for i := 0; i < p.m; i += step {
			rows := min(step, p.m-i)
			a, lda := q.near(p, i, rows, k, s)
			r.a, r.rs, r.cs, r.ps = a, lda, 1, mr*lda
			for x := 0; x < g.n; {
				n, wide := q.next(g, x)
				r.m, r.k, r.n, r.ldb, r.ldc = rows, k, wide, wide, wide
				r.b, r.c = s.w2[x*k:], g.c[x*g.m+(p.first+i)*wide:]
				v.run(r)
				x += n
			}
		}
	}
}

// near returns row i and those after it of p, k columns of V, copied if they lie
// far apart.
func (q *QR[T]) near(p *rowsOf[T], i, rows, k int, s *scratch[T]) (v []T, ldv int) {
	v, ldv = p.v[i*p.ldv:], p.ldv
	if ldv < 2*k {
		return v, ldv
	}
	q.panels.copy(s.packed, k, v, ldv, rows, k)
	return s.packed, k
}
