package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// TestTallQR: A = Q·R with an orthogonal Q, and the same bits by any number of cores.
func TestTallQR(t *testing.T) {
	t.Run("float64", testTallQR[float64])
	t.Run("float32", testTallQR[float32])
}

func testTallQR[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, dims := range []struct{ m, n, domains int }{
			{1, 1, 1}, {9, 4, 1}, {1023, 1, 1}, {1024, 1, 2}, {1025, 33, 2}, {1030, 515, 2}, {2049, 40, 4}, {4100, 3, 8}, {8210, 4, 16},
		} {
			if dims.m*dims.n > 200_000 && (name == "go" || raceEnabled || testing.Short() && scalar.Of[T]() == scalar.Float32) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d×%d", name, dims.m, dims.n), func(t *testing.T) { checkTallQR(t, p, dims.m, dims.n, dims.domains) })
		}
	}
}

func checkTallQR[T Element](t *testing.T, p *Packed[T], m, n, domains int) {
	const ib = 32
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	lda, ldc := n+2, m+3
	a := pivotedMatrix[T](rng, "random", m, n, lda)
	q := NewQR[T](p)
	run := func(units int, crew Crew[T], k int) (factored, c []T) {
		f := NewTallQR(m, n, ib, units, q, q.Shared(units, crew), crew)
		if f.domains != domains {
			t.Errorf("%d domains, want %d", f.domains, domains)
		}
		factored = slices.Clone(a)
		factors := dirty[T](f.Factors())
		f.Factor(factored, lda, factors, dirty[T](f.Work(0)))
		c = make([]T, k*ldc) // [Rᵀ 0], [I 0], and rows of the identity that are orthogonal to these
		for i := range n {
			for j := i; j < n; j++ {
				c[j*ldc+i] = factored[i*lda+j]
			}
			c[(n+i)*ldc+i] = 1
		}
		for i := 2 * n; i < k; i++ {
			c[i*ldc+m-1-(i-2*n)] = 1
		}
		f.Apply(k, factored, lda, factors, c, ldc, dirty[T](f.Work(k)))
		return factored, c
	}
	k := 2*n + min(m-n, 5)
	factored, c := run(1, inTurns[T](1), k)
	eps := 2 * scalar.Eps[T]()
	worst, top := 0.0, 0.0
	for i := range m {
		for j := range n {
			worst = max(worst, math.Abs(float64(c[j*ldc+i]-a[i*lda+j])))
			top = max(top, math.Abs(float64(a[i*lda+j])))
		}
		for _, x := range factored[i*lda+n:][:2] {
			if x == x {
				t.Fatal("the padding of A was written")
			}
		}
	}
	if !(worst <= 30*eps*top*math.Sqrt(float64(m))) {
		t.Errorf("residual %.3g", worst/eps/top)
	}
	product := make([]T, (k-n)*(k-n)) // Qᵀ·Q
	p.Gemm(blas.NoTrans, blas.Trans, k-n, k-n, m, 1, c[n*ldc:], ldc, c[n*ldc:], ldc, 0, product, k-n, dirty[T](p.Work(m)))
	for i := range k - n {
		product[i*(k-n)+i]--
	}
	loss := 0.0
	for _, x := range product {
		loss = max(loss, math.Abs(float64(x)))
	}
	if !(loss <= 30*eps*math.Sqrt(float64(m))) {
		t.Errorf("orthogonality %.3g", loss/eps)
	}
	same := func(x, y T) bool { return x == y || x != x && y != y }
	crew := crewOf[T](new(int))
	for _, units := range []int{2, 3, 40} {
		if f, d := run(units, crew, k); !slices.EqualFunc(f, factored, same) || !slices.EqualFunc(d, c, same) {
			t.Errorf("%d cores have other bits than one", units)
		}
	}
}
