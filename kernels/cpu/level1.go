package cpu

import (
	"math"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// The routines on single vectors, of elements that follow each other. Vectors of one call have the
// same length, and share no element unless they are the same one. Each routine adds up in an order
// that depends on the length and the instruction set.
//
// Reference: BLAS level 1.

// level1 are the routines of an instruction set, without functions if there is none.
func (p *Packed[T]) level1() *isa.Vectors[T] {
	if p.kernels != nil {
		return &p.kernels.Vectors
	}
	return new(isa.Vectors[T])
}

// Dot returns Σ x·y.
func (p *Packed[T]) Dot(x, y []T) (s T) {
	y = y[:len(x)]
	if k := p.kernels; k != nil && k.Dot != nil && len(x) > 0 { // not by dotWith, whose call takes time
		k.Dot(len(x), isa.Hide(&x[0]), isa.Hide(&y[0]), isa.Hide(&s))
		return s
	}
	return dot(x, y)
}

func dotWith[T Element](v *isa.Vectors[T], x, y []T) (s T) {
	if v.Dot != nil && len(x) > 0 {
		v.Dot(len(x), isa.Hide(&x[0]), isa.Hide(&y[0]), isa.Hide(&s))
		return s
	}
	return dot(x, y)
}

// Axpy computes y += alpha·x.
func (p *Packed[T]) Axpy(alpha T, x, y []T) {
	y = y[:len(x)]
	if k := p.kernels; k != nil && k.Axpy != nil && len(x) > 0 { // not by axpyWith, whose call takes time
		k.Axpy(len(x), isa.Hide(&x[0]), isa.Hide(&y[0]), isa.Hide(&alpha))
		return
	}
	axpyWith(new(isa.Vectors[T]), alpha, x, y)
}

func axpyWith[T Element](v *isa.Vectors[T], alpha T, x, y []T) {
	if v.Axpy != nil && len(x) > 0 {
		v.Axpy(len(x), isa.Hide(&x[0]), isa.Hide(&y[0]), isa.Hide(&alpha))
		return
	}
	y = y[:len(x)] // no checks in the loop
	for i, xi := range x {
		y[i] += alpha * xi
	}
}

// Scal computes x = alpha·x.
func (p *Packed[T]) Scal(alpha T, x []T) { scalWith(p.level1(), alpha, x) }

func scalWith[T Element](v *isa.Vectors[T], alpha T, x []T) {
	if v.Scal != nil && len(x) > 0 {
		v.Scal(len(x), isa.Hide(&x[0]), isa.Hide(&alpha))
		return
	}
	for i := range x {
		x[i] *= alpha
	}
}

// Rot applies a plane rotation: x, y = c·x + s·y, c·y − s·x.
func (p *Packed[T]) Rot(x, y []T, c, s T) { rotWith(p.level1(), x, y, c, s) }

func rotWith[T Element](v *isa.Vectors[T], x, y []T, c, s T) {
	y = y[:len(x)]
	if v.Rot != nil && len(x) > 0 {
		v.Rot(len(x), isa.Hide(&x[0]), isa.Hide(&y[0]), isa.Hide(&c), isa.Hide(&s))
		return
	}
	for i, xi := range x {
		x[i], y[i] = c*xi+s*y[i], c*y[i]-s*xi
	}
}

// Asum returns Σ |x|.
func (p *Packed[T]) Asum(x []T) (s T) {
	if v := p.level1(); v.Asum != nil && len(x) > 0 {
		v.Asum(len(x), isa.Hide(&x[0]), isa.Hide(&s))
		return s
	}
	for _, xi := range x {
		s += T(math.Abs(float64(xi)))
	}
	return s
}

// amaxBlock is the number of elements among which Iamax looks for the greatest magnitude that the
// kernel has found: they are in the first-level cache.
const amaxBlock = 128

// Iamax returns the first index of the greatest magnitude. A NaN in front is the greatest one, others
// are left out: comparisons with NaN are false. It returns −1 if x is empty.
func (p *Packed[T]) Iamax(x []T) int {
	if len(x) == 0 {
		return -1
	}
	if x[0] != x[0] {
		return 0
	}
	v := p.level1()
	if v.Amax == nil {
		return firstGreatest(x)
	}
	block, most := 0, T(-1)
	for at := 0; at < len(x); at += amaxBlock {
		var m T
		v.Amax(min(amaxBlock, len(x)-at), isa.Hide(&x[at]), isa.Hide(&m))
		if m > most {
			block, most = at, m
		}
	}
	for i, xi := range x[block:] {
		if xi == most || xi == -most {
			return block + i
		}
	}
	return 0
}

// firstGreatest is Iamax without a kernel.
func firstGreatest[T Element](x []T) (at int) {
	most := T(-1)
	for i, xi := range x {
		if m := T(math.Abs(float64(xi))); m > most {
			at, most = i, m
		}
	}
	return at
}

// Sums of squares between these bounds have lost nothing that counts to overflow or underflow: a
// square that vanishes is below 2⁻¹⁰⁷⁴, and 2³² of them change a sum of 2⁻⁹⁶⁰ by 2⁻⁸².
const (
	leastSquares = 0x1p-960
	mostSquares  = 0x1p1020
)

// Nrm2 returns √(Σ x²). It neither overflows nor underflows unless the result does. The result is
// NaN if x has one, else +Inf if x has an infinity.
func (p *Packed[T]) Nrm2(x []T) T {
	if k := p.kernels; k != nil && k.SumSquares != nil && len(x) > 0 { // not by nrm2With, whose call takes time
		var s float64
		k.SumSquares(len(x), isa.Hide(&x[0]), isa.Hide(&s))
		if s >= leastSquares && s <= mostSquares {
			return T(math.Sqrt(s))
		}
	}
	return T(nrm2With(p.level1(), x))
}

func nrm2With[T Element](v *isa.Vectors[T], x []T) float64 {
	var s float64
	switch {
	case len(x) == 0:
		return 0
	case v.SumSquares != nil:
		v.SumSquares(len(x), isa.Hide(&x[0]), isa.Hide(&s))
	default:
		for _, xi := range x {
			s += float64(xi) * float64(xi)
		}
	}
	if s >= leastSquares && s <= mostSquares {
		return math.Sqrt(s)
	}
	return scaledNorm(x)
}

// scaledNorm is Nrm2 for magnitudes whose squares overflow or vanish.
func scaledNorm[T Element](x []T) float64 {
	most, nan := 0.0, false
	for _, xi := range x {
		most, nan = max(most, math.Abs(float64(xi))), nan || xi != xi
	}
	switch {
	case nan:
		return math.NaN()
	case most == 0 || math.IsInf(most, 1):
		return most
	}
	_, exp := math.Frexp(most)
	up, s := math.Ldexp(1, -exp/2), 0.0
	rest := math.Ldexp(1, -exp-(-exp/2)) // 2⁻ᵉ in two factors, as it may not be a number
	for _, xi := range x {
		v := float64(xi) * up * rest
		s += v * v
	}
	return math.Ldexp(math.Sqrt(s), exp)
}
