package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Safe returns the smallest number whose square, divided by the square of the unit roundoff, is a
// normal number of T. Between Safe and its reciprocal squares neither over- nor underflow.
func Safe[T scalar.Real]() float64 { return math.Sqrt(scalar.SafeMin[T]()) / scalar.Eps[T]() }

// Scale returns a factor for numbers whose largest magnitude is most: the power of two that makes it about 1. It
// returns 1 if most is zero, or is between low and 1/low already. The factor and its reciprocal are normal numbers.
func Scale[T scalar.Real](most, low float64) T {
	if most == 0 || most > low && most < 1/low {
		return 1
	}
	_, exp := math.Frexp(most)
	limit := scalar.Pick[T](126, 1022) // the least exponent of a normal number is -limit
	return T(math.Ldexp(1, -max(min(exp, limit), -limit)))
}

// ScaleFor is [Scale] for the elements d and e of a matrix.
func ScaleFor[T scalar.Real](d, e []T, low float64) T {
	most := T(0)
	for _, x := range [][]T{d, e} {
		for _, y := range x {
			most = max(most, abs(y))
		}
	}
	return Scale[T](float64(most), low)
}

// Multiply computes x = s·x.
func Multiply[T scalar.Real](x []T, s T) {
	if s == 1 {
		return
	}
	for i := range x {
		x[i] *= s
	}
}
