package krylov

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/internal/vector"
)

// vectorsOf returns the vectors for an iteration with a: those of a if it is a Keeper, or else memory.
func vectorsOf(ctx context.Context, a Operator) (Vectors, error) {
	if h, ok := a.(Keeper); ok {
		if v, err := h.Vectors(ctx, a); v != nil || err != nil {
			return v, err
		}
	}
	return &memory{ctx: ctx, a: a}, nil
}

// memory implements [Vectors] by slices.
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

// norm returns ‖x‖ and its square. The square may be out of range although ‖x‖ is not.
func norm(s Vectors, x Vector) (norm, square float64, err error) {
	norm, exp, square, err := measure(s, x)
	return math.Ldexp(norm, exp), square, err
}

// measure returns ‖x‖ = norm·2^exp and its square. If the sum of squares overflows or nearly vanishes, it
// computes norm from a scaled x. norm is finite if the elements are; ‖x‖ and the square may overflow.
func measure(s Vectors, x Vector) (norm float64, exp int, square float64, err error) {
	if square, err = s.Dot(x, x, 1); err != nil {
		return 0, 0, 0, err
	}
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
			return 0, 0, 0, err
		}
	}
	return math.Sqrt(norm), exp, square, nil
}
