package blocked_test

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"gonum.org/v1/gonum/blas"
)

// TestTranspose: transposes, mirror images and matrices with zeros below, in ragged tiles.
func TestTranspose(t *testing.T) {
	const nb = 4
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	fill := func(kind blocked.Kind, m, n int) *blocked.Matrix[float64] {
		a := blocked.New[float64](kind, m, n, nb)
		for i := range m {
			for j := range n {
				if kind == blocked.Full || kind.Uplo() == blas.Upper && i <= j || kind.Uplo() == blas.Lower && i >= j {
					a.Set(i, j, float64(1+min(i, j)*100+max(i, j)))
					if kind == blocked.Full {
						a.Set(i, j, float64(1+i*100+j))
					}
				}
			}
		}
		return a
	}
	check := func(what string, b *blocked.Matrix[float64], want func(i, j int) float64, submit func(p *blocked.Program[float64]) error) {
		t.Helper()
		for i, j := range b.StoredTiles() { // what was there does not matter
			for r := range b.Tile(i, j).Rows {
				for c := range b.Tile(i, j).Cols {
					b.Tile(i, j).Set(r, c, -7)
				}
			}
		}
		if _, err := blockedtest.Compute(t, rt, submit); err != nil {
			t.Fatal(err)
		}
		m, n := b.Dims()
		for i := range m {
			for j := range n {
				if got := b.At(i, j); got != want(i, j) {
					t.Fatalf("%s: (%d, %d) is %g, want %g", what, i, j, got, want(i, j))
				}
			}
		}
	}
	for _, size := range [][2]int{{1, 1}, {4, 8}, {9, 5}, {3, 11}} {
		m, n := size[0], size[1]
		a, b := fill(blocked.Full, m, n), blocked.New[float64](blocked.Full, n, m, nb)
		check(fmt.Sprint(size), b, func(i, j int) float64 { return a.At(j, i) }, func(p *blocked.Program[float64]) error { return p.Transpose(a, b) })
		high := blocked.New[float64](blocked.Full, m+n, n, nb)
		check(fmt.Sprint("top of ", size), high, func(i, j int) float64 {
			if i < m {
				return a.At(i, j)
			}
			return 0
		}, func(p *blocked.Program[float64]) error { return p.CopyTop(a, high) })
	}
	for _, from := range []blocked.Kind{blocked.SymLower, blocked.SymUpper} {
		for _, to := range []blocked.Kind{blocked.Full, blocked.SymLower, blocked.SymUpper} {
			a, b := fill(from, 11, 11), blocked.New[float64](to, 11, 11, nb)
			if to == blocked.Full {
				check(fmt.Sprint(from, " as a whole"), b, a.At, func(p *blocked.Program[float64]) error { return p.Whole(a, b) })
			}
			check(fmt.Sprint(from, " to ", to), b, a.At, func(p *blocked.Program[float64]) error { return p.Transpose(a, b) })
		}
	}
	for _, kind := range []blocked.Kind{blocked.Full, blocked.TriLower, blocked.TriUpper} {
		a, b := fill(kind, 11, 11), blocked.New[float64](blocked.Full, 11, 11, nb)
		check(fmt.Sprint(kind, " as a whole"), b, a.At, func(p *blocked.Program[float64]) error { return p.Whole(a, b) })
	}
}
