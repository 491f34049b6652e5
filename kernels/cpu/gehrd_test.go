package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
)

// TestGehrd: Qᵀ·A·Q = H, where Orghr makes Qᵀ.
func TestGehrd(t *testing.T) {
	t.Run("float64", testGehrd[float64])
	t.Run("float32", testGehrd[float32])
}

func testGehrd[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, s := range [][3]int{{1, 0, 0}, {2, 0, 1}, {3, 0, 2}, {5, 0, 4}, {33, 0, 32}, {34, 0, 33}, {35, 1, 33}, {70, 0, 69}, {97, 5, 80}, {60, 20, 20}, {40, 3, 5}} {
			t.Run(fmt.Sprintf("%s/%d/%d-%d", name, s[0], s[1], s[2]), func(t *testing.T) { checkGehrd(t, NewHessenberg[T](p, nil), s[0], s[1], s[2]) })
		}
	}
}

func checkGehrd[T Element](t *testing.T, r *Hessenberg[T], n, lo, hi int) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(lo)))
	lda := n + 3
	a, was := make([]T, n*lda), make([]float64, n*n)
	for i := range a {
		a[i] = T(math.NaN())
	}
	for i := range n {
		for j := range n {
			x := T(rng.NormFloat64())
			if j < i && (j < lo || i > hi) {
				x = 0
			}
			a[i*lda+j], was[i*n+j] = x, float64(x)
		}
	}
	tau, q := make([]T, n), make([]T, n*lda)
	work := make([]T, max(GehrdWork(n), ReflectorsWork(n, n-1)))
	for _, x := range [][]T{tau, q, work} {
		for i := range x {
			x[i] = T(math.NaN())
		}
	}
	r.Gehrd(n, lo, hi, a, lda, tau, work)
	r.Orghr(n, lo, hi, a, lda, tau, q, lda, work)
	h := func(i, j int) float64 {
		if j < i-1 && j >= lo && i <= hi {
			return 0 // a reflector is there
		}
		return float64(a[i*lda+j])
	}
	limit := 20 * float64(n) * scalar.Eps[T]()
	for i := range n {
		for j := range n {
			if j < i-1 && h(i, j) != 0 {
				t.Fatalf("element (%d, %d) of H is %v", i, j, h(i, j))
			}
			residual, loss := 0.0, 0.0
			for k := range n {
				residual += float64(q[i*lda+k])*was[k*n+j] - h(i, k)*float64(q[k*lda+j])
				loss += float64(q[i*lda+k]) * float64(q[j*lda+k])
			}
			if i == j {
				loss--
			}
			if !(math.Abs(residual) <= limit*math.Sqrt(float64(n))) || !(math.Abs(loss) <= limit) {
				t.Fatalf("element (%d, %d): Qᵀ·A − H·Qᵀ is %.3g, QᵀQ − I %.3g", i, j, residual, loss)
			}
		}
	}
	for i := range n {
		for _, x := range a[i*lda+n : (i+1)*lda] {
			if !math.IsNaN(float64(x)) {
				t.Fatal("written beside the matrix")
			}
		}
	}
}

// TestReflect: the vector kernels of Reflect do what the portable loop does.
func TestReflect(t *testing.T) {
	t.Run("float64", testReflect[float64])
	t.Run("float32", testReflect[float32])
}

func testReflect[T Element](t *testing.T) {
	portable := NewHessenberg[T](Portable[T](), nil)
	for name, p := range natives[T](Caches{}) {
		k := NewHessenberg[T](p, nil)
		for n := range 150 {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			f := new([5]T)
			for i := range f {
				f[i] = T(rng.NormFloat64())
			}
			const ld = 160
			x := make([]T, 3*ld)
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
			y := append([]T(nil), x...)
			portable.Reflect(x[:n], x[ld:][:n], x[2*ld:][:n], f)
			k.Reflect(y[:n], y[ld:][:n], y[2*ld:][:n], f)
			for i := range x {
				if d := math.Abs(float64(x[i] - y[i])); d > 100*scalar.Eps[T]() || i%ld >= n && d != 0 {
					t.Fatalf("%s, n = %d: element %d is %v, want %v", name, n, i, y[i], x[i])
				}
			}
		}
	}
}
