package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
)

// TestSytrf: P·A·Pᵀ = Uᵀ·D·U, with bounded elements of U.
func TestSytrf(t *testing.T) {
	t.Run("float64", testSytrf[float64])
	t.Run("float32", testSytrf[float32])
}

func testSytrf[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 17, 63, 64, 65, 66, 97, 128, 129, 200, 300} {
			for _, kind := range []string{"random", "diagonal", "zero", "zero diagonal", "saddle", "rank one", "integers"} {
				if n > 100 && name != "go" && kind != "random" && kind != "saddle" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, kind, n), func(t *testing.T) {
					checkSytrf(t, p, false, kind, n)
					checkSytrf(t, p, true, kind, n)
				})
			}
		}
	}
}

func checkSytrf[T Element](t *testing.T, r Routines[T], rook bool, kind string, n int) {
	rng := rand.New(rand.NewPCG(uint64(n), 6))
	lda := n + 3
	a, full := make([]T, n*lda), make([]float64, n*n)
	for i := range a {
		a[i] = T(math.NaN())
	}
	top := 0.0
	for i := range n {
		for j := i; j < n; j++ {
			x := T(2*rng.Float64() - 1)
			switch kind {
			case "diagonal":
				if i != j {
					x = 0
				}
			case "zero":
				x = 0
			case "zero diagonal":
				if i == j {
					x = 0
				}
			case "saddle":
				if i >= n/2 {
					x = 0
				}
			case "rank one":
				x = 1
			case "integers":
				x = T(rng.IntN(3) - 1)
			}
			a[i*lda+j] = x
			full[i*n+j], full[j*n+i] = float64(x), float64(x)
			top = max(top, math.Abs(float64(x)))
		}
	}
	was := slices.Clone(a)
	d, e, swaps := make([]T, n), make([]T, n), make([]int, n)
	work := make([]T, SytrfWork(n))
	for i := range work {
		work[i] = T(math.NaN())
	}
	zero := NewIndefinite(r, nil).Sytrf(rook, n, a, lda, d, e, swaps, work)
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	for k, p := range swaps {
		if p < k || p >= n {
			t.Fatalf("swap %d with %d", k, p)
		}
		perm[k], perm[p] = perm[p], perm[k]
	}
	u := func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i > j:
			return 0
		}
		return float64(a[i*lda+j])
	}
	growth, first := 0.0, 0
	du := make([]float64, n*n)
	for k := range n {
		if d[k] == 0 && e[k] == 0 && (k == 0 || e[k-1] == 0) && first == 0 {
			first = k + 1
		}
		if e[k] != 0 && (k+1 == n || u(k, k+1) != 0 || e[k+1] != 0) {
			t.Errorf("block at %d: U has %v beside the diagonal", k, u(k, k+1))
		}
		for j := range n {
			growth = max(growth, math.Abs(u(k, j)))
			s := float64(d[k]) * u(k, j)
			if e[k] != 0 {
				s += float64(e[k]) * u(k+1, j)
			}
			if k > 0 && e[k-1] != 0 {
				s += float64(e[k-1]) * u(k-1, j)
			}
			du[k*n+j] = s
		}
	}
	if first != zero {
		t.Errorf("zero block %d, want %d", zero, first)
	}
	if rook && growth > 2.8 {
		t.Errorf("U has an element of %v", growth)
	}
	worst := 0.0
	for i := range n {
		for j := range n {
			s := -full[perm[i]*n+perm[j]]
			for k := range min(i, j) + 1 {
				s += u(k, i) * du[k*n+j]
			}
			if k := min(i, j) + 1; k <= i && k < n && e[k-1] != 0 {
				s += u(k, i) * du[k*n+j]
			}
			if !(math.Abs(s) <= worst) {
				worst = math.Abs(s)
			}
		}
	}
	if limit := 30 * 2 * scalar.Eps[T]() * float64(n) * max(top, 1e-300); !(worst <= limit) {
		t.Errorf("residual %.3g, want at most %.3g", worst, limit)
	}
	// In parts, with the same bits.
	for _, units := range []int{2, 3} {
		b, d2, e2, swaps2 := slices.Clone(was), make([]T, n), make([]T, n), make([]int, n)
		NewIndefinite(r, inTurns[T](units)).Sytrf(rook, n, b, lda, d2, e2, swaps2, make([]T, SytrfWork(n)))
		if !slices.Equal(d, d2) || !slices.Equal(e, e2) || !slices.Equal(swaps, swaps2) {
			t.Errorf("%d units: D or P differ", units)
		}
	}
}

func BenchmarkSytrf(b *testing.B) {
	p := Fastest[float64](Caches{L1: 48 << 10, L2: 2 << 20, L3: 32 << 20})
	for _, n := range []int{100, 500, 1000, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 6))
			a := make([]float64, n*n)
			for i := range a {
				a[i] = rng.Float64() - 0.5
			}
			c := slices.Clone(a)
			d, e, swaps, work := make([]float64, n), make([]float64, n), make([]int, n), make([]float64, SytrfWork(n))
			scratch := make([]float64, p.Work(n))
			x := NewIndefinite[float64](p, func(parts, work int, f func(part, parts int, work []float64)) {
				for i := range parts {
					f(i, parts, scratch)
				}
			})
			for b.Loop() {
				copy(c, a)
				x.Sytrf(false, n, c, n, d, e, swaps, work)
			}
			b.ReportMetric(float64(n)*float64(n)*float64(n)/3*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
		})
	}
}
