package cpu

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// applyStep is the number of rows of a triangle of T that are multiplied at a time, as a rectangle. The products with
// the zeros below the diagonal are in vain.
const applyStep = 16

// acrossMax is the largest number of columns of C, or from the right of rows, that blocks are applied to at a time.
const acrossMax = 256

// shape says where the columns of V have their nonzero elements.
type shape uint8

const (
	trapezoid shape = iota // V is unit lower trapezoidal (Geqrt)
	square                 // V is a unit matrix, which is not stored, on top of a full one (Tpqrt)
	triangle               // V is a unit matrix, which is not stored, on top of an upper trapezoidal one (Tpqrt)
)

// reflectors is an orthogonal factor in blocks of ib columns. Products read the triangles in T and V from copies, squares
// with the zeros and ones that are not stored. A block may be part of one of the tb columns that T was made for: the part
// of a triangle of T on the diagonal is the T of its columns.
type reflectors[T Element] struct {
	sh       shape
	m, k, ib int // V is m×k
	tb       int // columns of a block of T, a multiple of ib
	above    int // rows of V above the first diagonal element, if V is a triangle
	v        []T
	ldv      int

	// The squares, one block after the other: of T and, unless V is a square, of V.
	t, corners []T

	// V with the zeros and ones of its triangles, one block after the other, each without gaps between its rows; nil if
	// V is read where it lies.
	packed []T
}

// blocks returns the number of blocks.
func (f *reflectors[T]) blocks() int { return (f.k-1)/f.ib + 1 }

// at returns the first column and the width of block b.
func (f *reflectors[T]) at(b int) (j, w int) { return b * f.ib, min(f.ib, f.k-b*f.ib) }

// load copies the triangles of block b to f.t and f.corners.
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

// packRows copies rows lo to hi−1 of block b of V to f.packed, after load has copied the triangles.
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

// parts returns the rows of V in which block b has elements: corner, a triangle as a square, and the rest. If V is
// packed, rest has all of them.
func (f *reflectors[T]) parts(b int) (corner, rest rowsOf[T]) {
	corner, rest = f.unpacked(b)
	if f.packed == nil {
		return corner, rest
	}
	j, w := f.at(b)
	all := rowsOf[T]{first: min(corner.first, rest.first), m: corner.m + rest.m, v: f.packed[j*f.m:], ldv: w}
	return rowsOf[T]{}, all
}

// unpacked is parts for a V that is not packed.
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

// target is what a factor is applied to: C and, unless the factor is a trapezoid, the matrix on top of C or, from the
// right, beside it, which the unit matrix in V multiplies.
type target[T Element] struct {
	left bool // op(Q) is on the left
	unit []T  // the matrix that the unit matrix multiplies; nil if there is none
	ldu  int
	c    []T
	ldc  int
}

// from returns the target without its columns, or from the right its rows, before i.
func (x target[T]) from(i int) target[T] {
	if x.left {
		x.unit, x.c = from(x.unit, i), from(x.c, i)
	} else {
		x.unit, x.c = from(x.unit, i*x.ldu), from(x.c, i*x.ldc)
	}
	return x
}

// block returns block b to be applied to x. From the left, row i of V multiplies row i of x.c, and column j row j of
// x.unit; from the right, columns take the place of rows.
func (f *reflectors[T]) block(b int, x target[T]) (h blockReflector[T]) {
	j, w := f.at(b)
	step, stepU := x.ldc, x.ldu // from one of these rows or columns to the next
	if !x.left {
		step, stepU = 1, 1
	}
	h.k, h.t = w, f.t[j*f.ib:j*f.ib+w*w]
	if x.unit != nil {
		h.unit, h.ldu = x.unit[j*stepU:], x.ldu
	}
	h.corner, h.rest = f.parts(b)
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		p.c, p.ldc = from(x.c, p.first*step), x.ldc
	}
	return h
}

// from returns x from element i on, which is empty if x is shorter.
func from[T Element](x []T, i int) []T { return x[min(i, len(x)):] }

// rowsOf is m rows of V from row first on, and c, the rows of C that they multiply, or from the right the columns.
type rowsOf[T Element] struct {
	first, m int
	v        []T
	ldv      int
	c        []T
	ldc      int
}

// blockReflector is H = I − V·T·Vᵀ with k columns, and what it is applied to. The rows of V are in up to three parts: a
// unit matrix of k rows, a triangle that was copied into a square, and the rest.
type blockReflector[T Element] struct {
	k      int
	t      []T // upper triangle with zeros below, k×k
	unit   []T // what the unit matrix multiplies; nil if there is none
	ldu    int
	corner rowsOf[T]
	rest   rowsOf[T]
}

// padded returns the distance of rows of w elements in memory, an odd number of cache lines. So rows spread over all
// sets of a cache.
func padded[T Element](w int) int {
	line := 64 / scalar.Size[T]()
	return ((w+line-1)/line | 1) * line
}
