package bidiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// multiply computes x = s·x.
func multiply[T scalar.Real](x []T, s T) {
	if s == 1 {
		return
	}
	for i := range x {
		x[i] *= s
	}
}

// negate computes x = −x.
func negate[T scalar.Real](x []T) {
	for i := range x {
		x[i] = -x[i]
	}
}

// swap exchanges the elements of two vectors.
func swap[T any](x, y []T) {
	for i := range x {
		x[i], y[i] = y[i], x[i]
	}
}

// abs returns the absolute value of x.
func abs[T scalar.Real](x T) T { return T(math.Abs(float64(x))) }

// sign returns the absolute value of a with the sign of b.
func sign[T scalar.Real](a, b T) T { return T(math.Copysign(float64(a), float64(b))) }
