package cpu

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

// applyStep is the number of rows of a triangle of T that are multiplied as a
// rectangle: what is below the diagonal in them is in vain.
const applyStep = 16

// reflectors is an orthogonal factor in blocks of ib columns, with copies of
// the triangles in it. The blocks may be parts of those that T was made for:
// a triangle on the diagonal of T is the T of its columns.
type reflectors[T Element] struct {
	sh       shape
	m, k, ib int // V is m×k
	tb       int // columns of a block of T, a multiple of ib
	above    int // rows of a triangle above its first diagonal element
	v        []T
	ldv      int

	// The triangles of T and, but for a square, of V as squares with the zeros
	// and ones that are not stored, one after the other.
	t, corners []T

	// V with the zeros and ones of its triangles, one block after the other,
	// each with its rows next to one another; nil if V is read where it lies.
	packed []T
}

// blocks returns the number of blocks.
func (f *reflectors[T]) blocks() int { return (f.k-1)/f.ib + 1 }

// at returns the first column and the width of block b.
func (f *reflectors[T]) at(b int) (j, w int) { return b * f.ib, min(f.ib, f.k-b*f.ib) }

// load copies the triangles of block b.
func (f *reflectors[T]) load(b int, t []T, ldt int) {
	j, w := f.at(b)
	squareTriangle(w, blas.Upper, blas.NonUnit, t[j%f.tb*ldt+j:], ldt, f.t[j*f.ib:])
	switch above := f.above + j; {
	case f.sh == trapezoid:
		squareTriangle(w, blas.Lower, blas.Unit, f.v[j*f.ldv+j:], f.ldv, f.corners[j*f.ib:])
	case f.sh == triangle && f.m > above:
		squareTrapezoid(min(w, f.m-above), w, f.v[above*f.ldv+j:], f.ldv, f.corners[j*f.ib:])
	}
}

// loadAll copies the triangles of all blocks, and V if it is to be packed.
func (f *reflectors[T]) loadAll(t []T, ldt int, ps panels[T]) {
	for b := range f.blocks() {
		f.load(b, t, ldt)
	}
	if f.packed == nil {
		return
	}
	const rows = 16 // of V are read from end to end at a time
	for i := 0; i < f.m; i += rows {
		for b := range f.blocks() {
			f.packRows(b, i, min(i+rows, f.m), ps)
		}
	}
}

// packRows copies the rows of V from lo to hi of block b, of which load has
// copied the triangles.
func (f *reflectors[T]) packRows(b, lo, hi int, ps panels[T]) {
	j, w := f.at(b)
	dst := f.packed[j*f.m:]
	corner, rest := f.unpacked(b)
	first := min(corner.first, rest.first)
	for _, p := range [...]*rowsOf[T]{&corner, &rest} {
		if i, end := max(lo, p.first), min(hi, p.first+p.m); i < end {
			ps.copy(dst[(i-first)*w:], w, p.v[(i-p.first)*p.ldv:], p.ldv, end-i, w)
		}
	}
}

// parts returns the rows of V in which block b has elements: its triangle, as
// a square, and the rest. All of them are in one if V is packed.
func (f *reflectors[T]) parts(b int) (corner, rest rowsOf[T]) {
	corner, rest = f.unpacked(b)
	if f.packed == nil {
		return corner, rest
	}
	j, w := f.at(b)
	all := rowsOf[T]{first: min(corner.first, rest.first), m: corner.m + rest.m, v: f.packed[j*f.m:], ldv: w}
	return rowsOf[T]{}, all
}

// unpacked is parts of a V that is not packed.
func (f *reflectors[T]) unpacked(b int) (corner, rest rowsOf[T]) {
	j, w := f.at(b)
	corner = rowsOf[T]{v: from(f.corners, j*f.ib), ldv: w}
	rest = rowsOf[T]{m: f.m, v: from(f.v, j), ldv: f.ldv}
	switch f.sh {
	case trapezoid:
		corner.first, corner.m = j, w
		rest.first, rest.m, rest.v = j+w, f.m-j-w, from(f.v, (j+w)*f.ldv+j)
	case triangle:
		rest.m = min(f.above+j, f.m)
		corner.first, corner.m = rest.m, min(w, f.m-rest.m)
	}
	return corner, rest
}

// block returns block b to be applied to c, of which row (left) or column i
// meets row i of V, and to unit, of which row or column j meets column j.
func (f *reflectors[T]) block(b int, left bool, unit []T, ldu int, c []T, ldc int) (h blockReflector[T]) {
	j, w := f.at(b)
	step, stepU := ldc, ldu // from one row of V to the next
	if !left {
		step, stepU = 1, 1
	}
	h.k, h.t = w, f.t[j*f.ib:j*f.ib+w*w]
	if unit != nil {
		h.unit, h.ldu = unit[j*stepU:], ldu
	}
	h.corner, h.rest = f.parts(b)
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		p.c, p.ldc = from(c, p.first*step), ldc
	}
	return h
}

// from returns x from i on; of an x that is too short to have elements there,
// its end.
func from[T Element](x []T, i int) []T {
	return x[min(i, len(x)):]
}

// rowsOf is m rows of V from the row first on, and the rows of C that they
// meet, or the columns if V comes from the right.
type rowsOf[T Element] struct {
	first, m int
	v        []T
	ldv      int
	c        []T
	ldc      int
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

// apply computes C = op(Q)·C, or C·op(Q) if not left, for a C of n columns, or
// rows if not left, of which unit is the part that the unit matrix meets.
//
// From the left, a strip of C at a time goes through a buffer, where it stays
// while all blocks are applied to it. Reference: LAPACK xLARFB and xTPRFB.
func (q *QR[T]) apply(f *reflectors[T], left, trans bool, n int, unit []T, ldu int, c []T, ldc int, s *scratch[T]) {
	if !q.shareApply(f, left, trans, n, unit, ldu, c, ldc) {
		q.applyAlone(f, left, trans, n, unit, ldu, c, ldc, s)
	}
}

// applyAlone is apply by one core.
func (q *QR[T]) applyAlone(f *reflectors[T], left, trans bool, n int, unit []T, ldu int, c []T, ldc int, s *scratch[T]) {
	blocks := f.blocks()
	number := func(i int) int { // the first block goes first in Qᵀ·C and in C·Q
		if left == trans {
			return i
		}
		return blocks - 1 - i
	}
	if !left {
		for j := 0; j < n; j += acrossMax {
			w := min(acrossMax, n-j)
			for i := range blocks {
				h := f.block(number(i), false, from(unit, j*ldu), ldu, from(c, j*ldc), ldc)
				q.applyRight(h, trans, w, s)
			}
		}
		return
	}
	if q.vec != nil {
		q.applyStrips(f, trans, n, unit, ldu, c, ldc, s)
		return
	}
	for j := 0; j < n; j += acrossMax {
		w := min(acrossMax, n-j)
		ld := padded[T](w)
		q.panels.copy(s.p, ld, from(c, j), ldc, f.m, w)
		for i := range blocks {
			h := f.block(number(i), true, from(unit, j), ldu, s.p, ld)
			q.applyLeft(h, trans, w, s)
		}
		q.panels.copy(from(c, j), ldc, s.p, ld, f.m, w)
	}
}

// acrossMax is the largest number of columns of C that blocks are applied to from
// the left at a time, and of rows from the right.
const acrossMax = 256

// padded returns the distance of rows of w elements at which they fall into
// all sets of a cache: an odd number of lines.
func padded[T Element](w int) int {
	line := 64 / int(unsafe.Sizeof(*new(T)))
	return ((w+line-1)/line | 1) * line
}

// applyLeft computes W = Vᵀ·C, W = op(T)·W and C −= V·W.
func (q *QR[T]) applyLeft(h blockReflector[T], trans bool, n int, s *scratch[T]) {
	k, r := h.k, q.r
	w, w2 := s.w[:k*n], s.w2[:k*n]
	var beta T
	if h.unit != nil {
		q.panels.copy(w, n, h.unit, h.ldu, k, n)
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
		q.panels.subtract(h.unit, h.ldu, w2, n, k, n)
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
		q.panels.copy(w, k, h.unit, h.ldu, n, k)
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
		q.panels.subtract(h.unit, h.ldu, w2, k, n, k)
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.NoTrans, blas.Trans, n, p.m, k, -1, w2, k, p.v, p.ldv, 1, p.c, p.ldc, s.gemm)
		}
	}
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
