package cpu

import "gonum.org/v1/gonum/blas"

// QR is the routines of the tile QR factorization over one implementation of
// the level-3 routines, of which it uses Gemm. Matrices are as [Routines] has
// them, and misuse panics as it does there.
//
// An orthogonal factor of k elementary reflectors is a product of block
// reflectors of ib columns each, Q = H(0)·H(1)·…, the last of which may have
// fewer,
//
//	H = I − V·T·Vᵀ,
//
// with T upper triangular. The triangle of the block that begins at column j
// of V occupies columns j to j+min(ib, k−j)−1 of the min(ib, k)×k matrix T,
// from its row 0 on; what is below the triangles is neither read nor written.
//
// The work slice is scratch of at least [QR.Work] elements. A QR is safe for
// concurrent use with distinct work slices.
type QR[T Element] struct {
	r      Routines[T]
	panels panels[T]
}

// NewQR returns the routines over r.
func NewQR[T Element](r Routines[T]) *QR[T] {
	return &QR[T]{r: r, panels: panelsOf(r)}
}

// Work returns the number of elements of scratch that a call needs whose
// dimensions do not exceed dim and whose block reflectors have ib columns.
func (q *QR[T]) Work(dim, ib int) int {
	ib = min(ib, dim)
	if ib <= 0 {
		return 0
	}
	return 4*roundUp(ib*ib, 16) + 2*roundUp(ib*span(dim, ib), 16) + q.r.Work(dim)
}

// span is the extent of the products that a block reflector of ib columns
// makes with C, or with another one in its panel.
func span(dim, ib int) int { return max(min(dim, applySpan), ib/2+1) }

// scratch is the work slice of a call, cut up.
type scratch[T Element] struct {
	corner  []T // a triangle of V as a square, ib×ib
	corner2 []T // another one
	t       []T // a triangle of T as a square
	t2      []T // another one
	w, w2   []T // ib×span
	gemm    []T
}

func (q *QR[T]) scratch(work []T, dim, ib int) (s scratch[T]) {
	if len(work) < q.Work(dim, ib) {
		panic(ErrWork)
	}
	ib = min(ib, dim)
	cut := func(n int) (x []T) {
		n = roundUp(n, 16)
		x, work = work[:n:n], work[n:]
		return x
	}
	s.corner, s.corner2, s.t, s.t2 = cut(ib*ib), cut(ib*ib), cut(ib*ib), cut(ib*ib)
	s.w, s.w2 = cut(ib*span(dim, ib)), cut(ib*span(dim, ib))
	s.gemm = work
	return s
}

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

// ErrBlock is the panic of a QR routine that is given less than one column a
// block.
const ErrBlock Error = "cpu: block reflector without columns"

func checkBlock(ib int) {
	if ib < 1 {
		panic(ErrBlock)
	}
}

// ErrL is the panic of a tp routine whose matrix is neither full nor upper
// trapezoidal as a whole.
const ErrL Error = "cpu: trapezoid of neither no nor all rows, or of more rows than columns"

// checkL returns the shape of an m×n V of which the last l rows are an upper
// trapezoid.
func checkL(l, m, n int) shape {
	switch {
	case l == 0:
		return square
	case l == m && m <= n:
		return triangle
	}
	panic(ErrL)
}

func checkApply(side blas.Side, trans blas.Transpose, ib int) (left, transposed bool) {
	checkSide(side)
	checkBlock(ib)
	return side == blas.Left, checkTranspose(trans)
}
