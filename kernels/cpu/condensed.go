package cpu

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// condensed is what reductions to condensed forms, tridiagonal and bidiagonal, have in common.
type condensed[T Element] struct {
	Routines[T]
	crew    Crew[T]
	vectors isa.Vectors[T]
}

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
	// reflectorPanel is how many reflectors are applied as one, reflectorRows to how many rows by one part.
	reflectorPanel = 64
	reflectorRows  = 256
)

// larfg makes of x the vector v of a reflector with H·x = (beta, 0, …, 0); v(0), which is 1, is not
// stored.
func larfg[T Element](x []T) (tau, beta T) {
	alpha, most := x[0], T(0)
	for _, e := range x[1:] {
		most = max(most, T(math.Abs(float64(e))))
	}
	if most == 0 {
		return 0, alpha
	}
	scale := T(1)
	if low := T(scalar.SafeMin[T]() / scalar.Eps[T]()); most < low && T(math.Abs(float64(alpha))) < low {
		scale = 1 / low // so that beta has all its bits
		for i := range x {
			x[i] *= scale
		}
		alpha, most = x[0], most*scale
	}
	var sum float64
	for _, e := range x[1:] {
		q := float64(e / most)
		sum += q * q
	}
	beta = T(-math.Copysign(math.Hypot(float64(alpha), float64(most)*math.Sqrt(sum)), float64(alpha)))
	factor := 1 / (alpha - beta)
	if math.IsInf(float64(factor), 0) || factor == 0 {
		for i := range x[1:] {
			x[1+i] /= alpha - beta
		}
	} else {
		for i := range x[1:] {
			x[1+i] *= factor
		}
	}
	return (beta - alpha) / beta, beta / scale
}

// subtract is y −= Mᵀ·x for the m×n matrix M, of which rows are ld apart, and x with elements inc apart.
func (c *condensed[T]) subtract(m, n int, a, x []T, ld, inc int, y []T) {
	matVec[T]{alpha: -1, m: a, ld: ld, x: x, xInc: inc, y: y, yInc: 1, vectors: c.vectors}.columns(m, n)
}

// products is y += M·x for the m×n matrix M, of which rows are ld apart.
func (c *condensed[T]) products(m, n int, a []T, ld int, x, y []T) {
	matVec[T]{alpha: 1, m: a, ld: ld, x: x, xInc: 1, y: y, yInc: 1, vectors: c.vectors}.rows(m, n)
}

// factorOfBlock sets f to the upper triangular T with H(0)·…·H(nb−1) = I − Vᵀ·T·V for rows V, where gram
// is V·Vᵀ.
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
