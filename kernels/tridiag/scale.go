package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// scaleFor returns the power of two that makes the largest element about 1; or 1 if it is between low and
// 1/low already, or if all are zero.
func scaleFor[T scalar.Real](d, e []T, low float64) T {
	most := 0.0
	for _, x := range [][]T{d, e} {
		for _, y := range x {
			most = max(most, math.Abs(float64(y)))
		}
	}
	if most == 0 || most > low && most < 1/low {
		return 1
	}
	_, exp := math.Frexp(most)
	limit := scalar.Pick[T](126, 1022) // so that the reciprocal is finite
	return T(math.Ldexp(1, -max(min(exp, limit), -limit)))
}

// multiply is x = s·x.
func multiply[T scalar.Real](x []T, s T) {
	if s == 1 {
		return
	}
	for i := range x {
		x[i] *= s
	}
}
