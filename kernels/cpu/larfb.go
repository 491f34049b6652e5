package cpu

import "gonum.org/v1/gonum/blas"

// applySpan is the number of columns (rows, from the right) of C that a block
// reflector is applied to at a time.
const applySpan = 512

// applyStep is the number of rows of a triangle of T that are multiplied as a
// rectangle: what is below the diagonal in them is in vain.
const applyStep = 16

// rowsOf is some rows of V and the rows of C that they meet, or the columns if
// V comes from the right.
type rowsOf[T Element] struct {
	m   int
	v   []T
	ldv int
	c   []T
	ldc int
}

// blockReflector is H = I − V·T·Vᵀ with k columns and the C it is applied to.
// The rows of V are in up to three parts: a unit matrix of k rows, a triangle
// that was copied into a square, and the rest.
type blockReflector[T Element] struct {
	k      int
	t      []T // upper triangle with zeros below, k×k
	unit   []T // C's rows or columns of the unit matrix; nil if there is none
	ldu    int
	corner rowsOf[T]
	rest   rowsOf[T]
}

// apply computes C = op(H)·C, or C·op(H) if not left. C has n columns, or n
// rows if not left. Reference: LAPACK xLARFB and xTPRFB.
func (q *QR[T]) apply(h blockReflector[T], left, trans bool, n int, s *scratch[T]) {
	for j := 0; j < n; j += applySpan {
		w := min(applySpan, n-j)
		g := h
		if left {
			g.unit, g.corner.c, g.rest.c = from(h.unit, j), from(h.corner.c, j), from(h.rest.c, j)
			q.applyLeft(g, trans, w, s)
		} else {
			g.unit, g.corner.c, g.rest.c = from(h.unit, j*h.ldu), from(h.corner.c, j*h.corner.ldc), from(h.rest.c, j*h.rest.ldc)
			q.applyRight(g, trans, w, s)
		}
	}
}

// from returns x from i on; of a short x that has no elements in use, the end.
func from[T Element](x []T, i int) []T {
	if x == nil {
		return nil
	}
	return x[min(i, len(x)):]
}

// applyLeft computes W = Vᵀ·C, W = op(T)·W and C −= V·W.
func (q *QR[T]) applyLeft(h blockReflector[T], trans bool, n int, s *scratch[T]) {
	k, r := h.k, q.r
	w, w2 := s.w[:k*n], s.w2[:k*n]
	var beta T
	if h.unit != nil {
		copyRows(w, 0, 1, n, h.unit, 0, 1, h.ldu, n, k)
		beta = 1
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.Trans, blas.NoTrans, k, n, p.m, 1, p.v, p.ldv, p.c, p.ldc, beta, w, n, s.gemm)
			beta = 1
		}
	}
	for i := 0; i < k; i += applyStep {
		b := min(applyStep, k-i)
		if trans {
			r.Gemm(blas.Trans, blas.NoTrans, b, n, i+b, 1, h.t[i:], k, w, n, 0, w2[i*n:], n, s.gemm)
		} else {
			r.Gemm(blas.NoTrans, blas.NoTrans, b, n, k-i, 1, h.t[i*k+i:], k, w[i*n:], n, 0, w2[i*n:], n, s.gemm)
		}
	}
	if h.unit != nil {
		subtractRows(h.unit, h.ldu, w2, n, n, k)
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.NoTrans, blas.NoTrans, p.m, n, k, -1, p.v, p.ldv, w2, n, 1, p.c, p.ldc, s.gemm)
		}
	}
}

// applyRight computes W = C·V, W = W·op(T) and C −= W·Vᵀ.
func (q *QR[T]) applyRight(h blockReflector[T], trans bool, n int, s *scratch[T]) {
	k, r := h.k, q.r
	w, w2 := s.w[:n*k], s.w2[:n*k]
	var beta T
	if h.unit != nil {
		copyRows(w, 0, 1, k, h.unit, 0, 1, h.ldu, k, n)
		beta = 1
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.NoTrans, blas.NoTrans, n, k, p.m, 1, p.c, p.ldc, p.v, p.ldv, beta, w, k, s.gemm)
			beta = 1
		}
	}
	for i := 0; i < k; i += applyStep {
		b := min(applyStep, k-i)
		if trans {
			r.Gemm(blas.NoTrans, blas.Trans, n, b, k-i, 1, w[i:], k, h.t[i*k+i:], k, 0, w2[i:], k, s.gemm)
		} else {
			r.Gemm(blas.NoTrans, blas.NoTrans, n, b, i+b, 1, w, k, h.t[i:], k, 0, w2[i:], k, s.gemm)
		}
	}
	if h.unit != nil {
		subtractRows(h.unit, h.ldu, w2, k, k, n)
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.NoTrans, blas.Trans, n, p.m, k, -1, w2, k, p.v, p.ldv, 1, p.c, p.ldc, s.gemm)
		}
	}
}

// subtractRows computes C −= W for n rows of w elements.
func subtractRows[T Element](c []T, ldc int, x []T, ldx, w, n int) {
	for i := range n {
		ci := c[i*ldc : i*ldc+w]
		for j, v := range x[i*ldx : i*ldx+w] {
			ci[j] -= v
		}
	}
}

// block sets up H for the k columns at v of a V of the given shape, with m
// rows: those of the trapezoid from the diagonal on, all of the square, and of
// the triangle those from the first to the last that has a part in these
// columns, of which the first above are full. c is the first row or column of
// C that v meets, and unit the one that the unit matrix does.
func (q *QR[T]) block(sh shape, left bool, m, above, k int, v []T, ldv int, t []T, ldt int, unit []T, ldu int, c []T, ldc int, s *scratch[T]) blockReflector[T] {
	h := blockReflector[T]{k: k, t: s.t[:k*k]}
	squareTriangle(k, blas.Upper, blas.NonUnit, t, ldt, h.t)
	step := ldc // from one row of V to the next, in C
	if !left {
		step = 1
	}
	switch sh {
	case trapezoid:
		squareTriangle(k, blas.Lower, blas.Unit, v, ldv, s.corner)
		h.corner = rowsOf[T]{k, s.corner, k, c, ldc}
		h.rest = rowsOf[T]{m - k, from(v, k*ldv), ldv, from(c, k*step), ldc}
	case square:
		h.unit, h.ldu = unit, ldu
		h.rest = rowsOf[T]{m, v, ldv, c, ldc}
	case triangle:
		h.unit, h.ldu = unit, ldu
		h.rest = rowsOf[T]{min(above, m), v, ldv, c, ldc}
		if d := min(k, m-above); d > 0 {
			squareTrapezoid(d, k, v[above*ldv:], ldv, s.corner)
			h.corner = rowsOf[T]{d, s.corner, k, c[above*step:], ldc}
		}
	}
	return h
}

// squareTrapezoid copies the upper trapezoid of the m×n matrix A into dst,
// whose rows lie n apart, with zeros below.
func squareTrapezoid[T Element](m, n int, a []T, lda int, dst []T) {
	for i := range m {
		row := dst[i*n : i*n+n]
		clear(row[:i])
		copy(row[i:], a[i*lda+i:i*lda+n])
	}
}
