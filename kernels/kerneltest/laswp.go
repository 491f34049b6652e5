package kerneltest

import (
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

func (s *suite[T]) Laswp(t *testing.T) {
	forth, back := &op.Laswp{}, &op.Laswp{Inverse: true}
	random := func(m, n int) *panelCase[T] {
		c := s.stack(m, n, s.normal(m, n, 1))
		c.piv.Rows = make([]int, s.rnd.IntN(m+1))
		for i := range c.piv.Rows {
			c.piv.Rows[i] = i + s.rnd.IntN(m-i)
		}
		return c
	}
	t.Run("sizes", func(t *testing.T) {
		panelSizes(func(m, n int) {
			c := random(m, n)
			a0 := c.clone()
			s.must(t, forth, c.swapArgs()...)
			perm := permutation(m, c.piv.Rows)
			for i, j := range cells(m, n) {
				if got, want := c.at(i, j), a0.at(perm[i], j); got != want {
					t.Fatalf("%v: (%d, %d) is %v, want %v", c, i, j, got, want)
				}
			}
			for i := range c.tiles {
				untouched(t, c.String(), c.tiles[i], a0.tiles[i], func(i, j int) bool { return true })
			}
			s.must(t, back, c.swapArgs()...)
			for i := range c.tiles {
				identical(t, "there and back", c.tiles[i], a0.tiles[i])
			}
		})
	})
	t.Run("allocations", func(t *testing.T) {
		s.noAllocs(t, forth, random(90, 33).swapArgs()...)
	})
	s.work(t, 12, forth, &kernels.Pivots{}, newTile[T](3, 2, 0), newTile[T](1, 2, 0))
}

// swapArgs returns the operands of laswp.
func (c *panelCase[T]) swapArgs() []any {
	args := []any{&c.piv}
	for _, t := range c.tiles {
		args = append(args, t)
	}
	return args
}

func (s *suite[T]) Lapmt(t *testing.T) {
	forth, back := &op.Lapmt{}, &op.Lapmt{Inverse: true}
	random := func(m, n, nb int) (args []any, tiles []*kernels.Tile[T]) {
		piv := &kernels.Pivots{Rows: make([]int, s.rnd.IntN(n+1))}
		for i := range piv.Rows {
			piv.Rows[i] = i + s.rnd.IntN(n-i)
		}
		args = append(args, piv)
		for j := 0; j < n; j += nb {
			tile := newTile[T](m, min(nb, n-j), s.rnd.IntN(3))
			s.fill(tile, 1, nil)
			s.mark(tile, nil)
			args, tiles = append(args, tile), append(tiles, tile)
		}
		return args, tiles
	}
	t.Run("sizes", func(t *testing.T) {
		for m, n := range pairs([]int{0, 1, 7, 8, 9, 17}, []int{1, 2, 5, 16, 23}) {
			for _, nb := range []int{1, 3, 8, 30} {
				args, tiles := random(m, n, nb)
				var before []*kernels.Tile[T]
				for _, x := range tiles {
					before = append(before, clone(x))
				}
				s.must(t, forth, args...)
				// B·P has the columns where Pᵀ·Bᵀ has the rows.
				perm := permutation(n, args[0].(*kernels.Pivots).Rows)
				for i, j := range cells(m, n) {
					got, want := tiles[j/nb].At(i, j%nb), before[perm[j]/nb].At(i, perm[j]%nb)
					if got != want {
						t.Fatalf("%d×%d in tiles of %d: (%d, %d) is %v, want %v", m, n, nb, i, j, got, want)
					}
				}
				for i := range tiles {
					untouched(t, "lapmt", tiles[i], before[i], func(i, j int) bool { return true })
				}
				s.must(t, back, args...)
				for i := range tiles {
					identical(t, "there and back", tiles[i], before[i])
				}
			}
		}
	})
	t.Run("allocations", func(t *testing.T) {
		args, _ := random(19, 40, 16)
		s.noAllocs(t, back, args...)
	})
	s.work(t, 12, forth, &kernels.Pivots{Rows: []int{1, 2}}, newTile[T](3, 4, 0))
}
