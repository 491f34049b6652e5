package kerneltest

import (
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Laswp is the suite of op "laswp".
func Laswp(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, laswpSuite[float32], laswpSuite[float64], v)
}

func laswpSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(7, 1))
	r := &runner{v: v}
	forth, back := &kernels.Laswp{}, &kernels.Laswp{Inverse: true}
	random := func(m, n int) *panelCase[T] {
		c := stack[T](rnd, m, n, normal(rnd, m, n, 1))
		c.piv.Rows = make([]int, rnd.IntN(m+1))
		for i := range c.piv.Rows {
			c.piv.Rows[i] = i + rnd.IntN(m-i)
		}
		return c
	}
	t.Run("sizes", func(t *testing.T) {
		panelSizes(func(m, n int) {
			c := random(m, n)
			a0 := c.clone()
			r.must(t, forth, c.swapArgs()...)
			perm := permutation(m, c.piv.Rows)
			for i := range m {
				for j := range n {
					if got, want := c.at(i, j), a0.at(perm[i], j); got != want {
						t.Fatalf("%v: (%d, %d) is %v, want %v", c, i, j, got, want)
					}
				}
			}
			for i := range c.tiles {
				untouched(t, c.String(), c.tiles[i], a0.tiles[i], func(i, j int) bool { return true })
			}
			r.must(t, back, c.swapArgs()...)
			for i := range c.tiles {
				identical(t, "there and back", c.tiles[i], a0.tiles[i])
			}
		})
	})
	t.Run("allocations", func(t *testing.T) {
		r.noAllocs(t, forth, random(90, 33).swapArgs()...)
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: forth, Args: []any{&kernels.Pivots{}, newTile[T](3, 2, 0), newTile[T](1, 2, 0)}}
		if got := op.Work(c); got != 12 {
			t.Errorf("work %v, want 12", got)
		}
	})
}

// swapArgs returns the operands of laswp.
func (c *panelCase[T]) swapArgs() []any {
	args := []any{&c.piv}
	for _, t := range c.tiles {
		args = append(args, t)
	}
	return args
}
