package op

import (
	"slices"
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
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
		cuda:  versions.Version{Run: cudaTntleaf[T], Memory: cudaTntleafMemory[T]},
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

// cudaTntleaf executes a call of version "cuda" of op "tntleaf". It factors a copy of the tiles, and
// exchanges the rows of another copy as the pivots say. Only the winners come to the host.
func cudaTntleaf[T kernels.Element](call *versions.Call) error {
	p := params[Tntleaf](call)
	tiles, m, n, c := tntleafArgs[T](call)
	k := min(m, n)
	if k == 0 {
		c.Resize(k, n)
		c.Info = 0
		return nil
	}
	f, err := newCUDALU[T](call, tiles, m, n)
	if err != nil {
		return err
	}
	var panel, winners stored
	var elements func() unsafe.Pointer
	if err := untilError(
		func() (err error) { panel, err = f.scratch(n, m); return },
		func() (err error) { winners, err = f.scratch(k, n); return },
		func() error { return f.pack(panel) },
		func() error {
			if m <= n { // all rows win
				return nil
			}
			return untilError(
				func() error { return f.copy(n, m, panel, f.panel) },
				f.factor,
				func() error { return f.s.Laswp(f.typ, m, n, f.columnMajor(panel), k, f.pivots) },
			)
		},
		func() error {
			return f.s.CopyUpper(f.typ, k, n, -k, f.rowMajorT(panel), f.rowMajor(winners), false)
		},
		func() (err error) { elements, err = f.Bring(winners.at, int64(k)*winners.pitch); return },
	); err != nil {
		return err
	}
	f.AtEnd(func() error {
		var swaps []int
		c.Info = 0
		if m > n {
			var err error
			if c.Info, err = f.zero(); err != nil {
				return err
			}
			if swaps, err = appendPivots(nil, f.rows(), m); err != nil {
				return err
			}
		}
		rows := make([]int, m)
		for i := range rows {
			rows[i] = p.Row + i
		}
		for i, r := range swaps {
			rows[i], rows[r] = rows[r], rows[i]
		}
		c.Resize(k, n)
		copy(c.Rows, rows)
		for i, x := 0, unsafe.Slice((*T)(elements()), k*n); i < k; i++ {
			copy(c.Tile.Row(i), x[i*n:][:n])
		}
		return nil
	})
	return nil
}

// cudaTntleafMemory returns the bytes of scratch memory that cudaTntleaf needs: that of getrf, another
// panel, and the winners.
func cudaTntleafMemory[T kernels.Element](call *versions.Call) int64 {
	_, m, n, _ := tntleafArgs[T](call)
	k := min(m, n)
	return int64(3*m+k)*int64(n)*int64(scalar.Size[T]()) + 8*int64(k) + 7*scratchUnit
}
