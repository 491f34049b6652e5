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
	width  int // columns of C that go together
}

// NewQR returns the routines over r.
func NewQR[T Element](r Routines[T]) *QR[T] {
	q := &QR[T]{r: r, panels: panelsOf(r), width: 256}
	if p, ok := r.(*Packed[T]); ok && p.vectors.run != nil {
		q.width = p.NR
	}
	return q
}

// Work returns the number of elements of scratch that a call needs whose
// dimensions do not exceed dim and whose block reflectors have ib columns.
func (q *QR[T]) Work(dim, ib int) int {
	ib = min(ib, dim)
	if ib <= 0 {
		return 0
	}
	return 3*roundUp(ib*ib, 16) + 2*roundUp(roundUp(dim, ib)*ib, 16) + 2*roundUp(ib*q.span(dim, ib), 16) + roundUp(dim*padded[T](q.span(dim, ib)), 16) + q.r.Work(dim)
}

// span is the largest number of columns, or rows from the right, that a block
// of ib is applied to at a time.
func (q *QR[T]) span(dim, ib int) int { return max(min(dim, max(q.width, rightRows)), ib) }

// scratch is the work slice of a call, cut up.
type scratch[T Element] struct {
	// Squares of ib×ib: for triangles of V and T within a panel.
	corner, t, t2 []T
	ts, corners   []T // of reflectors
	w, w2         []T // ib×span
	p             []T // dim×span, padded
	gemm          []T
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
	s.corner, s.t, s.t2 = cut(ib*ib), cut(ib*ib), cut(ib*ib)
	s.ts, s.corners = cut(roundUp(dim, ib)*ib), cut(roundUp(dim, ib)*ib)
	s.w, s.w2 = cut(ib*q.span(dim, ib)), cut(ib*q.span(dim, ib))
	s.p = cut(dim * padded[T](q.span(dim, ib)))
	s.gemm = work
	return s
}

// reflectors returns those of an m×k matrix V, without their triangles, in
// blocks that are parts of those of ib columns.
func (s *scratch[T]) reflectors(sh shape, m, k, ib int, v []T, ldv int) reflectors[T] {
	most := 64
	if sh != square {
		most = 32
	}
	ib = min(ib, k)
	return reflectors[T]{sh: sh, m: m, k: k, ib: blockPart(ib, most), tb: ib, v: v, ldv: ldv, t: s.ts, corners: s.corners}
}

// blockPart returns the size of the parts of blocks of ib columns that a factor
// is applied in: at most most, unless they would be less than half of that.
// Larger ones make more of what is multiplied in vain, in triangles that are
// taken for squares, smaller ones have their products run slower.
func blockPart(ib, most int) int {
	for parts := (ib + most - 1) / most; parts <= 2*ib/most; parts++ {
		if ib%parts == 0 {
			return ib / parts
		}
	}
	return ib
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
