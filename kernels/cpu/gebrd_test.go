package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
)

// TestGebrd: A = Q·B·Pᵀ, where Ormbr makes Qᵀ and Pᵀ of identities.
func TestGebrd(t *testing.T) {
	t.Run("float64", testGebrd[float64])
	t.Run("float32", testGebrd[float32])
}

func testGebrd[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, s := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {31, 31}, {32, 32}, {33, 33}, {34, 34}, {64, 64}, {65, 65}, {97, 97}, {130, 130}, {1, 0}, {7, 1}, {9, 2}, {50, 33}, {140, 67}, {300, 280}} {
			for _, kind := range []string{"random", "diagonal", "zero", "graded", "tiny rows"} {
				if s[0] > 200 && (kind != "random" || name == "avx2" || raceEnabled) {
					continue // their checks take long, and what is new at this order is how columns are divided
				}
				t.Run(fmt.Sprintf("%s/%s/%d×%d", name, kind, s[0], s[1]), func(t *testing.T) { checkGebrd(t, NewBidiagonal[T](p, nil), kind, s[0], s[1]) })
			}
		}
	}
}

func checkGebrd[T Element](t *testing.T, r *Bidiagonal[T], kind string, m, n int) {
	rng := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	lda := n + 3
	a := make([]T, m*lda)
	for i := range a {
		a[i] = T(math.NaN())
	}
	norm := 0.0
	for i := range m {
		for j := range n {
			x := rng.NormFloat64()
			switch {
			case kind == "zero" || kind == "diagonal" && i != j:
				x = 0
			case kind == "graded":
				x *= math.Pow(2, -float64(i)-float64(j)/2)
			case kind == "tiny rows" && i == 0: // products of others with these underflow
				x = float64(min(1, max(0, 1-j))) + x*1e3*scalar.SafeMin[T]()*float64(min(1, j))
			}
			a[i*lda+j] = T(x)
			norm += x * x
		}
	}
	norm = math.Sqrt(norm)
	was := slices.Clone(a)
	d, e, tauq, taup := make([]T, n), make([]T, max(n-1, 0)), make([]T, n), make([]T, max(n-1, 0))
	work := make([]T, GebrdWork(m, n))
	for i := range work {
		work[i] = T(math.NaN())
	}
	r.Gebrd(m, n, a, lda, d, e, tauq, taup, work)
	identity := func(n int) []T {
		q := make([]T, n*n)
		for i := range n {
			q[i*n+i] = 1
		}
		return q
	}
	q, p := identity(m), identity(n)
	work = make([]T, ReflectorsWork(m, n))
	for i := range work {
		work[i] = T(math.NaN())
	}
	r.OrmbrQ(m, m, n, a, lda, tauq, q, max(m, 1), work)
	r.OrmbrP(n, n, 1, a, lda, taup, p, max(n, 1), work)
	eps := 2 * scalar.Eps[T]()
	worst := 0.0
	product := make([]float64, m*n) // Qᵀ·A
	for i := range m {
		for k := range m {
			for j := range n {
				product[i*n+j] += float64(q[i*m+k]) * float64(was[k*lda+j])
			}
		}
	}
	for i := range m {
		for j := range n {
			var s float64 // of Qᵀ·A·P − B
			for k := range n {
				s += product[i*n+k] * float64(p[j*n+k])
			}
			switch {
			case i == j:
				s -= float64(d[i])
			case j == i+1:
				s -= float64(e[i])
			}
			worst = max(worst, math.Abs(s))
		}
	}
	loss := 0.0
	for order, x := range map[int][]T{m: q, n: p} {
		for i := range order {
			for j := range i + 1 {
				s := 0.0
				for k := range order {
					s += float64(x[i*order+k]) * float64(x[j*order+k])
				}
				if i == j {
					s--
				}
				loss = max(loss, math.Abs(s))
			}
		}
	}
	if limit := 30 * float64(m) * eps; !(worst <= limit*max(norm, 1e-30)/math.Sqrt(float64(max(n, 1))) && loss <= limit) {
		t.Errorf("residual %.3g, orthogonality %.3g", worst/eps, loss/eps)
	}
	for i := range m {
		for _, x := range a[i*lda+n : (i+1)*lda] {
			if x == x {
				t.Fatal("written beside A")
			}
		}
	}
}

func BenchmarkGebrd(b *testing.B) {
	for _, n := range []int{64, 500, 1000, 2000} {
		var p *Packed[float64]
		for _, q := range natives[float64](Caches{}) {
			p = q
		}
		r := NewBidiagonal[float64](p, nil)
		rng := rand.New(rand.NewPCG(1, 2))
		a, c := make([]float64, n*n), make([]float64, n*n)
		for i := range a {
			a[i] = rng.Float64()
		}
		d, e, tauq, taup := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		work := make([]float64, max(GebrdWork(n, n), ReflectorsWork(n, n)))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				copy(c, a)
				r.Gebrd(n, n, c, n, d, e, tauq, taup, work)
			}
			b.ReportMetric(float64(n)*float64(n)*float64(n)*8/3/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
		})
		b.Run(fmt.Sprint(n, "/ormbr"), func(b *testing.B) {
			for b.Loop() {
				copy(a, c)
				r.OrmbrQ(n, n, n, c, n, tauq, a, n, work)
			}
			b.ReportMetric(float64(n)*float64(n)*float64(n)*2/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
		})
	}
}
