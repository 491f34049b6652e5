package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"gonum.org/v1/gonum/blas"
)

// TestSymv: the portable code and every instruction set agree with sums in float64, for all orders
// around those of vectors. What is not of the triangle is NaN; what lies behind the vectors stays.
func TestSymv(t *testing.T) {
	t.Run("float64", testSymv[float64])
	t.Run("float32", testSymv[float32])
}

func testSymv[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	all := natives[T](Caches{})
	all["go"] = Portable[T]()
	for name, p := range sorted.Map(all) {
		for n := range 90 {
			for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
				lda := max(1, n+rnd.IntN(3))
				a := triangleOf[T](rnd, uplo, n, lda)
				x, y := randomSlice[T](n+1), randomSlice[T](n+1)
				alpha := T(rnd.NormFloat64())
				want := append([]T(nil), y...)
				for i := range n {
					var s float64
					for j := range n {
						v := a[i*lda+j]
						if (uplo == blas.Lower) != (j <= i) && i != j {
							v = a[j*lda+i]
						}
						s += float64(v) * float64(x[j])
					}
					want[i] += T(float64(alpha) * s)
				}
				got := append([]T(nil), y...)
				p.Symv(uplo, n, alpha, a, lda, x[:n], got[:n])
				if i := differ(got, want); i >= 0 {
					t.Fatalf("%s: symv %c n=%d: element %d is %v, want %v", name, uplo, n, i, got[i], want[i])
				}
			}
		}
	}
}

func BenchmarkSymv(b *testing.B) {
	all := natives[float64](Caches{})
	all["go"] = Portable[float64]()
	for _, n := range []int{64, 512, 2048} {
		a, x, y := randomSlice[float64](n*n), randomSlice[float64](n), make([]float64, n)
		for name, p := range all {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					p.Symv(blas.Lower, n, 1, a, n, x, y)
				}
				b.ReportMetric(float64(4*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}
