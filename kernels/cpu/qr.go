package cpu

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// QRRoutines is one implementation of the routines of the tile QR
// factorization. Matrices are as [Routines] has them, and misuse panics as it
// does there.
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
// The work slice is scratch of at least Work elements. An implementation is
// safe for concurrent use with distinct work slices.
type QRRoutines[T Element] interface {
	// Work returns the number of elements of scratch that a call needs whose
	// dimensions do not exceed dim and whose k reflectors are in blocks of ib. It
	// grows as dim does, not as its square: a panel may be as high as a whole
	// matrix.
	Work(dim, k, ib int) int

	// Geqrt computes the QR factorization of the m×n matrix A,
	//
	//	A = Q·R,
	//
	// in block reflectors of ib ≥ 1 columns. R overwrites the upper triangle (or
	// trapezoid) of A, the columns of V what is below the diagonal; the ones on
	// V's diagonal are not stored. T is min(ib, k)×k with k = min(m, n). Nothing
	// over- or underflows that need not; a column that is zero below the diagonal
	// gets the reflector H = I. NaN and infinities propagate. Reference: LAPACK
	// xGEQRT.
	Geqrt(m, n, ib int, a []T, lda int, t []T, ldt int, work []T)

	// Gemqrt computes, with the orthogonal factor Q of k reflectors that
	// [QRRoutines.Geqrt] left in V and T for the same ib,
	//
	//	C = op(Q)·C  (side = Left,  V m×k)
	//	C = C·op(Q)  (side = Right, V n×k)
	//
	// for the m×n matrix C. Of V only what is below the diagonal is read.
	// Reference: LAPACK xGEMQRT.
	Gemqrt(side blas.Side, trans blas.Transpose, m, n, k, ib int, v []T, ldv int, t []T, ldt int, c []T, ldc int, work []T)

	// Tpqrt computes the QR factorization of an upper triangle A of order n on top
	// of the m×n matrix B,
	//
	//	⎡A⎤       ⎡R⎤
	//	⎣B⎦ = Q · ⎣0⎦,
	//
	// in block reflectors of ib ≥ 1 columns. B is full (l = 0), or upper
	// trapezoidal as a whole (l = m ≤ n). R overwrites the upper triangle of A;
	// what is below it is neither read nor written. V, which is a unit matrix on
	// top of a matrix of the shape of B, overwrites B; what is below the diagonal
	// of an upper trapezoidal one is neither read nor written. T is min(ib, n)×n.
	// Numbers of all sizes, NaN and infinities are treated as by [QRRoutines.Geqrt].
	// Reference: LAPACK xTPQRT.
	Tpqrt(m, n, l, ib int, a []T, lda int, b []T, ldb int, t []T, ldt int, work []T)

	// Tpmqrt computes, with the orthogonal factor Q of k reflectors that
	// [QRRoutines.Tpqrt] left in V and T for the same l and ib,
	//
	//	⎡A⎤         ⎡A⎤
	//	⎣B⎦ = op(Q)·⎣B⎦  (side = Left,  V m×k, A k×n)
	//
	//	[A B] = [A B]·op(Q)  (side = Right, V n×k, A m×k)
	//
	// for the m×n matrix B. Reference: LAPACK xTPMQRT.
	Tpmqrt(side blas.Side, trans blas.Transpose, m, n, k, l, ib int, v []T, ldv int, t []T, ldt int, a []T, lda int, b []T, ldb int, work []T)
}

// QR is [QRRoutines] over one implementation of the level-3 routines, of which
// it uses Gemm, and from the left its vector micro-kernels if it has them.
type QR[T Element] struct {
	r      Routines[T]
	panels panels[T]
	vec    *Packed[T] // r if it has vector micro-kernels, else nil
	most   int        // elements of V up to which all of it is packed

	packedV []T // the factor that is applied, if it was packed before

	units int // of the crew, if there is one
	crew  Crew[T]
}

// NewQR returns the routines over r.
func NewQR[T Element](r Routines[T]) *QR[T] {
	q := &QR[T]{r: r, panels: panels[T]{kernelsOf(r)}, most: packedMost}
	if p, ok := r.(*Packed[T]); ok && p.vectors.set() {
		q.vec = p
	}
	return q
}

// Shared returns the routines of q by a crew of at most so many cores, for calls
// one after the other: strips of what a factor is applied to have nothing to do
// with each other. The results are the same, bit for bit.
func (q *QR[T]) Shared(units int, crew Crew[T]) *QR[T] {
	s := *q
	s.units, s.crew = units, crew
	return &s
}

// Work implements [QRRoutines].
func (q *QR[T]) Work(dim, k, ib int) int {
	ib = min(ib, k)
	if ib <= 0 {
		return 0
	}
	return 3*roundUp(ib*ib, 16) + 2*roundUp(roundUp(k, ib)*ib, 16) + 2*roundUp(ib*q.span(dim, ib), 16) + roundUp(dim*q.strip(dim, ib), 16) +
		roundUp(q.strips(dim, ib), 16) + roundUp(q.packed(dim, k, ib), 16) + q.r.Work(dim)
}

// span is the largest number of columns, in whole vectors, or of rows from the
// right, that a block of ib is applied to at a time.
func (q *QR[T]) span(dim, ib int) int {
	return roundUp(max(min(dim, acrossMax), ib), 16)
}

// strip is the distance of the rows of a buffer for a strip of C, or for a
// block of ib columns.
func (q *QR[T]) strip(dim, ib int) int {
	if q.vec != nil {
		return padded[T](ib)
	}
	return padded[T](max(min(dim, acrossMax), ib))
}

// strips is the size of a group of strips, or of one of the ib columns of a
// block.
func (q *QR[T]) strips(dim, ib int) int {
	if q.vec == nil {
		return 0
	}
	wide := roundUp(dim, q.vec.vectors.lanes)
	return max(min(wide*dim, q.groupSize(dim)), dim*roundUp(ib, q.vec.vectors.lanes))
}

// group returns the number of columns of C that go together if it has m rows: as
// many as take a part of the second-level cache, since each group brings all of V
// there anew, and a few strips at least.
func (q *QR[T]) group(m int) int {
	nr := q.vec.NR
	return min(q.groupSize(m)/(max(m, 1)*nr), acrossMax/nr) * nr
}

// groupSize is the number of elements of a group of strips of m rows.
func (q *QR[T]) groupSize(m int) int {
	const most, least = 256 << 10, 64 // bytes, columns
	return max(min(q.vec.vectors.near, most/scalar.Size[T]()), least/q.vec.NR*q.vec.NR*m)
}

// packed is the room for a V of dim×k with its rows next to one another, or, if
// that is too much, for the rows of a block of ib columns that are needed at a
// time.
func (q *QR[T]) packed(dim, k, ib int) int {
	switch {
	case q.vec == nil:
		return 0
	case dim*k <= q.most:
		return dim * k
	}
	return max(q.most, min(dim, q.vec.KC)*ib)
}

// packedMost is the number of elements up to which all of V is packed: beyond, a
// panel as high as a large matrix would need as much scratch as it has memory.
const packedMost = 1 << 19

// scratch is the work slice of a call, cut up.
type scratch[T Element] struct {
	// Squares of ib×ib: for triangles of V and T within a panel.
	corner, t, t2 []T
	ts, corners   []T // of reflectors
	w, w2         []T // ib×span
	p             []T // dim×strip
	c, packed     []T // strips of C, and V
	gemm          []T
}

func (q *QR[T]) scratch(work []T, dim, k, ib int) (s scratch[T]) {
	checkWork(len(work), q.Work(dim, k, ib))
	ib = min(ib, k)
	cut := func(n int) (x []T) {
		n = roundUp(n, 16)
		x, work = work[:n:n], work[n:]
		return x
	}
	s.corner, s.t, s.t2 = cut(ib*ib), cut(ib*ib), cut(ib*ib)
	s.ts, s.corners = cut(roundUp(k, ib)*ib), cut(roundUp(k, ib)*ib)
	s.w, s.w2 = cut(ib*q.span(dim, ib)), cut(ib*q.span(dim, ib))
	s.p = cut(dim * q.strip(dim, ib))
	s.c, s.packed = cut(q.strips(dim, ib)), cut(q.packed(dim, k, ib))
	s.gemm = work
	return s
}

// The size of blocks up to which they are not cut: narrow where the triangles
// in V would be squares, or where the block is a panel to be factored.
const (
	wideBlock   = 64
	narrowBlock = 32
)

// reflectors returns those of an m×k matrix V, without their triangles, in
// blocks that are parts of those of ib columns, of about most.
func (q *QR[T]) reflectors(sh shape, m, k, ib, most int, v []T, ldv int, s *scratch[T]) reflectors[T] {
	ib = min(ib, k)
	f := reflectors[T]{sh: sh, m: m, k: k, ib: blockPart(ib, most), tb: ib, v: v, ldv: ldv, t: s.ts, corners: s.corners}
	if q.vec != nil && m*k <= q.most {
		f.packed = s.packed
	}
	return f
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

// checkL panics unless the last l rows of an m×n V can be an upper trapezoid
// that is nothing of it or all.
func checkL(l, m, n int) {
	if l != 0 && (l != m || m > n) {
		panic(ErrL)
	}
}

// widest returns the largest number of columns of the blocks in which a factor
// whose V has this shape, below a unit matrix, is applied.
func (sh shape) widest() int {
	if sh == square {
		return wideBlock
	}
	return narrowBlock
}

// shapeOf returns the shape of a V of which the last l rows are an upper
// trapezoid.
func shapeOf(l int) shape {
	if l == 0 {
		return square
	}
	return triangle
}

func checkApply(side blas.Side, trans blas.Transpose, ib int) (left, transposed bool) {
	checkSide(side)
	checkBlock(ib)
	return side == blas.Left, checkTranspose(trans)
}
