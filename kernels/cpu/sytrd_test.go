package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
)

// TestSytrd: A = Q·T·Qᵀ, where Ormtr makes Qᵀ of the identity.
func TestSytrd(t *testing.T) {
	t.Run("float64", testSytrd[float64])
	t.Run("float32", testSytrd[float32])
}

func testSytrd[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 31, 32, 33, 34, 64, 65, 66, 97, 130, 520} {
			for _, kind := range []string{"random", "diagonal", "zero"} {
				if n > 200 && (kind != "random" || name == "avx2" || raceEnabled) {
					continue // their checks take long, and what is new at this order is how rows are divided
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, kind, n), func(t *testing.T) { checkSytrd(t, NewTridiagonal[T](p, nil), kind, n) })
			}
		}
	}
}

func checkSytrd[T Element](t *testing.T, r *Tridiagonal[T], kind string, n int) {
	rng := rand.New(rand.NewPCG(uint64(n), 5))
	lda := n + 3
	a, full := make([]T, n*lda), make([]float64, n*n)
	for i := range a {
		a[i] = T(math.NaN())
	}
	for i := range n {
		for j := i; j < n; j++ {
			x := T(0)
			if kind == "random" || kind == "diagonal" && i == j {
				x = T(2*rng.Float64() - 1)
			}
			a[i*lda+j] = x
			full[i*n+j], full[j*n+i] = float64(x), float64(x)
		}
	}
	d, e, tau := make([]T, n), make([]T, max(n-1, 0)), make([]T, max(n-1, 0))
	work := make([]T, SytrdWork(n))
	for i := range work {
		work[i] = T(math.NaN())
	}
	r.Sytrd(n, a, lda, d, e, tau, work)
	q := make([]T, n*n) // Qᵀ
	for i := range n {
		q[i*n+i] = 1
	}
	r.Ormtr(n, n, a, lda, tau, q, max(n, 1), make([]T, ReflectorsWork(n, n-1)))
	eps := 2 * scalar.Eps[T]()
	var worst, loss float64
	product := make([]float64, n*n) // Qᵀ·A
	for i := range n {
		for k := range n {
			for l := range n {
				product[i*n+l] += float64(q[i*n+k]) * full[k*n+l]
			}
		}
	}
	for i := range n {
		for j := range n {
			var s, o float64 // of Qᵀ·A·Q − T, and of Qᵀ·Q − I
			for k := range n {
				s += product[i*n+k] * float64(q[j*n+k])
				o += float64(q[i*n+k]) * float64(q[j*n+k])
			}
			switch {
			case i == j:
				s -= float64(d[i])
				o--
			case j == i+1:
				s -= float64(e[i])
			case i == j+1:
				s -= float64(e[j])
			}
			worst, loss = max(worst, math.Abs(s)), max(loss, math.Abs(o))
		}
	}
	if limit := 30 * float64(n) * eps; !(worst <= limit && loss <= limit) {
		t.Errorf("residual %.3g, orthogonality %.3g", worst/eps, loss/eps)
	}
	for i := range n {
		for _, x := range a[i*lda+n : (i+1)*lda] {
			if x == x {
				t.Fatal("written beside A")
			}
		}
	}
}

func BenchmarkSytrd(b *testing.B) {
	for _, n := range []int{64, 500, 1000, 2000} {
		var p *Packed[float64]
		for _, q := range natives[float64](Caches{}) {
			p = q
		}
		r := NewTridiagonal[float64](p, nil)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			a, c := make([]float64, n*n), make([]float64, n*n)
			for i := range a {
				a[i] = rng.Float64()
			}
			d, e, tau := make([]float64, n), make([]float64, n), make([]float64, n)
			work := make([]float64, SytrdWork(n))
			for b.Loop() {
				copy(c, a)
				r.Sytrd(n, c, n, d, e, tau, work)
			}
			b.ReportMetric(float64(n)*float64(n)*float64(n)*4/3/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
		})
		b.Run(fmt.Sprint(n, "/ormtr"), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			a, x := make([]float64, n*n), make([]float64, n*n)
			for i := range a {
				a[i] = rng.Float64() / 10
			}
			tau, work := make([]float64, n), make([]float64, ReflectorsWork(n, n-1))
			for b.Loop() {
				r.Ormtr(n, n, a, n, tau, x, n, work)
			}
			b.ReportMetric(float64(n)*float64(n)*float64(n)*2/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOPS")
		})
	}
}
