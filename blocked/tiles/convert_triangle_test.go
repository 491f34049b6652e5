package tiles_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
)

// TestStatsShapes compares the statistics of matrices of all kinds, in tiles of
// all small sizes, with sums of their elements; in turn each element is what is
// not finite.
func TestStatsShapes(t *testing.T) {
	t.Run("f64", testStatsShapes[float64])
	t.Run("f32", testStatsShapes[float32])
}

func testStatsShapes[T tiles.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 9))
	for _, kind := range blockedtest.AllKinds() {
		for n := range 14 {
			for _, nb := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 13} {
				g := blockedtest.Normal[T](rnd, n, n)
				what := fmt.Sprintf("%v, n = %d, nb = %d", kind, n, nb)
				a, stats := tiles.From[T](g, kind, nb, tiles.CopyOptions{Stats: true})
				norm, top := 0.0, 0.0
				for j := range n {
					sum := 0.0
					for i := range n {
						sum += math.Abs(float64(a.At(i, j)))
						top = max(top, math.Abs(float64(a.At(i, j))))
					}
					norm = max(norm, sum)
				}
				if math.Abs(stats.Norm-norm) > 1e-14*norm || stats.Max != top || stats.NonFinite {
					t.Fatalf("%s: %+v, want norm %v, max %v", what, stats, norm, top)
				}
				for i := range n {
					for j := range n {
						was, row, col := g.At(i, j), i, j
						v := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[(i+j)%3]
						g.Set(i, j, T(v))
						stored := kind == tiles.Full || blockedtest.InTriangle(kind.Uplo())(i, j)
						if kind == tiles.SymLower {
							row, col = j, i // the first of the two
						}
						_, stats := tiles.From[T](g, kind, nb, tiles.CopyOptions{Stats: true})
						g.Set(i, j, was)
						switch bad := v != v || stats.Norm > math.MaxFloat64; {
						case stats.NonFinite != stored:
							t.Fatalf("%s: %+v with %v at (%d, %d)", what, stats, v, i, j)
						case !stored && (math.Abs(stats.Norm-norm) > 1e-14*norm || stats.Max != top):
							t.Fatalf("%s: %+v with %v at (%d, %d), which is not stored", what, stats, v, i, j)
						case stored && (!bad || stats.Row != row || stats.Col != col || v != v && stats.Norm == stats.Norm):
							t.Fatalf("%s: %+v with %v at (%d, %d)", what, stats, v, i, j)
						}
					}
				}
			}
		}
	}
}
