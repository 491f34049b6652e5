package cpu

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// condensed is the common part of the reductions to condensed forms, tridiagonal and bidiagonal.
type condensed[T Element] struct {
	Routines[T]
	// Stop, if it is not nil, is asked between blocks of reflectors whether to go on. If it returns an error, the
	// operation ends soon, and its results are undefined.
	Stop func() error

	crew    Crew[T]
	vectors isa.Vectors[T]
}

// newCondensed returns the common part for a set of routines and a crew. Without a crew, the caller's goroutine does
// all parts.
func newCondensed[T Element](r Routines[T], crew Crew[T]) condensed[T] {
	c := condensed[T]{Routines: r, crew: crew}
	if crew == nil {
		var scratch []T // for all steps
		c.crew = func(parts, work int, f func(part, parts int, work []T)) {
			if len(scratch) < work {
				scratch = make([]T, work)
			}
			for i := range parts {
				f(i, parts, scratch[:work])
			}
		}
	}
	if p, ok := r.(*Packed[T]); ok && p.kernels != nil {
		c.vectors = p.kernels.Vectors
	}
	return c
}

// stopped reports whether Stop says so.
func (c *condensed[T]) stopped() bool { return c.Stop != nil && c.Stop() != nil }

const (
	// reflectorPanel is the number of reflectors that are applied as one block reflector.
	reflectorPanel = 64
	// reflectorFew is that number if there are no more than four times as many in all: the factors of larger blocks would
	// take longer than the rest.
	reflectorFew = 16
	// reflectorLoop is the largest order for which reflectors are applied one by one, in a loop.
	reflectorLoop = 8
	// reflectorPairs is the largest order for which they are applied two at a time, to at least pairRows rows.
	reflectorPairs = 64
	pairRows       = 8
	// reflectorRows is the largest number of rows to which one part applies them, a multiple of 8.
	reflectorRows = 256
	// evenRows is the number of rows from which on a second part pays.
	evenRows = 64
)

// What follows is from docs/internals/measurements.md, "Small matrices by single reflectors".
const (
	// condensedFew is the order up to which the reductions of small matrices are by single reflectors. The matrix is in the
	// nearest caches then, and the products of blocks gain less than their calls take.
	condensedFew = 96
	// condensedLoops is condensedFew without the vector routines: blocks are by a C library then, or by loops.
	condensedLoops = 48
)

// few reports whether small matrices are reduced by single reflectors.
func (c *condensed[T]) few(n int) bool {
	return n <= condensedLoops || n <= condensedFew && c.vectors.Ger2 != nil && c.vectors.MulVec != nil
}

// rowParts returns the number of parts, and the rows of each but the last one, in which reflectors are applied to that many
// rows, at least one, of at most that many rows each: an even number of parts, so that an even number of units ends together.
func rowParts(rows, most int) (parts, height int) {
	if parts = (rows + most - 1) / most; rows > evenRows {
		parts += parts % 2
	}
	height = ((rows+parts-1)/parts + 7) / 8 * 8
	return (rows + height - 1) / height, height
}

// fewElements is the length of vectors up to which loops are faster than calls of assembly.
const fewElements = 6

// larfg overwrites x with the vector v of the reflector H = I − tau·v·vᵀ for which H·x = (beta, 0, …, 0). It does not
// store v(0), which is 1: the first element of x is undefined afterwards. x has at least one element.
//
// Reference: LAPACK xLARFG.
func (c *condensed[T]) larfg(x []T) (tau, beta T) {
	if len(x) <= fewElements {
		var dot T
		for _, v := range x[1:] {
			dot += v * v
		}
		if alpha := x[0]; wellScaled(alpha, dot) {
			tau, beta, factor := reflector(alpha, dot)
			for i := range x {
				x[i] *= factor
			}
			return tau, beta
		}
	}
	alpha, norm := x[0], nrm2With(&c.vectors, x[1:])
	if norm == 0 {
		return 0, alpha
	}
	scale := T(1)
	if low := T(scalar.SafeMin[T]() / scalar.Eps[T]()); T(norm) < low && T(math.Abs(float64(alpha))) < low {
		scale = 1 / low // beta would have lost bits to underflow
		scalWith(&c.vectors, scale, x)
		alpha, norm = x[0], nrm2With(&c.vectors, x[1:])
	}
	h := float64(alpha)*float64(alpha) + norm*norm
	if h >= leastSquares && h <= mostSquares {
		h = math.Sqrt(h)
	} else {
		h = math.Hypot(float64(alpha), norm)
	}
	beta = T(-math.Copysign(h, float64(alpha)))
	factor := 1 / (alpha - beta)
	if math.IsInf(float64(factor), 0) || factor == 0 {
		for i := range x[1:] {
			x[1+i] /= alpha - beta
		}
	} else {
		scalWith(&c.vectors, factor, x[1:])
	}
	return (beta - alpha) / beta, beta / scale
}

// mulVec computes y = A·x for a small m×n matrix A.
func (c *condensed[T]) mulVec(m, n int, a []T, lda int, x, y []T) {
	if m < fewRows || c.vectors.MulVec == nil {
		LoopMulVec(a, lda, x[:n], y[:m])
		return
	}
	c.vectors.MulVec(isa.Hide(&a[:(m-1)*lda+n][0]), lda, m, n, isa.Hide(&x[:n][0]), isa.Hide(&y[:m][0]))
}

// ger2 computes A −= p·qᵀ + r·sᵀ for a small m×n matrix A.
func (c *condensed[T]) ger2(m, n int, a []T, lda int, p, q, r, s []T) {
	_, _, _, _, _ = a[:(m-1)*lda+n], p[:m], q[:n], r[:m], s[:n]
	if c.vectors.Ger2 == nil {
		for i, x := range p[:m] {
			row, y := a[i*lda:][:n], r[i]
			for j, q := range q[:n] {
				row[j] -= x*q + y*s[j]
			}
		}
		return
	}
	for j := 0; j < n; j += c.vectors.Strip {
		c.vectors.Ger2(isa.Hide(&a[j]), lda, m, min(c.vectors.Strip, n-j), isa.Hide(&p[0]), isa.Hide(&q[j]), isa.Hide(&r[0]),
			isa.Hide(&s[j]))
	}
}

// subtract computes y −= Mᵀ·x for the m×n matrix M. Its rows are ld elements apart, and the elements of x are inc
// apart.
func (c *condensed[T]) subtract(m, n int, a, x []T, ld, inc int, y []T) {
	matVec[T]{alpha: -1, m: a, ld: ld, x: x, xInc: inc, y: y, yInc: 1, vectors: &c.vectors}.columns(m, n)
}

// products computes y += M·x for the m×n matrix M, whose rows are ld elements apart.
func (c *condensed[T]) products(m, n int, a []T, ld int, x, y []T) {
	matVec[T]{alpha: 1, m: a, ld: ld, x: x, xInc: 1, y: y, yInc: 1, vectors: &c.vectors}.rows(m, n)
}

// stripColumns computes y += Mᵀ·x for the m×n matrix M, whose rows are ld elements apart, strip by strip: it reads
// memory in the order that stripRows does. first is the column of the whole matrix in which M begins; strips begin at
// multiples of their width there, for the sake of cache lines.
func (c *condensed[T]) stripColumns(first, m, n int, a []T, ld int, x, y []T) {
	if c.vectors.StripColumns == nil || m == 0 {
		matVec[T]{alpha: 1, m: a, ld: ld, x: x, xInc: 1, y: y, yInc: 1, vectors: &c.vectors}.columns(m, n)
		return
	}
	c.strips(first, n, func(lo, hi int) {
		c.vectors.StripColumns(isa.Hide(&a[lo]), ld, m, hi-lo, isa.Hide(&x[0]), isa.Hide(&y[lo]))
	})
}

// stripRows computes y += M·x as stripColumns computes y += Mᵀ·x.
func (c *condensed[T]) stripRows(first, m, n int, a []T, ld int, x, y []T) {
	fours := m &^ 3
	if c.vectors.StripRows == nil || fours == 0 {
		c.products(m, n, a, ld, x, y)
		return
	}
	c.strips(first, n, func(lo, hi int) {
		c.vectors.StripRows(isa.Hide(&a[lo]), ld, fours, hi-lo, isa.Hide(&x[lo]), isa.Hide(&y[0]))
	})
	c.products(m-fours, n, a[min(fours*ld, len(a)):], ld, x, y[fours:])
}

// stripUpdate computes A += x·wᵀ + y·zᵀ for the m×n matrix A, whose rows are ld elements apart, strip by strip.
func (c *condensed[T]) stripUpdate(m, n int, a []T, ld int, x, y, w, z []T) {
	if c.vectors.StripUpdate == nil {
		for i := range m {
			axpyWith(&c.vectors, x[i], w[:n], a[i*ld:][:n])
			axpyWith(&c.vectors, y[i], z[:n], a[i*ld:][:n])
		}
		return
	}
	c.strips(0, n, func(lo, hi int) {
		c.vectors.StripUpdate(isa.Hide(&a[lo]), ld, m, hi-lo, isa.Hide(&x[0]), isa.Hide(&y[0]), isa.Hide(&w[lo]),
			isa.Hide(&z[lo]))
	})
}

// strips calls f for the strips of columns first to first+n−1, which it counts from first.
func (c *condensed[T]) strips(first, n int, f func(lo, hi int)) {
	width := c.vectors.Strip
	for lo := 0; lo < n; {
		hi := min(lo+width-(first+lo)%width, n)
		f(lo, hi)
		lo = hi
	}
}

// factorOfBlock sets f to the upper triangular nb×nb factor T of a block reflector,
//
//	H(0)·…·H(nb−1) = I − Vᵀ·T·V,
//
// where the rows of V are the vectors of the reflectors H, tau are their factors, and gram is V·Vᵀ. Rows of f and gram
// are reflectorPanel elements apart.
//
// Reference: LAPACK xLARFT.
func (c *condensed[T]) factorOfBlock(nb int, gram, tau, f []T) {
	const ld = reflectorPanel
	var column [reflectorPanel]T // of gram
	for j := range nb {
		for i := range nb {
			f[i*ld+j] = 0
		}
		for i := range j {
			column[i] = gram[i*ld+j]
		}
		for i := range j {
			f[i*ld+j] = -tau[j] * dotWith(&c.vectors, f[i*ld+i:][:j-i], column[i:j])
		}
		f[j*ld+j] = tau[j]
	}
}

// ReflectorsWork returns the number of elements of scratch that Ormtr, OrmbrQ and OrmbrP need for k reflectors of that order.
func ReflectorsWork(order, k int) int {
	blocks := (k + reflectorPanel - 1) / reflectorPanel
	return blocks * reflectorPanel * (order + reflectorPanel)
}

// applyBlock computes X −= ((X·Vᵀ)·Fᵀ)·V for the m×cols matrix X and the nb rows of V, whose elements are contiguous. Rows
// of y and z, which are scratch, are ld elements apart.
func (c *condensed[T]) applyBlock(m, nb, cols int, v, f []T, ldf int, x []T, ldx int, y, z []T, ld int, work []T) {
	c.Gemm(blas.NoTrans, blas.Trans, m, nb, cols, 1, x, ldx, v, cols, 0, y, ld, work)
	c.Gemm(blas.NoTrans, blas.Trans, m, nb, nb, 1, y, ld, f, ldf, 0, z, ld, work)
	c.Gemm(blas.NoTrans, blas.NoTrans, m, cols, nb, -1, z, ld, v, cols, 1, x, ldx, work)
}
