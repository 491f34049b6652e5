package la_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// Least squares give the same solution, but for a power of two, wherever in the
// range A and b are.
func TestLeastSquaresRange(t *testing.T) {
	testLeastSquaresRange[float64](t, []int{-1040, -1000, -700, 0, 700, 1000, 1023}, 1022)
	testLeastSquaresRange[float32](t, []int{-130, -110, 0, 110, 127}, 125)
}

func testLeastSquaresRange[T la.Element](t *testing.T, exps []int, most int) {
	rnd := rand.New(rand.NewPCG(8, 1))
	for name, e := range sorted.Map(engines(t)) {
		for _, shape := range [][2]int{{17, 5}, {5, 17}, {9, 9}, {30, 1}} {
			m, n := shape[0], shape[1]
			a, b, want := padded[T](m, n, 1), padded[T](m, 2, 0), padded[T](n, 2, 0)
			// With few digits, so that subnormals lose none, and below 1.
			for i := range m {
				for j := range n {
					a.Set(i, j, T(rnd.IntN(31)-15)/16)
				}
				a.Set(i, i%n, T(15)/16)
				b.Set(i, 0, T(rnd.IntN(31)-15)/16)
				b.Set(i, 1, 0.5)
			}
			if err := la.LeastSquares(t.Context(), e, want, a, b); err != nil {
				t.Fatal(err)
			}
			for _, p := range exps {
				for _, q := range exps {
					what := fmt.Sprintf("%s: %s: %d×%d, A·2^%d, b·2^%d", typeName[T](), name, m, n, p, q)
					if q-p > most || q-p < -most {
						continue
					}
					as, bs, x := clone(a), clone(b), padded[T](n, 2, 0)
					for i := range m {
						for j := range n {
							as.Set(i, j, T(math.Ldexp(float64(a.At(i, j)), p)))
						}
						for j := range 2 {
							bs.Set(i, j, T(math.Ldexp(float64(b.At(i, j)), q)))
						}
					}
					if err := la.LeastSquares(t.Context(), e, x, as, bs); err != nil {
						t.Errorf("%s: %v", what, err)
						continue
					}
					for i := range n {
						for j := range 2 {
							got := math.Ldexp(math.Ldexp(float64(x.At(i, j)), (p-q)/2), p-q-(p-q)/2)
							if w := float64(want.At(i, j)); !(math.Abs(got-w) <= 1e4*eps[T]()*(1+math.Abs(w))) {
								t.Fatalf("%s: x(%d, %d) is %g times the power, want %g", what, i, j, got, w)
							}
						}
					}
				}
			}
		}
	}
}

// A NaN in b spreads beside elements that have to be scaled as otherwise.
func TestLeastSquaresRangeNaN(t *testing.T) {
	a := mat.NewDense(3, 2, []float64{1e-320, 0, 0, 1e-320, 0, 0})
	b := mat.NewDense(3, 2, []float64{math.NaN(), 1e-320, 0, 2e-320, 0, 0})
	var x mat.Dense
	if err := la.LeastSquares[float64](t.Context(), nil, &x, a, b); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(x.At(0, 0)) || math.Abs(x.At(0, 1)-1) > 1e-15 || math.Abs(x.At(1, 1)-2) > 1e-2 {
		t.Errorf("x = %v", x.RawMatrix().Data)
	}
}
