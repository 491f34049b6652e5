package tiles_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"gonum.org/v1/gonum/lapack"
)

// TestStatsMax has the largest magnitude in every place of matrices that are
// wide enough for the vectors of any machine, and compares Stats.Max and the
// norm with it; and a NaN there, which no norm may miss.
func testStatsMax[T tiles.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(12, 1))
	for _, kind := range blockedtest.AllKinds() {
		const n = 75
		for _, nb := range []int{7, 33, n} {
			a := tiles.New[T](kind, n, n, nb)
			for i := range n {
				for j := range n {
					if a.Stored(i/nb, j/nb) && (kind == tiles.Full || blockedtest.InTriangle(kind.Uplo())(i, j)) {
						a.Set(i, j, T(rnd.Float64()-0.5))
					}
				}
			}
			for range 60 {
				i, j := rnd.IntN(n), rnd.IntN(n)
				if kind != tiles.Full && !blockedtest.InTriangle(kind.Uplo())(i, j) {
					i, j = j, i
				}
				was := a.At(i, j)
				for _, v := range []float64{7, -7, math.Inf(-1)} {
					a.Set(i, j, T(v))
					_, stats := tiles.From[T](a, kind, nb, tiles.CopyOptions{Stats: true, Workers: 2})
					if got := a.Norm(lapack.MaxAbs, 2); stats.Max != math.Abs(v) || got != math.Abs(v) {
						t.Fatalf("%v, nb %d: Max %v, norm %v with %v at (%d, %d)", kind, nb, stats.Max, got, v, i, j)
					}
				}
				a.Set(i, j, T(math.NaN()))
				if got := a.Norm(lapack.MaxAbs, 1); got == got {
					t.Fatalf("%v, nb %d: norm %v with a NaN at (%d, %d)", kind, nb, got, i, j)
				}
				a.Set(i, j, was)
			}
		}
	}
}

func TestStatsMax(t *testing.T) {
	t.Run("f64", testStatsMax[float64])
	t.Run("f32", testStatsMax[float32])
	if _, stats := tiles.From[float64](tiles.New[float64](tiles.Full, 0, 3, 2), tiles.Full, 2, tiles.CopyOptions{Stats: true}); stats.Max != 0 {
		t.Errorf("the largest of nothing is %v", stats.Max)
	}
}
