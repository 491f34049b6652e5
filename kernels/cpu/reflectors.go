package cpu

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

// applyStep is the number of rows of a triangle of T that are multiplied as a
// rectangle: what is below the diagonal in them is in vain.
const applyStep = 16

// acrossMax is the largest number of columns of C that blocks are applied to from
// the left at a time, and of rows from the right.
const acrossMax = 256

// shape says where the columns of V have their nonzero elements.
type shape uint8

const (
	// trapezoid: V is unit lower trapezoidal, in the matrix that was factored.
	trapezoid shape = iota
	// square: V is a unit matrix on top of a full one, in the lower matrix.
	square
	// triangle: V is a unit matrix on top of an upper trapezoidal one.
	triangle
)

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

// padded returns the distance of rows of w elements at which they fall into
// all sets of a cache: an odd number of lines.
func padded[T Element](w int) int {
	line := 64 / int(unsafe.Sizeof(*new(T)))
	return ((w+line-1)/line | 1) * line
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
