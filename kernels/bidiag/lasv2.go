package bidiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// rotation is a cosine and a sine.
type rotation struct{ c, s float64 }

// lasv2 returns the singular value decomposition of a triangular matrix,
//
//	⎡ cl  sl⎤ ⎡f  g⎤ ⎡cr  −sr⎤   ⎡large    0  ⎤
//	⎣−sl  cl⎦ ⎣0  h⎦ ⎣sr   cr⎦ = ⎣  0    small⎦,
//
// in which large has the larger magnitude. The values may be negative; they are accurate to a few units in the last
// place, and so are the rotations, of which the signs are those of LAPACK. f and h are not zero, and g·f/h neither
// over- nor underflows by much.
//
// Reference: LAPACK xLASV2.
func lasv2[T scalar.Real](f, g, h T) (large, small T, left, right rotation) {
	x, y, z := float64(f), float64(g), float64(h)
	swapped := math.Abs(z) > math.Abs(x)
	if swapped {
		x, z = z, x
	}
	ax, ay, az := math.Abs(x), math.Abs(y), math.Abs(z)
	var most, least float64
	var l, r rotation // of the matrix (x y; 0 z), |x| ≥ |z|
	switch {
	case ay == 0:
		most, least, l, r = ax, az, rotation{1, 0}, rotation{1, 0}
	case ax < scalar.Eps[float64]()*ay: // the larger value is |y| to rounding
		most, least, l, r = ay, ax/ay*az, rotation{1, z / y}, rotation{x / y, 1}
	default:
		d := (ax - az) / ax // 0 … 1
		m := y / x
		t := 2 - d
		p, q := math.Sqrt(t*t+m*m), math.Abs(m)
		if d != 0 {
			q = math.Sqrt(d*d + m*m)
		}
		a := (p + q) / 2
		most, least = ax*a, az/a
		switch {
		case m != 0:
			t = (m/(p+t) + m/(q+d)) * (1 + a)
		case d == 0: // m has underflowed
			t = math.Copysign(2, x) * math.Copysign(1, y)
		default:
			t = y/math.Copysign(ax-az, x) + m/t
		}
		w := math.Sqrt(t*t + 4)
		r = rotation{2 / w, t / w}
		l = rotation{(r.c + r.s*m) / a, z / x * r.s / a}
	}
	if swapped {
		l, r = rotation{r.s, r.c}, rotation{l.s, l.c}
	}
	var sign float64
	switch {
	case ay > ax:
		sign = math.Copysign(1, r.s) * math.Copysign(1, l.c) * math.Copysign(1, y)
	case swapped:
		sign = math.Copysign(1, r.s) * math.Copysign(1, l.s) * math.Copysign(1, x)
	default:
		sign = math.Copysign(1, r.c) * math.Copysign(1, l.c) * math.Copysign(1, x)
	}
	return T(math.Copysign(most, sign)), T(math.Copysign(least, sign*math.Copysign(1, x)*math.Copysign(1, z))), l, r
}
