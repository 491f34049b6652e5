package op

import (
	"slices"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Tntleaf is the parameter of op "tntleaf": the first game of a tournament, between the rows of
// some tiles.
//
// Operands: the tiles from top to bottom (in), at least one, all of n columns; last a *Candidates
// (out). There are min(m, n) winners of m rows; if m ≤ n all rows win, in any order.
type Tntleaf struct {
	Row int // the row of the panel in which the first tile begins
}

// Validate returns an error if a field is out of range.
func (p *Tntleaf) Validate() error { return check("tntleaf", p) }

// tntleafOp defines op "tntleaf".
func tntleafOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "tntleaf", Work: tntleafWork[T], NewParams: fresh[Tntleaf]},
		about: "tournament pivoting of LU: the best rows of some tiles",
		run:   tntleaf[T],
	}
}

// tntleafArgs returns the operands of op "tntleaf": the tiles as they are in the call, the shape
// m×n of the panel that they are, and the winners.
func tntleafArgs[T kernels.Element](call *versions.Call) (tiles []any, m, n int, c *kernels.Candidates[T]) {
	last := len(call.Args) - 1
	c = operand[*kernels.Candidates[T]](call, last)
	m, n = panelDims[T](call.Args[:last])
	return call.Args[:last], m, n, c
}

// tntleafWork returns the work of the factorization, or the number of elements if all rows win.
func tntleafWork[T kernels.Element](call *versions.Call) float64 {
	_, m, n, _ := tntleafArgs[T](call)
	if m <= n {
		return float64(m) * float64(n)
	}
	return getrfFlops(m, n)
}

// tntleaf returns the function of a version of op "tntleaf".
func tntleaf[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	cache := new(listCache[T])
	return func(call *versions.Call) error {
		p := params[Tntleaf](call)
		tiles, m, n, c := tntleafArgs[T](call)
		k := min(m, n)
		c.Resize(k, n)
		c.Rows = slices.Grow(c.Rows[:0], m)[:m]
		for i := range c.Rows {
			c.Rows[i] = i
		}
		c.Info = 0
		if m > n && n > 0 {
			g := newGame(by.lu, call.Work, m, n, c.Tile.Stride)
			for _, t := range tiles {
				g.enter(t.(*kernels.Tile[T]))
			}
			x := cache.get()
			defer cache.put(x)
			c.Info = g.play(by.lu, m, x)
			for i, r := range x.swaps {
				c.Rows[i], c.Rows[r] = c.Rows[r], c.Rows[i]
			}
		}
		c.Rows = c.Rows[:k]
		for i, r := range c.Rows {
			c.Rows[i] = p.Row + r
			b := 0
			for rows := tiles[b].(*kernels.Tile[T]).Rows; r >= rows; rows = tiles[b].(*kernels.Tile[T]).Rows {
				r -= rows
				b++
			}
			copy(c.Tile.Row(i), tiles[b].(*kernels.Tile[T]).Row(r))
		}
		return nil
	}
}
