package tridiag

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLaev2: 2×2 matrices of all exponents have a unit vector, a small residual and the right trace.
func TestLaev2(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		by := math.Ldexp(1, rng.IntN(2040)-1060)
		x := func() float64 {
			return by * math.Ldexp(rng.NormFloat64(), -rng.IntN(60)*rng.IntN(2))
		}
		a, b, c := x(), x(), x()
		if b == 0 {
			continue
		}
		first, second, cs, sn := laev2(a, b, c)
		tol := 8*0x1p-53*max(math.Abs(a), math.Abs(b), math.Abs(c)) + 4*math.SmallestNonzeroFloat64
		if !(math.Abs(cs*cs+sn*sn-1) < 8*0x1p-53) {
			t.Fatalf("(%g %g; %g): (%g, %g) is no unit vector", a, b, c, cs, sn)
		}
		if r, s := a*cs+b*sn-first*cs, b*cs+c*sn-first*sn; !(math.Abs(r) < tol && math.Abs(s) < tol) {
			t.Fatalf("(%g %g; %g): eigenvalue %g with (%g, %g) leaves %g, %g", a, b, c, first, cs, sn, r, s)
		}
		if r := a - first - second + c; !(math.Abs(r) < tol) {
			t.Fatalf("(%g %g; %g): eigenvalues %g and %g", a, b, c, first, second)
		}
		if math.Abs(first) < math.Abs(second)*(1-0x1p-50) {
			t.Fatalf("(%g %g; %g): %g is before %g", a, b, c, first, second)
		}
	}
}
