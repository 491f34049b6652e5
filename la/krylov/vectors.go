package krylov

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/internal/vector"
)

// memory implements [MemoryVectors] by slices.
type memory struct {
	ctx context.Context
	a   Operator
	all [][]float64
}

// New implements [Vectors].
func (m *memory) New(n int) Vector { return m.Load(make([]float64, n)) }

// Load implements [Vectors]. It makes no copy: the iteration works in x itself.
func (m *memory) Load(x []float64) Vector {
	m.all = append(m.all, x)
	return Vector(len(m.all) - 1)
}

// Slice implements [MemoryVectors].
func (m *memory) Slice(x Vector) []float64 { return m.all[x] }

// MulVecTo implements [Vectors].
func (m *memory) MulVecTo(dst Vector, trans bool, x Vector) error {
	return m.a.MulVecTo(m.ctx, m.all[dst], trans, m.all[x])
}

// Axpby implements [Vectors].
func (m *memory) Axpby(alpha float64, x Vector, beta float64, y Vector) {
	vector.Add(alpha, m.all[x], beta, m.all[y])
}

// Dot implements [Vectors].
func (m *memory) Dot(x, y Vector, scale float64) (float64, error) {
	return vector.Dot(m.all[x], m.all[y], scale), nil
}

// Close implements [Vectors]. It need not copy: see Load.
func (m *memory) Close(Vector) error { return nil }

// mulVecDot computes dst = A·x and returns xᵀ·dst, in one pass if the vectors can.
func mulVecDot(s Vectors, dst, x Vector) (float64, error) {
	if f, ok := s.(FusedVectors); ok {
		return f.MulVecDot(dst, x)
	}
	if err := s.MulVecTo(dst, false, x); err != nil {
		return 0, err
	}
	return s.Dot(x, dst, 1)
}

// axpbyDot computes y = αx + βy and returns yᵀ·z, in one pass if the vectors can. z may be y.
func axpbyDot(s Vectors, alpha float64, x Vector, beta float64, y, z Vector) (float64, error) {
	if f, ok := s.(FusedVectors); ok {
		return f.AxpbyDot(alpha, x, beta, y, z)
	}
	s.Axpby(alpha, x, beta, y)
	return s.Dot(y, z, 1)
}

// norm returns ‖x‖ and its square. The square may be out of range although ‖x‖ is not.
func norm(s Vectors, x Vector) (norm, square float64, err error) {
	if square, err = s.Dot(x, x, 1); err != nil {
		return 0, 0, err
	}
	norm, err = root(s, x, square)
	return norm, square, err
}

// root returns ‖x‖ for a known xᵀ·x.
func root(s Vectors, x Vector, square float64) (float64, error) {
	norm, exp, err := scaledRoot(s, x, square)
	return math.Ldexp(norm, exp), err
}

// measure returns ‖x‖ = norm·2^exp. norm is finite if the elements are; ‖x‖ may overflow.
func measure(s Vectors, x Vector) (norm float64, exp int, err error) {
	square, err := s.Dot(x, x, 1)
	if err != nil {
		return 0, 0, err
	}
	return scaledRoot(s, x, square)
}

// scaledRoot returns ‖x‖ = norm·2^exp for a known xᵀ·x. If that overflows or nearly vanishes, it computes norm
// from a scaled x.
func scaledRoot(s Vectors, x Vector, square float64) (norm float64, exp int, err error) {
	scale := 1.0
	switch {
	case square >= 0x1p1000:
		scale, exp = 0x1p-600, 600
	case square <= 0x1p-900:
		scale, exp = 0x1p600, -600
	}
	norm = square
	if exp != 0 {
		if norm, err = s.Dot(x, x, scale); err != nil {
			return 0, 0, err
		}
	}
	return math.Sqrt(norm), exp, nil
}
