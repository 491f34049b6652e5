package kerneltest

import (
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Lapmt is the suite of op "lapmt".
func Lapmt(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, lapmtSuite[float32], lapmtSuite[float64], v)
}

func lapmtSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(10, 1))
	r := &runner{v: v}
	forth, back := &kernels.Lapmt{}, &kernels.Lapmt{Inverse: true}
	random := func(m, n, nb int) (args []any, tiles []*kernels.Tile[T]) {
		piv := &kernels.Pivots{Rows: make([]int, rnd.IntN(n+1))}
		for i := range piv.Rows {
			piv.Rows[i] = i + rnd.IntN(n-i)
		}
		args = append(args, piv)
		for j := 0; j < n; j += nb {
			tile := newTile[T](m, min(nb, n-j), rnd.IntN(3))
			fill(rnd, tile, 1, nil)
			mark(rnd, tile, nil)
			args, tiles = append(args, tile), append(tiles, tile)
		}
		return args, tiles
	}
	t.Run("sizes", func(t *testing.T) {
		for _, m := range []int{0, 1, 7, 8, 9, 17} {
			for _, n := range []int{1, 2, 5, 16, 23} {
				for _, nb := range []int{1, 3, 8, 30} {
					args, tiles := random(m, n, nb)
					var before []*kernels.Tile[T]
					for _, x := range tiles {
						before = append(before, clone(x))
					}
					r.must(t, forth, args...)
					// B·P has the columns where Pᵀ·Bᵀ has the rows.
					perm := permutation(n, args[0].(*kernels.Pivots).Rows)
					for i := range m {
						for j := range n {
							got, want := tiles[j/nb].At(i, j%nb), before[perm[j]/nb].At(i, perm[j]%nb)
							if got != want {
								t.Fatalf("%d×%d in tiles of %d: (%d, %d) is %v, want %v", m, n, nb, i, j, got, want)
							}
						}
					}
					for i := range tiles {
						untouched(t, "lapmt", tiles[i], before[i], func(i, j int) bool { return true })
					}
					r.must(t, back, args...)
					for i := range tiles {
						identical(t, "there and back", tiles[i], before[i])
					}
				}
			}
		}
	})
	t.Run("allocations", func(t *testing.T) {
		args, _ := random(19, 40, 16)
		r.noAllocs(t, back, args...)
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: forth, Args: []any{&kernels.Pivots{Rows: []int{1, 2}}, newTile[T](3, 4, 0)}}
		if got := op.Work(c); got != 12 {
			t.Errorf("work %v, want 12", got)
		}
	})
}
