package kerneltest

import (
	"slices"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// withPanels runs a test of a tournament's round once for each kind of panel: "normal" panels, and "exact" ones, in
// which no arithmetic rounds, so that there is one right choice of pivots. gen makes an m×n panel.
func (s *suite[T]) withPanels(t *testing.T, test func(t *testing.T, exact bool, gen func(m, n int) func(i, j int) float64)) {
	t.Run("normal", func(t *testing.T) {
		test(t, false, func(m, n int) func(i, j int) float64 { return s.normal(m, n, 1) })
	})
	t.Run("exact", func(t *testing.T) { test(t, true, s.exact) })
}

// wantWinners fails t unless c holds min(m, n) different rows of the m×n panel f, with the elements of f. The panel
// begins at row from. If exact is set and m > n, they must be the rows that Gaussian elimination with partial
// pivoting chooses, in that order, and c.Info must be that of the elimination.
func wantWinners[T kernels.Element](t *testing.T, c *kernels.Candidates[T], from, m, n int, exact bool, f func(i, j int) float64) {
	t.Helper()
	k := min(m, n)
	if len(c.Rows) != k || c.Tile.Rows != k || c.Tile.Cols != n {
		t.Fatalf("%d rows, tile %d×%d of %d×%d", len(c.Rows), c.Tile.Rows, c.Tile.Cols, m, n)
	}
	seen := make([]bool, m)
	for i, r := range c.Rows {
		r -= from
		if r < 0 || r >= m || seen[r] {
			t.Fatalf("%d×%d: row %d among %v", m, n, r, c.Rows)
		}
		seen[r] = true
		for j := range n {
			if got, want := c.Tile.At(i, j), T(f(r, j)); got != want {
				t.Fatalf("%d×%d: row %d, column %d: %v, want %v", m, n, i, j, got, want)
			}
		}
	}
	if !exact || m <= n {
		return
	}
	swaps, u := referencePivots(m, n, f)
	for i, r := range permutation(m, swaps)[:k] {
		if c.Rows[i] != from+r {
			t.Fatalf("%d×%d: winners %v, pivots %v", m, n, c.Rows, swaps)
		}
	}
	if info := slices.Index(u, 0) + 1; c.Info != info {
		t.Fatalf("%d×%d: info %d, want %d", m, n, c.Info, info)
	}
}

func (s *suite[T]) Tntleaf(t *testing.T) {
	operands := func(c *panelCase[T], out *kernels.Candidates[T]) []any {
		return append(c.args()[:len(c.tiles)], out)
	}
	s.withPanels(t, func(t *testing.T, exact bool, gen func(m, n int) func(i, j int) float64) {
		panelSizes(func(m, n int) {
			f := gen(m, n)
			c := s.stack(m, n, f)
			a0 := c.clone()
			for _, out := range []*kernels.Candidates[T]{kernels.NewCandidates[T](m, n), {Info: 3}} {
				s.must(t, &op.Tntleaf{Row: 70}, operands(c, out)...)
				wantWinners(t, out, 70, m, n, exact, f)
			}
			for i := range c.tiles {
				identical(t, "tile", c.tiles[i], a0.tiles[i])
			}
		})
	})
	t.Run("allocations", func(t *testing.T) {
		s.noAllocs(t, &op.Tntleaf{}, operands(s.stack(90, 33, s.normal(90, 33, 1)), kernels.NewCandidates[T](90, 33))...)
	})
	s.work(t, 12, &op.Tntleaf{}, newTile[T](3, 4, 0), &kernels.Candidates[T]{})
	s.work(t, 14, &op.Tntleaf{}, newTile[T](7, 1, 0), &kernels.Candidates[T]{})
}

// winners returns candidates with all rows of an m×n panel f that begins at row from.
func winners[T kernels.Element](from, m, n int, f func(i, j int) float64) *kernels.Candidates[T] {
	c := kernels.NewCandidates[T](m, n)
	c.Tile.Rows = m
	c.Tile.Data = make([]T, m*c.Tile.Stride)
	for i := range m {
		c.Rows = append(c.Rows, from+i)
		for j := range n {
			c.Tile.Set(i, j, T(f(i, j)))
		}
	}
	return c
}

func (s *suite[T]) Tntnode(t *testing.T) {
	s.withPanels(t, func(t *testing.T, exact bool, gen func(m, n int) func(i, j int) float64) {
		for _, n := range []int{1, 2, 5, 16, 17, 33, 64, 100} {
			for _, m := range []int{n, n + 1, n + n/2, 2 * n} {
				f := gen(m, n)
				x := winners[T](5, n, n, f)
				y := winners[T](5+n, m-n, n, func(i, j int) float64 { return f(n+i, j) })
				s.must(t, &op.Tntnode{}, x, y)
				wantWinners(t, x, 5, m, n, exact, f)
			}
		}
	})
	t.Run("allocations", func(t *testing.T) {
		f := s.normal(33, 33, 1)
		s.noAllocs(t, &op.Tntnode{}, winners[T](0, 33, 33, f), winners[T](33, 33, 33, f))
	})
	f := s.normal(1, 1, 1)
	s.work(t, 4, &op.Tntnode{}, winners[T](0, 1, 1, f), winners[T](1, 1, 1, f))
}

func (s *suite[T]) Tntroot(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 40} {
		for _, m := range []int{n, n + 1, 3*n + 1} {
			c := &kernels.Candidates[T]{Rows: s.rnd.Perm(m)[:n]}
			rows := slices.Clone(c.Rows)
			piv := kernels.Pivots{Info: 7}
			s.must(t, &op.Tntroot{Offset: 100}, c, &piv)
			for i, r := range piv.Rows {
				if r < i {
					t.Fatalf("row %d exchanged with row %d", i, r)
				}
			}
			if got := permutation(m, piv.Rows)[:n]; !slices.Equal(got, rows) || !slices.Equal(c.Rows, rows) || piv.Info != 0 {
				t.Fatalf("rows %v on top, want %v; info %d", got, rows, piv.Info)
			}
			c.Info = 2
			s.must(t, &op.Tntroot{Offset: 100}, c, &piv)
			if piv.Info != 102 {
				t.Errorf("info %d, want 102", piv.Info)
			}
			s.noAllocs(t, &op.Tntroot{}, c, &piv)
		}
	}
	s.work(t, 9, &op.Tntroot{}, &kernels.Candidates[T]{Rows: make([]int, 3)}, &kernels.Pivots{})
}
