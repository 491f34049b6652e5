package bidiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// negate computes x = −x.
func negate[T scalar.Real](x []T) {
	for i := range x {
		x[i] = -x[i]
	}
}

// abs returns the absolute value of x.
func abs[T scalar.Real](x T) T { return T(math.Abs(float64(x))) }

// sign returns the absolute value of a with the sign of b.
func sign[T scalar.Real](a, b T) T { return T(math.Copysign(float64(a), float64(b))) }
