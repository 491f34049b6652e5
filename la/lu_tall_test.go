package la_test

import (
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

// A tall matrix is factored in panels that the workers share as one worker factors
// it.
func TestLUTall(t *testing.T) {
	for _, n := range []int{24, 200} {
		a := rectangle[float64](t, matgen.Spec{Kind: matgen.Random, M: 16384 + 77, N: n, Seed: uint64(n)}, 3)
		var want la.General[float64]
		var pivots []int
		for _, workers := range []int{1, 3} {
			e := start(t, la.Options{Workers: workers, Static: true, Float: true})
			f := la.NewLU[float64](e)
			nb, _ := f.TileSize(a.Rows, n)
			t.Logf("n = %d, %d workers: tiles of %d", n, workers, nb)
			if err := f.Factorize(a); err != nil {
				t.Fatal(err)
			}
			g := padded[float64](a.Rows, n, 0)
			f.FactorTo(g)
			if workers == 1 {
				want, pivots = g, f.Pivots(nil)
				continue
			}
			if !slices.Equal(f.Pivots(nil), pivots) {
				t.Errorf("n = %d: other pivots", n)
			}
			// Other tiles, other roundings.
			for i := range g.Rows {
				for j := range n {
					if d := g.At(i, j) - want.At(i, j); d > 1e-10 || d < -1e-10 {
						t.Fatalf("n = %d: element (%d, %d) is %v, want %v", n, i, j, g.At(i, j), want.At(i, j))
					}
				}
			}
		}
	}
}
