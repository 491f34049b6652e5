package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// laev2 returns the eigenvalues of the symmetric matrix (a b; b c), the one of larger magnitude first, and the unit
// vector (cs, sn) of that, with the sign that LAPACK gives it. b is not zero. The first eigenvalue is accurate to a few
// units in the last place, the second one as far as a·c − b² is.
//
// Reference: LAPACK xLAEV2.
func laev2[T scalar.Real](a, b, c T) (first, second, cs, sn T) {
	x, y, z := float64(a), float64(b), float64(c)
	if most := max(math.Abs(x), math.Abs(y), math.Abs(z)); most < 0x1p-400 || most > 0x1p400 {
		_, exp := math.Frexp(most)
		scale := math.Ldexp(1, exp/2) // the root of the factor, since the factor itself may be denormal
		x, y, z := x/scale/scale, y/scale/scale, z/scale/scale
		large, small, cs, sn := laev2(x, y, z)
		return T(large * scale * scale), T(small * scale * scale), T(cs), T(sn)
	}
	sum, difference := x+z, x-z
	root := math.Sqrt(difference*difference + 4*y*y)
	more, less := x, z // by magnitude
	if math.Abs(x) < math.Abs(z) {
		more, less = z, x
	}
	large, small := root/2, -root/2
	if sum != 0 {
		large = (sum + math.Copysign(root, sum)) / 2
		small = more/large*less - y/large*y
	}
	// (difference ± root, 2·b) is the vector of the eigenvalue (sum ± root)/2. With the sign of the difference nothing is
	// cancelled.
	u, v := difference-root, 2*y
	if difference >= 0 {
		u = difference + root
	}
	h := math.Sqrt(u*u + v*v)
	if math.Abs(u) > math.Abs(v) {
		h = math.Copysign(h, -u)
	} else {
		h = math.Copysign(h, v)
	}
	u, v = u/h, v/h
	if (difference >= 0) != (sum >= 0) {
		u, v = v, -u
	}
	return T(large), T(small), T(u), T(v)
}
