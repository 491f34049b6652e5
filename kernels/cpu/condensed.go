package cpu

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// condensed is the common part of the reductions to condensed forms, tridiagonal and bidiagonal.
type condensed[T Element] struct {
	Routines[T]
	crew    Crew[T]
	vectors isa.Vectors[T]
}

// newCondensed returns the common part for a set of routines and a crew. Without a crew, the caller's goroutine does
// all parts.
func newCondensed[T Element](r Routines[T], crew Crew[T]) condensed[T] {
	c := condensed[T]{Routines: r, crew: crew}
	if crew == nil {
		c.crew = func(parts, work int, f func(part, parts int, work []T)) {
			scratch := make([]T, work)
			for i := range parts {
				f(i, parts, scratch)
			}
		}
	}
	if p, ok := r.(*Packed[T]); ok && p.kernels != nil {
		c.vectors = p.kernels.Vectors
	}
	return c
}

const (
	// reflectorPanel is the number of reflectors that are applied as one block reflector.
	reflectorPanel = 64
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
	beta = T(-math.Copysign(math.Hypot(float64(alpha), norm), float64(alpha)))
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

// factorOfBlock sets f to the upper triangular nb×nb factor T of a block reflector,
//
//	H(0)·…·H(nb−1) = I − Vᵀ·T·V,
//
// where the rows of V are the vectors of the reflectors H, tau are their factors, and gram is V·Vᵀ. Rows of f and gram
// are reflectorPanel elements apart.
//
// Reference: LAPACK xLARFT.
func factorOfBlock[T Element](nb int, gram, tau, f []T) {
	const ld = reflectorPanel
	for j := range nb {
		for i := range nb {
			f[i*ld+j] = 0
		}
		for i := range j {
			var s T
			for l := i; l < j; l++ {
				s += f[i*ld+l] * gram[l*ld+j]
			}
			f[i*ld+j] = -tau[j] * s
		}
		f[j*ld+j] = tau[j]
	}
}
