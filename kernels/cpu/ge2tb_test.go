package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestBidiagonalTwoStages: a matrix, its band and the bidiagonal matrix have the same singular values, which gonum finds.
func TestBidiagonalTwoStages(t *testing.T) {
	t.Run("float64", testBidiagonalTwoStages[float64])
	t.Run("float32", testBidiagonalTwoStages[float32])
}

func testBidiagonalTwoStages[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, b := range []int{1, 2, 5, 16, 40} {
			for _, n := range []int{0, 1, 2, 3, b, b + 1, b + 2, 2*b - 1, 2 * b, 4*b + 3, 130} {
				for _, more := range []int{0, 1, 3*b + 2} {
					for _, kind := range []string{"random", "diagonal", "zero"} {
						if n == 130 && (b < 16 || kind != "random" || raceEnabled) || b == 40 && kind != "random" {
							continue // their checks take long
						}
						t.Run(fmt.Sprintf("%s/%s/%d×%d,%d", name, kind, n+more, n, b), func(t *testing.T) {
							checkBidiagonalTwoStages(t, p, kind, n+more, n, b)
						})
					}
				}
			}
		}
	}
}

func checkBidiagonalTwoStages[T Element](t *testing.T, p *Packed[T], kind string, m, n, b int) {
	r := NewBidiagonal[T](p, nil)
	rng := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	nan := func(k int) []T {
		x := make([]T, k)
		for i := range x {
			x[i] = T(math.NaN())
		}
		return x
	}
	lda := n + 3
	a := nan(m * lda)
	for i := range m {
		for j := range n {
			x := T(0)
			if kind == "random" || kind == "diagonal" && i == j {
				x = T(2*rng.Float64() - 1)
			}
			a[i*lda+j] = x
		}
	}
	was := slices.Clone(a)
	band, d, e := nan(BandSize[T](n, b)), nan(n), nan(max(n-1, 0))
	r.Ge2tb(m, n, b, a, lda, band, nan(r.Ge2tbWork(m, n, b)))
	if !slices.EqualFunc(a, was, func(x, y T) bool { return x == y || x != x && y != y }) {
		t.Fatal("A is not what it was")
	}
	if n == 0 {
		return
	}
	for i := range n {
		for j := max(0, i-b+1); j < min(n, i+2*b); j++ {
			if x := band[i*BandStride[T](b)+j+b-1]; x != 0 && (j < i || j > i+b) {
				t.Fatalf("element (%d, %d) of the band is %v", i, j, x)
			}
		}
	}
	values := func(rows int, at func(i, j int) T) []float64 {
		x := mat.NewDense(rows, n, nil)
		for i := range rows {
			for j := range n {
				x.Set(i, j, float64(at(i, j)))
			}
		}
		var svd mat.SVD
		if !svd.Factorize(x, mat.SVDNone) {
			t.Fatal("gonum finds no singular values")
		}
		return svd.Values(nil)
	}
	want := values(m, func(i, j int) T { return a[i*lda+j] })
	check := func(what string, got []float64) {
		t.Helper()
		for i, x := range got {
			if d := math.Abs(x - want[i]); !(d <= 20*math.Sqrt(float64(n))*scalar.Eps[T]()*want[0]) {
				t.Fatalf("%s: singular value %d differs by %.3g", what, i, d)
			}
		}
	}
	check("band", values(n, func(i, j int) T {
		if j < i || j > i+b {
			return 0
		}
		return band[i*BandStride[T](b)+j+b-1]
	}))
	r.Tb2bd(n, b, band, d, e, nan(Tb2bdWork(n, b)))
	check("bidiagonal", values(n, func(i, j int) T {
		switch j - i {
		case 0:
			return d[i]
		case 1:
			return e[i]
		}
		return 0
	}))
}

func BenchmarkBidiagonalTwoStages(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		for _, nb := range []int{32, 48, 64} {
			r := NewBidiagonal[float64](Fastest[float64](Caches{L1: 48 << 10, L2: 1 << 20, L3: 32 << 20}), nil)
			rng := rand.New(rand.NewPCG(1, 2))
			a := make([]float64, n*n)
			for i := range a {
				a[i] = rng.Float64()
			}
			band, work := make([]float64, BandSize[float64](n, nb)), make([]float64, r.Ge2tbWork(n, n, nb))
			b.Run(fmt.Sprintf("ge2tb/%d/%d", n, nb), func(b *testing.B) {
				for b.Loop() {
					r.Ge2tb(n, n, nb, a, n, band, work)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(n)*8/3/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
			})
			d, e, was := make([]float64, n), make([]float64, n), slices.Clone(band)
			b.Run(fmt.Sprintf("tb2bd/%d/%d", n, nb), func(b *testing.B) {
				for b.Loop() {
					copy(band, was)
					r.Tb2bd(n, nb, band, d, e, work)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(nb)*8/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
			})
		}
	}
}
