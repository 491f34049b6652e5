package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/internal/sorted"
)

// TestLevel1: the portable code and every instruction set agree with sums in float64, for all lengths
// around those of vectors and of turns, at any address; what lies beside the vectors stays.
func TestLevel1(t *testing.T) {
	t.Run("float64", testLevel1[float64])
	t.Run("float32", testLevel1[float32])
}

func testLevel1[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	eps := 0x1p-52
	if unsafe.Sizeof(T(0)) == 4 {
		eps = 0x1p-23
	}
	all := natives[T](Caches{})
	all["go"] = Portable[T]()
	for name, p := range sorted.Map(all) {
		for n := range 200 {
			at := rnd.IntN(9)
			x, y := randomSlice[T](n + at + 3)[at:][:n+3], randomSlice[T](n + at + 5)[at:][:n+3]
			for i := n; i < n+3; i++ { // behind the vectors
				x[i], y[i] = T(math.NaN()), T(math.NaN())
			}
			alpha, c, s := T(rnd.NormFloat64()), T(math.Cos(1)), T(math.Sin(1))
			var dot, dots, asum, squares float64
			for i := range n {
				a, b := float64(x[i]), float64(y[i])
				dot, dots, asum, squares = dot+a*b, dots+math.Abs(a*b), asum+math.Abs(a), squares+a*a
			}
			near := func(what string, got T, want, magnitude float64) {
				if d := math.Abs(float64(got) - want); !(d <= eps*(float64(n)+2)*magnitude) {
					t.Fatalf("%s: %s of %d elements: %v, want %v", name, what, n, got, want)
				}
			}
			near("dot", p.Dot(x[:n], y[:n]), dot, dots)
			near("asum", p.Asum(x[:n]), asum, asum)
			near("nrm2", p.Nrm2(x[:n]), math.Sqrt(squares), math.Sqrt(squares))
			if got, want := p.Iamax(x[:n]), firstGreatest(x[:n]); got != want && n > 0 || n == 0 && got != -1 {
				t.Fatalf("%s: iamax of %d elements: %d, want %d", name, n, got, want)
			}
			change := func(what string, f func(x, y []T), want func(x, y float64) (float64, float64)) {
				gx, gy := slices.Clone(x), slices.Clone(y)
				f(gx[:n], gy[:n])
				for i := range n {
					wx, wy := want(float64(x[i]), float64(y[i]))
					m := math.Abs(float64(x[i])) + math.Abs(float64(y[i]))
					near(what, gx[i], wx, 2*m)
					near(what, gy[i], wy, 2*m)
				}
				for i := n; i < n+3; i++ {
					if gx[i] == gx[i] || gy[i] == gy[i] {
						t.Fatalf("%s: %s of %d elements has written behind them", name, what, n)
					}
				}
			}
			change("axpy", func(x, y []T) { p.Axpy(alpha, x, y) },
				func(x, y float64) (float64, float64) { return x, y + float64(alpha)*x })
			change("scal", func(x, y []T) { p.Scal(alpha, x) },
				func(x, y float64) (float64, float64) { return float64(alpha) * x, y })
			change("rot", func(x, y []T) { p.Rot(x, y, c, s) },
				func(x, y float64) (float64, float64) { return float64(c)*x + float64(s)*y, float64(c)*y - float64(s)*x })
		}
	}
}

// TestLevel1Extremes: norms of magnitudes whose squares overflow or vanish, NaN and infinities, and which of
// equal magnitudes is the greatest.
func TestLevel1Extremes(t *testing.T) {
	all := natives[float64](Caches{})
	all["go"] = Portable[float64]()
	nan, inf := math.NaN(), math.Inf(1)
	for name, p := range all {
		for _, scale := range []float64{1e-320, 1e-300, 0x1p-480, 1e-150, 1, 1e150, 0x1p510, 1e300} {
			x := make([]float64, 37)
			for i := range x {
				x[i] = 3 * scale
			}
			x[7] = -4 * scale
			want := math.Sqrt(36*9+16) * scale
			if got := p.Nrm2(x); math.Abs(got-want) > 1e-14*want+5e-324 {
				t.Errorf("%s: norm at %g: %g, want %g", name, scale, got, want)
			}
		}
		for _, c := range []struct {
			x    []float64
			want float64
		}{{nil, 0}, {make([]float64, 40), 0}, {[]float64{1, inf, 2}, inf}, {[]float64{-inf, nan}, nan}, {[]float64{nan, 1}, nan}} {
			if got := p.Nrm2(c.x); got != c.want && !(got != got && c.want != c.want) {
				t.Errorf("%s: norm of %v: %g, want %g", name, c.x, got, c.want)
			}
		}
		for _, n := range []int{1, 5, 30, 1000, 3000} {
			x := make([]float64, n)
			for i := range x {
				x[i] = nan
			}
			if got := p.Iamax(x); got != 0 {
				t.Errorf("%s: iamax of %d NaN: %d", name, n, got)
			}
			x[0] = 0
			if got := p.Iamax(x); got != 0 {
				t.Errorf("%s: iamax of a zero and NaN: %d", name, got)
			}
			x[n-1], x[n/2] = -3, 3
			if got := p.Iamax(x); got != n/2 {
				t.Errorf("%s: iamax of equal magnitudes: %d, want %d of %d", name, got, n/2, n)
			}
		}
	}
	one := natives[float32](Caches{})
	one["go"] = Portable[float32]()
	for name, p := range one {
		for _, scale := range []float32{1e-45, 1e-38, 1, 1e37} {
			x := []float32{3 * scale, 0, -4 * scale}
			if got, want := p.Nrm2(x), 5*scale; math.Abs(float64(got-want)) > 1e-6*float64(want) {
				t.Errorf("%s: norm in float32 at %g: %g, want %g", name, scale, got, want)
			}
		}
	}
}

func BenchmarkLevel1(b *testing.B) {
	p := Fastest[float64](Caches{})
	for _, n := range []int{100, 1000, 4096} {
		x, y := randomSlice[float64](n), randomSlice[float64](n)
		for name, f := range map[string]func(){
			"dot": func() { p.Dot(x, y) }, "axpy": func() { p.Axpy(1e-9, x, y) }, "nrm2": func() { p.Nrm2(x) },
			"asum": func() { p.Asum(x) }, "iamax": func() { p.Iamax(x) }, "scal": func() { p.Scal(1, x) },
			"rot": func() { p.Rot(x, y, 0.8, 0.6) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					f()
				}
			})
		}
	}
}
