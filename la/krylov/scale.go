package krylov

import "math"

// The iterations square and divide numbers. If elements of A or b are near the ends of the range of float64,
// the iterations multiply A and b by powers of two, which rounds nothing:
//
//	(2^−a·A) · (2^(a−b)·x) = 2^−b·b
//
// So the iterations compute the same numbers, up to these powers, whatever the sizes of A and b are. Only
// the final x, and the norms that are reported, may be out of range.

// comfort bounds the exponents of the norms of A and b that are not scaled. With it, the product of A and the
// square of a residual of 2^−250·‖b‖ is still in range.
const comfort = 100

// unit returns the exponent by which a norm with exponent exp is scaled down to about 1. It returns 0 if the
// norm need not be scaled.
func unit(exp int) int {
	if exp >= -comfort && exp <= comfort {
		return 0
	}
	return exp
}

// magnitude returns ‖x‖ = norm·2^exp for a vector in memory, with ½ ≤ norm < 1. norm is 0 if x is zero, and
// an infinity or NaN if x has such elements.
func magnitude(x []float64) (norm float64, exp int) {
	norm, exp, _ = measure(&memory{all: [][]float64{x}}, 0) // in memory nothing fails
	norm, more := math.Frexp(norm)
	return norm, exp + more
}

// times computes y = 2^exp·x. y may be x.
func times(s Vectors, exp int, x, y Vector) {
	const most = 1000
	// The largest steps come last, so that a number that becomes subnormal is rounded once.
	step := exp % most
	s.Axpby(math.Ldexp(1, step), x, 0, y)
	for exp -= step; exp != 0; exp -= step {
		step = max(-most, min(most, exp))
		s.Axpby(math.Ldexp(1, step), y, 0, y)
	}
}

// scaled is [Vectors] whose products are those of 2^−exp·A.
type scaled struct {
	Vectors
	exp int
	x   [2]Vector // the scaled x: n elements for A, and m for Aᵀ
}

// newScaled returns vectors for an m×n A.
func newScaled(s Vectors, m, n int) *scaled {
	t := &scaled{Vectors: s}
	t.x[0] = s.New(n)
	if t.x[1] = t.x[0]; m != n {
		t.x[1] = s.New(m)
	}
	return t
}

// MulVecTo implements [Vectors]. It applies half of the power of two before the product and half after it, so
// that neither the scaled x nor the product leaves the range.
func (s *scaled) MulVecTo(dst Vector, trans bool, x Vector) error {
	t := s.x[0]
	if trans {
		t = s.x[1]
	}
	before := -s.exp / 2
	s.Axpby(math.Ldexp(1, before), x, 0, t)
	if err := s.Vectors.MulVecTo(dst, trans, t); err != nil {
		return err
	}
	s.Axpby(math.Ldexp(1, -s.exp-before), dst, 0, dst)
	return nil
}
