package la_test

import (
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

// tallLU returns both factors and the pivots of a, factored on an engine with the
// options given, and the tile size.
func tallLU[T la.Element](t *testing.T, a la.General[T], opt la.Options) (la.General[T], []int, int) {
	t.Helper()
	f := la.NewLU[T](start(t, opt))
	if err := f.Factorize(a); err != nil {
		t.Fatal(err)
	}
	g := padded[T](a.Rows, a.Cols, 0)
	f.FactorTo(g)
	nb, _ := f.TileSize(a.Rows, a.Cols)
	return g, f.Pivots(nil), nb
}

// A tall matrix is factored in panels that the workers share as one worker factors
// it.
func TestLUTall(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testLUTall[float64](t, 1e-10) })
	t.Run("float32", func(t *testing.T) { testLUTall[float32](t, 1e-2) })
}

func testLUTall[T la.Element](t *testing.T, tol T) {
	for _, s := range [][2]int{{24576 + 77, 24}, {24576, 200}} {
		m, n := s[0], s[1]
		a := rectangle[T](t, matgen.Spec{Kind: matgen.Random, M: m, N: n, Seed: uint64(n)}, 3)
		want, pivots, _ := tallLU(t, a, la.Options{Workers: 1, Static: true, Float: true})
		got, p, nb := tallLU(t, a, la.Options{Workers: 3, Static: true, Float: true})
		t.Logf("%d×%d: tiles of %d", m, n, nb)
		if !slices.Equal(p, pivots) {
			t.Errorf("%d×%d: other pivots", m, n)
		}
		// Other tiles, other roundings.
		for i := range m {
			for j := range n {
				if d := got.At(i, j) - want.At(i, j); d > tol || d < -tol {
					t.Fatalf("%d×%d: element (%d, %d) is %v, want %v", m, n, i, j, got.At(i, j), want.At(i, j))
				}
			}
		}
	}
}

// TestLUTallDeterministic: whichever workers share a panel, the bits are the same.
func TestLUTallDeterministic(t *testing.T) {
	const m, n = 24576 + 5, 136
	a := rectangle[float32](t, matgen.Spec{Kind: matgen.Random, M: m, N: n, Seed: 6}, 0)
	want, pivots, nb := tallLU(t, a, la.Options{Workers: 1, Deterministic: true, Float: true})
	for _, workers := range []int{2, 5} {
		got, p, again := tallLU(t, a, la.Options{Workers: workers, Deterministic: true, Float: true})
		if again != nb || !slices.Equal(p, pivots) {
			t.Errorf("%d workers: tiles of %d and %d, or other pivots", workers, again, nb)
		}
		for i := range m {
			if x, y := got.Data[i*n:(i+1)*n], want.Data[i*n:(i+1)*n]; !slices.Equal(x, y) {
				t.Fatalf("%d workers: row %d is\n%v\nand with one\n%v", workers, i, x, y)
			}
		}
	}
}

// TestLUTallTileSize: panels are as wide as is good for sharing them only where a
// version that shares them may be chosen.
func TestLUTallTileSize(t *testing.T) {
	const m, n = 65536, 512
	size := func(opt la.Options) int {
		opt.Workers, opt.Float = 2, true
		nb, _ := la.NewLU[float64](start(t, opt)).TileSize(m, n)
		return nb
	}
	usual, _ := engine.TileSize[float64](start(t, la.Options{Workers: 2, Float: true}), engine.OpLU, n, m)
	if nb := size(la.Options{Only: []string{"go"}}); nb != usual {
		t.Errorf("tiles of %d with version go, which shares nothing, want %d", nb, usual)
	}
	if nb := size(la.Options{Only: []string{"go"}, Deterministic: true}); nb != usual {
		t.Errorf("deterministic: tiles of %d with version go, want %d", nb, usual)
	}
	e := start(t, la.Options{Workers: 1, Float: true})
	for _, version := range []string{"avx2", "avx512"} {
		x, _ := engine.Explain[float64](e, "getrf", nil)
		for _, v := range x.Versions {
			if v.Name == version && v.Reason == "" {
				if nb := size(la.Options{Only: []string{version}}); nb != 256 {
					t.Errorf("tiles of %d with version %s, want 256", nb, version)
				}
			}
		}
	}
}
