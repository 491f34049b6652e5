package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
)

// TestTwoStages: A = Q1·B·Q1ᵀ and B = Q2·T·Q2ᵀ, with both factors from their reflectors.
func TestTwoStages(t *testing.T) {
	t.Run("float64", testTwoStages[float64])
	t.Run("float32", testTwoStages[float32])
}

func testTwoStages[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, b := range []int{1, 2, 5, 16, 40} {
			for _, n := range []int{0, 1, 2, 3, b, b + 1, b + 2, 2*b - 1, 2 * b, 4*b + 3, 130} {
				for _, kind := range []string{"random", "diagonal", "zero"} {
					if n == 130 && (b < 16 || kind != "random" || raceEnabled) || b == 40 && kind != "random" {
						continue // their checks take long
					}
					t.Run(fmt.Sprintf("%s/%s/%d,%d", name, kind, n, b), func(t *testing.T) { checkTwoStages(t, p, kind, n, b) })
				}
			}
		}
	}
}

func checkTwoStages[T Element](t *testing.T, p *Packed[T], kind string, n, b int) {
	r := NewTridiagonal[T](p, nil)
	rng := rand.New(rand.NewPCG(uint64(n), uint64(b)))
	lda := n + 3
	a, full := make([]T, n*lda), make([][]float64, n)
	for i := range a {
		a[i] = T(math.NaN())
	}
	for i := range full {
		full[i] = make([]float64, n)
	}
	for i := range n {
		for j := i; j < n; j++ {
			x := T(0)
			if kind == "random" || kind == "diagonal" && i == j {
				x = T(2*rng.Float64() - 1)
			}
			a[i*lda+j] = x
			full[i][j], full[j][i] = float64(x), float64(x)
		}
	}
	nan := func(k int) []T {
		x := make([]T, k)
		for i := range x {
			x[i] = T(math.NaN())
		}
		return x
	}
	band, tau := nan(BandSize[T](n, b)), nan(max(n-b, 0))
	r.Sy2sb(n, b, a, lda, band, tau, nan(r.Sy2sbWork(n, b)))
	for i := range n {
		for _, x := range a[i*lda+n : (i+1)*lda] {
			if x == x {
				t.Fatal("written beside A")
			}
		}
	}
	var used []oneReflector
	// reflect computes full = H·full·H.
	reflect := func(v []float64, tau float64) {
		used = append(used, oneReflector{slices.Clone(v), tau})
		for range 2 {
			for i := range n {
				s := 0.0
				for j := range n {
					s += full[i][j] * v[j]
				}
				for j := range n {
					full[i][j] -= tau * s * v[j]
				}
			}
			for i := range n {
				for j := range i {
					full[i][j], full[j][i] = full[j][i], full[i][j]
				}
			}
		}
	}
	eps := 2 * scalar.Eps[T]()
	limit := 30 * float64(n) * eps
	check := func(what string, want func(i, j int) float64) {
		t.Helper()
		for i := range n {
			for j := range n {
				if d := math.Abs(full[i][j] - want(min(i, j), max(i, j))); !(d <= limit) {
					t.Fatalf("%s: element (%d, %d) differs by %.3g", what, i, j, d/eps)
				}
			}
		}
	}
	v := make([]float64, n)
	for k := range max(n-b, 0) {
		clear(v)
		v[k+b] = 1
		for j := k + b + 1; j < n; j++ {
			v[j] = float64(a[k*lda+j])
		}
		reflect(v, float64(tau[k]))
	}
	check("band", func(i, j int) float64 {
		if j > i+b {
			return 0
		}
		return float64(band[i*BandStride[T](b)+j+b-1])
	})
	d, e := nan(n), nan(max(n-1, 0))
	vs, taus := nan(n*n), nan(n*ChaseSteps(n, b))
	was := slices.Clone(band)
	r.Sb2st(n, b, band, Sweeps[T]{V: vs, Stride: n, Tau: taus}, d, e)
	checkLive(t, NewTridiagonal[T](p, crewOf[T](new(int))), n, b, was, vs, taus, d, e)
	for s := range max(n-1, 0) {
		for u := 0; s+1+u*b < n; u++ {
			clear(v)
			for j := s + 1 + u*b; j < min(n, s+1+(u+1)*b); j++ {
				v[j] = float64(vs[s*n+j])
			}
			reflect(v, float64(taus[s*ChaseSteps(n, b)+u]))
		}
	}
	check("tridiagonal", func(i, j int) float64 {
		switch {
		case i == j:
			return float64(d[i])
		case j == i+1:
			return float64(e[i])
		}
		return 0
	})
	checkBack(t, r, n, b, a, lda, tau, vs, taus, used)
}

// checkLive checks that Sb2st by several units, with rows of V that are used again has the same result, and hands out the same reflectors.
func checkLive[T Element](t *testing.T, r *Tridiagonal[T], n, b int, band, vs, taus, d, e []T) {
	t.Helper()
	live, steps := LiveSweeps(n, b), ChaseSteps(n, b)
	var calls atomic.Int64
	q := Sweeps[T]{V: make([]T, live*n), Stride: n, Tau: make([]T, live*steps), Live: live}
	q.Done = func(s int, v, got []T) {
		calls.Add(1)
		if !slices.Equal(v, vs[s*n+s+1:][:n-s-1]) || !slices.Equal(got, taus[s*steps:][:(n-2-s)/b+1]) {
			t.Errorf("n = %d, b = %d: sweep %d has other reflectors", n, b, s)
		}
	}
	again, beside := make([]T, n), make([]T, max(n-1, 0))
	r.Sb2st(n, b, band, q, again, beside)
	if !slices.Equal(again, d) || !slices.Equal(beside, e) || int(calls.Load()) != max(n-1, 0) {
		t.Errorf("n = %d, b = %d: another result, %d sweeps", n, b, calls.Load())
	}
}

// oneReflector is I − tau·v·vᵀ.
type oneReflector struct {
	v   []float64
	tau float64
}

// checkBack checks that X·Qᵀ by the two routines is what the reflectors make of X one by one.
func checkBack[T Element](t *testing.T, r *Tridiagonal[T], n, b int, a []T, lda int, tau, vs, taus []T, used []oneReflector) {
	t.Helper()
	const m = 5
	x, want := make([]T, m*(n+1)), make([][]float64, m)
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	for i := range want {
		want[i] = make([]float64, n)
		for j := range n {
			x[i*(n+1)+j] = T(rng.NormFloat64())
			want[i][j] = float64(x[i*(n+1)+j])
		}
		x[i*(n+1)+n] = T(math.NaN())
	}
	r.OrmChase(m, n, b, Sweeps[T]{V: vs, Stride: n, Tau: taus}, x, n+1, make([]T, OrmChaseWork(n, b)))
	r.OrmtrSy2sb(m, n, b, a, lda, tau, x, n+1, make([]T, ReflectorsWork(n, max(n-b, 0))))
	for _, row := range want {
		for _, h := range slices.Backward(used) {
			s := 0.0
			for j, v := range h.v {
				s += v * row[j]
			}
			for j, v := range h.v {
				row[j] -= h.tau * s * v
			}
		}
	}
	for i, row := range want {
		for j, y := range row {
			if d := math.Abs(float64(x[i*(n+1)+j]) - y); !(d <= 200*float64(n)*scalar.Eps[T]()) {
				t.Fatalf("element (%d, %d) of X·Qᵀ differs by %.3g", i, j, d)
			}
		}
	}
}

func BenchmarkTwoStages(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		for _, nb := range []int{32, 48, 64} {
			var p *Packed[float64]
			for _, q := range natives[float64](Caches{L1: 48 << 10, L2: 1 << 20, L3: 32 << 20}) {
				if p == nil || q.vectors.lanes > p.vectors.lanes {
					p = q
				}
			}
			r := NewTridiagonal[float64](p, nil)
			rng := rand.New(rand.NewPCG(1, 2))
			a := make([]float64, n*n)
			for i := range a {
				a[i] = rng.Float64()
			}
			band, work := make([]float64, BandSize[float64](n, nb)), make([]float64, r.Sy2sbWork(n, nb))
			b.Run(fmt.Sprintf("sy2sb/%d/%d", n, nb), func(b *testing.B) {
				for b.Loop() {
					r.Sy2sb(n, nb, a, n, band, nil, work)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(n)*4/3/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
			})
			v, tau, d, e := make([]float64, n*n), make([]float64, n*ChaseSteps(n, nb)), make([]float64, n), make([]float64, n)
			was := make([]float64, len(band))
			copy(was, band)
			b.Run(fmt.Sprintf("sb2st/%d/%d", n, nb), func(b *testing.B) {
				for b.Loop() {
					copy(band, was)
					r.Sb2st(n, nb, band, Sweeps[float64]{V: v, Stride: n, Tau: tau}, d, e)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(nb)*6/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
			})
		}
	}
}
