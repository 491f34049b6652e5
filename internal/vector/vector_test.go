package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDot: whatever the parts, the bits are those of the whole, near to the exact sum.
func TestDot(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 1000, 4096, 5000} {
		x, y := make([]float64, n), make([]float64, n)
		exact, all := 0.0, 0.0
		for i := range x {
			x[i], y[i] = rnd.NormFloat64(), rnd.NormFloat64()
			exact, all = math.FMA(x[i], y[i], exact), all+math.Abs(x[i]*y[i])
		}
		for _, scale := range []float64{1, 0x1p-300, 0x1p300, 0.3} {
			want := Dot(x, y, scale)
			if d := want/scale/scale - exact; math.Abs(d) > 1e-14*all {
				t.Errorf("%d elements, scale %v: off by %v", n, scale, d)
			}
			for range 40 {
				var s Sum
				for at := 0; at < n; {
					size := 1 + rnd.IntN(n-at)
					if rnd.IntN(3) == 0 {
						size = min(size, rnd.IntN(100))
					}
					part := make([]float64, Len(at, size))
					Part(part, at, x[at:at+size], y[at:at+size], scale)
					s.Add(size, part)
					if at += size; len(part) > 2*chunk+2*14 {
						t.Fatalf("%d numbers of %d elements", len(part), size)
					}
				}
				if got := s.Total(); got != want {
					t.Fatalf("%d elements, scale %v: %v in parts, %v as a whole", n, scale, got, want)
				}
			}
		}
	}
}

func TestAdd(t *testing.T) {
	for _, alpha := range []float64{1, -1, 0.5} {
		for _, beta := range []float64{0, 1, 3} {
			x, y := []float64{1, -2, 0.25}, []float64{4, 0, math.Inf(1)}
			if beta == 0 {
				y[1] = math.NaN() // is not read
			}
			want := []float64{alpha + beta*4, -2 * alpha, math.Inf(1)}
			if beta == 0 {
				want[2] = 0.25 * alpha
			}
			Add(alpha, x, beta, y)
			for i := range y {
				if y[i] != want[i] {
					t.Errorf("α %v, β %v: %v, want %v", alpha, beta, y, want)
				}
			}
		}
	}
}
