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

// TestBidiagonalTwoStages: A = Q1·C·P1ᵀ and C = Q2·B·P2ᵀ, with all factors from their reflectors; and without these, C and B
// have the same bits.
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
	same := func(x, y T) bool { return x == y || x != x && y != y }
	band, d, e := nan(BandSize[T](n, b)), nan(n), nan(max(n-1, 0))
	r.Ge2tb(m, n, b, a, lda, band, nil, nil, nan(r.Ge2tbWork(m, n, b)))
	if !slices.EqualFunc(a, was, same) {
		t.Fatal("A is not what it was")
	}
	if n == 0 {
		return
	}
	wide, tauq, taup := nan(len(band)), nan(n), nan(max(n-b, 0))
	r.Ge2tb(m, n, b, a, lda, wide, tauq, taup, nan(r.Ge2tbWork(m, n, b)))
	if !slices.EqualFunc(wide, band, same) {
		t.Fatal("the band depends on whether the reflectors are kept")
	}
	for i := range m {
		for _, x := range a[i*lda+n : (i+1)*lda] {
			if x == x {
				t.Fatal("written beside A")
			}
		}
	}
	at := func(i, j int) T { return wide[i*BandStride[T](b)+j+b-1] }
	for i := range n {
		for j := max(0, i-b+1); j < min(n, i+2*b); j++ {
			if x := at(i, j); x != 0 && (j < i || j > i+b) {
				t.Fatalf("element (%d, %d) of the band is %v", i, j, x)
			}
		}
	}
	// check compares A with Q·C·Pᵀ for the upper trapezoidal C, whose elements are those of at up to superdiagonal width.
	check := func(what string, width int, at func(i, j int) T, q, p Sweeps[T]) {
		t.Helper()
		u, v := make([]T, n*(m+1)), make([]T, n*(n+1))
		for i := range n {
			u[i*(m+1)+i], v[i*(n+1)+i] = 1, 1
			u[i*(m+1)+m], v[i*(n+1)+n] = T(math.NaN()), T(math.NaN())
		}
		if q.V != nil {
			work := nan(OrmChaseWork(n, b))
			r.OrmChase(n, n, b, q, u, m+1, work)
			r.OrmChase(n, n, b, p, v, n+1, work)
		}
		work := nan(ReflectorsWork(m, n))
		r.OrmbrQ(n, m, n, a, lda, tauq, u, m+1, work)
		r.OrmbrP(n, n, b, a, lda, taup, v, n+1, work)
		c, left, right, got := mat.NewDense(n, n, nil), mat.NewDense(n, m, nil), mat.NewDense(n, n, nil), mat.NewDense(m, n, nil)
		for i := range n {
			for j := i; j < min(i+width+1, n); j++ {
				c.Set(i, j, float64(at(i, j)))
			}
			for j := range m {
				left.Set(i, j, float64(u[i*(m+1)+j]))
			}
			for j := range n {
				right.Set(i, j, float64(v[i*(n+1)+j]))
			}
		}
		limit := 60 * float64(n) * scalar.Eps[T]()
		got.Product(left.T(), c, right)
		for i := range m {
			for j := range n {
				if d := math.Abs(got.At(i, j) - float64(was[i*lda+j])); !(d <= limit) {
					t.Fatalf("%s: element (%d, %d) of Q·C·Pᵀ differs by %.3g", what, i, j, d)
				}
			}
		}
		for side, x := range map[string]*mat.Dense{"Q": left, "P": right} {
			got := mat.NewDense(n, n, nil)
			got.Mul(x, x.T())
			for i := range n {
				got.Set(i, i, got.At(i, i)-1)
			}
			if d := max(mat.Max(got), -mat.Min(got)); !(d <= limit) {
				t.Fatalf("%s: %s is orthogonal up to %.3g", what, side, d)
			}
		}
	}
	check("band", b, at, Sweeps[T]{}, Sweeps[T]{})
	q, p2 := NewSweeps(n, b, nan(SweepsSize(n, b))), NewSweeps(n, b, nan(SweepsSize(n, b)))
	r.Tb2bd(n, b, slices.Clone(wide), q, p2, d, e)
	check("bidiagonal", 1, func(i, j int) T {
		if j == i {
			return d[i]
		}
		return e[i]
	}, q, p2)
	d2, e2 := nan(n), nan(n-1)
	r.Tb2bd(n, b, wide, NewSweeps(n, b, nan(SweepsSize(n, b))), Sweeps[T]{}, d2, e2)
	if !slices.Equal(d, d2) || !slices.Equal(e, e2) {
		t.Fatal("B depends on whether the reflectors are kept")
	}
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
					r.Ge2tb(n, n, nb, a, n, band, nil, nil, work)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(n)*8/3/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
			})
			q, p := NewSweeps(n, nb, make([]float64, SweepsSize(n, nb))), NewSweeps(n, nb, make([]float64, SweepsSize(n, nb)))
			d, e, was := make([]float64, n), make([]float64, n), slices.Clone(band)
			b.Run(fmt.Sprintf("tb2bd/%d/%d", n, nb), func(b *testing.B) {
				for b.Loop() {
					copy(band, was)
					r.Tb2bd(n, nb, band, q, p, d, e)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(nb)*8/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
			})
		}
	}
}
