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
	// reflectorRows is the number of rows to which one part applies them.
	reflectorRows = 256
)

// larfg overwrites x with the vector v of the reflector H = I − tau·v·vᵀ for which H·x = (beta, 0, …, 0). It does not
// store v(0), which is 1: the first element of x is undefined afterwards. x has at least one element.
//
// Reference: LAPACK xLARFG.
func (c *condensed[T]) larfg(x []T) (tau, beta T) {
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

// subtract computes y −= Mᵀ·x for the m×n matrix M. Its rows are ld elements apart, and the elements of x are inc
// apart.
func (c *condensed[T]) subtract(m, n int, a, x []T, ld, inc int, y []T) {
	matVec[T]{alpha: -1, m: a, ld: ld, x: x, xInc: inc, y: y, yInc: 1, vectors: c.vectors}.columns(m, n)
}

// products computes y += M·x for the m×n matrix M, whose rows are ld elements apart.
func (c *condensed[T]) products(m, n int, a []T, ld int, x, y []T) {
	matVec[T]{alpha: 1, m: a, ld: ld, x: x, xInc: 1, y: y, yInc: 1, vectors: c.vectors}.rows(m, n)
}

// stripColumns computes y += Mᵀ·x for the m×n matrix M, whose rows are ld elements apart, strip by strip: it reads
// memory in the order that stripRows does. first is the column of the whole matrix in which M begins; strips begin at
// multiples of their width there, for the sake of cache lines.
func (c *condensed[T]) stripColumns(first, m, n int, a []T, ld int, x, y []T) {
	if c.vectors.StripColumns == nil || m == 0 {
		matVec[T]{alpha: 1, m: a, ld: ld, x: x, xInc: 1, y: y, yInc: 1, vectors: c.vectors}.columns(m, n)
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

// applyReflectors multiplies X, the identity if that is set, by the k reflectors with the vectors in and the factors tau.
func (t *condensed[T]) applyReflectors(rows, order, k int, in vectorsIn[T], identity bool, tau, x []T, ldx int, work []T) {
	checkMatrix(rows, order, len(x), ldx)
	switch {
	case rows == 0 || k == 0:
	case order <= reflectorLoop:
		t.applyAlone(rows, order, k, in, tau, x, ldx, work)
	case order <= reflectorPairs && t.few(order):
		t.applyPairs(rows, order, k, in, tau, x, ldx, work)
	default:
		t.applyBlocks(rows, order, k, in, identity, tau, x, ldx, work)
	}
}

// applyBlocks is applyReflectors by block reflectors. It stands alone as its variables are on the heap.
func (t *condensed[T]) applyBlocks(rows, order, k int, in vectorsIn[T], identity bool, tau, x []T, ldx int, work []T) {
	offset, panel := in.offset, reflectorPanel
	if k <= 4*reflectorFew {
		panel = reflectorFew
	}
	blocks := (k + panel - 1) / panel
	size := panel * (order + reflectorPanel)
	blockAt := func(b int) (first, nb, cols int, v, f []T) {
		first = b * panel
		s := work[b*size:][:size]
		return first, min(panel, k-first), order - first - offset, s[:panel*order], s[panel*order:]
	}
	t.crew(blocks, reflectorPanel*reflectorPanel+t.Work(order), func(b, _ int, work []T) {
		first, nb, cols, v, f := blockAt(b)
		in.copy(first, nb, cols, v)
		gram, work := work[:reflectorPanel*reflectorPanel], work[reflectorPanel*reflectorPanel:]
		t.Gemm(blas.NoTrans, blas.Trans, nb, nb, cols, 1, v, cols, v, cols, 0, gram, reflectorPanel, work)
		t.factorOfBlock(nb, gram, tau[first:first+nb], f)
	})
	parts := (rows + reflectorRows - 1) / reflectorRows
	t.crew(parts, 2*reflectorPanel*reflectorRows+t.Work(max(reflectorRows, order)), func(part, _ int, work []T) {
		i := part * reflectorRows
		m := min(reflectorRows, rows-i)
		y, work := work[:reflectorPanel*m], work[reflectorPanel*m:]
		z, work := work[:reflectorPanel*m], work[reflectorPanel*m:]
		for b := blocks - 1; b >= 0 && !t.stopped(); b-- {
			first, nb, cols, v, f := blockAt(b)
			if identity && first+offset >= i+m {
				continue // these rows have zeros where the reflectors have elements
			}
			t.applyBlock(m, nb, cols, v, f, reflectorPanel, x[i*ldx+first+offset:], ldx, y, z, reflectorPanel, work)
		}
	})
}

// applyAlone is applyReflectors by one reflector after the other, for vectors of a few elements.
func (t *condensed[T]) applyAlone(rows, order, k int, in vectorsIn[T], tau, x []T, ldx int, work []T) {
	for i := k - 1; i >= 0; i-- {
		if tau[i] == 0 {
			continue
		}
		first := i + in.offset
		v := work[:order-first]
		in.copy(i, 1, len(v), v)
		for r := range rows {
			row, s := x[r*ldx+first:][:len(v)], T(0)
			for j, y := range v {
				s += y * row[j]
			}
			s *= tau[i]
			for j, y := range v {
				row[j] -= s * y
			}
		}
	}
}

// applyPairs is applyReflectors by two reflectors at a time, for a matrix in the first-level cache. With y = X·v and
// z = X·w,
//
//	X·(I − τ·v·vᵀ)·(I − σ·w·wᵀ) = X − τ·y·vᵀ − σ·(z − τ·(vᵀ·w)·y)·wᵀ.
//
// The bits of a row do not depend on how many rows there are.
func (t *condensed[T]) applyPairs(rows, order, k int, in vectorsIn[T], tau, x []T, ldx int, work []T) {
	if rows < pairRows {
		more := work[:pairRows*order]
		clear(more[rows*order:])
		for r := range rows {
			copy(more[r*order:][:order], x[r*ldx:])
		}
		t.applyPairs(pairRows, order, k, in, tau, more, order, work[len(more):])
		for r := range rows {
			copy(x[r*ldx:][:order], more[r*order:])
		}
		return
	}
	y, z, work := work[:rows], work[rows:2*rows], work[2*rows:]
	for i := k; i > 0; i -= 2 {
		nb := min(i, 2)
		first := i - nb
		cols := order - first - in.offset
		in.copy(first, nb, cols, work)
		w, v, sigma := work[:cols], work[cols:2*cols], tau[first]
		if nb == 1 { // the last one of an odd number
			clear(v)
		}
		part := x[first+in.offset:]
		t.mulVec(rows, cols, part, ldx, w, z)
		if nb == 2 {
			t.mulVec(rows, cols, part, ldx, v, y)
			scalWith(&t.vectors, tau[i-1], y)
			axpyWith(&t.vectors, -dotWith(&t.vectors, v, w), y, z)
		} else {
			clear(y)
		}
		scalWith(&t.vectors, sigma, z)
		t.ger2(rows, cols, part, ldx, y, v, z, w)
	}
}

// vectorsIn is where a reduction has left the vectors of its reflectors. Vector i is zero before element i+offset, which
// is 1 and is not stored. The elements after that lie in row i of a, or in column i.
type vectorsIn[T Element] struct {
	a       []T
	lda     int
	offset  int
	columns bool
}

// copy copies vectors first to first+nb−1 to v, as rows of cols elements, without the elements in which all of them are
// zero.
func (in *vectorsIn[T]) copy(first, nb, cols int, v []T) {
	a := in.a[first*in.lda+first:]
	if in.columns {
		for j := range cols {
			row := a[(in.offset+j)*in.lda:][:nb]
			for i := range min(nb, j) {
				v[i*cols+j] = row[i]
			}
			if j < nb {
				v[j*cols+j] = 1
				for i := j + 1; i < nb; i++ {
					v[i*cols+j] = 0
				}
			}
		}
		return
	}
	for i := range nb {
		row := v[i*cols:][:cols]
		clear(row[:i])
		row[i] = 1
		copy(row[i+1:], a[i*in.lda+i+in.offset+1:][:cols-i-1])
	}
}

// applyBlock computes X −= ((X·Vᵀ)·Fᵀ)·V for the m×cols matrix X and the nb rows of V, whose elements are contiguous. Rows
// of y and z, which are scratch, are ld elements apart.
func (t *condensed[T]) applyBlock(m, nb, cols int, v, f []T, ldf int, x []T, ldx int, y, z []T, ld int, work []T) {
	t.Gemm(blas.NoTrans, blas.Trans, m, nb, cols, 1, x, ldx, v, cols, 0, y, ld, work)
	t.Gemm(blas.NoTrans, blas.Trans, m, nb, nb, 1, y, ld, f, ldf, 0, z, ld, work)
	t.Gemm(blas.NoTrans, blas.NoTrans, m, cols, nb, -1, z, ld, v, cols, 1, x, ldx, work)
}
