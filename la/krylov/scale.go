package krylov

import "math"

// Iterations square and divide. Where the elements of A or b are near the ends of the range they work
// with others in their place, which are those times powers of two, so that nothing is rounded:
//
//	(2^−a·A) · (2^(a−b)·x) = 2^−b·b
//
// The numbers that the iterations make are then the same, up to these powers, whatever the sizes of A
// and b are. What is small or large in the end are x, and the norms that are reported.

// comfort is the exponent of the norms of A and b up to which nothing is scaled. Squares of residuals
// that are 2^−250 of b, times A, are then still in the range.
const comfort = 100

// unit returns the power of two to take a norm of that exponent for 1, 0 if it can stay as it is.
func unit(exp int) int {
	if exp >= -comfort && exp <= comfort {
		return 0
	}
	return exp
}

// magnitude returns ‖x‖ = norm·2^exp of a vector in memory, with a norm from ½ to 1. It is 0 if x is,
// and an infinity or NaN if x has such elements.
func magnitude(x []float64) (norm float64, exp int) {
	norm, exp, _, _ = measure(&memory{all: [][]float64{x}}, 0) // in memory nothing fails
	norm, more := math.Frexp(norm)
	return norm, exp + more
}

// times computes y = 2^exp·x. y may be x.
func times(s Vectors, exp int, x, y Vector) {
	const most = 1000
	// The largest steps come last: what becomes subnormal is rounded once.
	step := exp % most
	s.Axpby(math.Ldexp(1, step), x, 0, y)
	for exp -= step; exp != 0; exp -= step {
		step = max(-most, min(most, exp))
		s.Axpby(math.Ldexp(1, step), y, 0, y)
	}
}

// probe computes y = A·x, or Aᵀ·x if trans is set, for an x whose norm is near 1, and decides by the
// norm of y which power of two A has: products of the vectors that it returns are those of
// 2^−exp·A, and so is y. ok is false if y is not finite at any scale.
func probe(s Vectors, y Vector, trans bool, x Vector, m, n int) (a Vectors, exp int, ok bool, err error) {
	var t *scaled
	product := func(by int) (norm float64, exp int, err error) {
		if a = s; by != 0 {
			if t == nil {
				t = newScaled(s, m, n)
			}
			t.exp, a = by, t
		}
		if err = a.MulVecTo(y, trans, x); err != nil {
			return 0, 0, err
		}
		norm, exp, _, err = measure(a, y)
		norm, more := math.Frexp(norm)
		return norm, by + exp + more, err
	}
	norm, exp, err := product(0)
	if err == nil && (norm == 0 || !finite(norm)) {
		// What vanishes or overflows at one end of the range does neither at the other one.
		if norm == 0 {
			norm, exp, err = product(-1000)
		} else {
			norm, exp, err = product(1000)
		}
	}
	switch {
	case err != nil || !finite(norm):
		return nil, 0, false, err
	case norm == 0:
		return s, 0, true, nil // x is in A's null space
	}
	if exp = unit(exp); exp != 0 {
		_, _, err = product(exp)
	} else {
		a = s
	}
	return a, exp, true, err
}

// scaled is [Vectors] whose products are those of 2^−exp·A.
type scaled struct {
	Vectors
	exp int
	x   [2]Vector // what A is multiplied by, of n elements, and of m for Aᵀ
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

// MulVecTo implements [Vectors]. Half of the power of two goes to each side of the product, so that
// neither what A is multiplied by nor the product leaves the range.
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
