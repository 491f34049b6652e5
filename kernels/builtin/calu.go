package builtin

import (
	"slices"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// game is scratch for a game of m rows of n elements.
type game[T kernels.Element] struct {
	n, ld      int
	rows, work []T
	at         int // where the next row comes in rows
}

func newGame[T kernels.Element](l *cpu.LU[T], w *versions.Workspace, m, n, ld int) game[T] {
	scratch := versions.Scratch[T](w, m*ld+l.Work(m, n))
	return game[T]{n: n, ld: ld, rows: scratch[:m*ld], work: scratch[m*ld:]}
}

// enter copies the rows of t behind those that are there.
func (g *game[T]) enter(t *kernels.Tile[T]) {
	for r := range t.Rows {
		copy(g.rows[g.at:], t.Row(r))
		g.at += g.ld
	}
}

// play factors the m rows with the interchanges x.swaps and returns the column, from
// 1, in which there was no pivot but zero, or 0.
func (g *game[T]) play(l *cpu.LU[T], m int, x *lists[T]) (info int) {
	k := min(m, g.n)
	x.swaps = slices.Grow(x.swaps[:0], k)[:k]
	x.blocks = append(x.blocks[:0], cpu.Block[T]{Rows: m, Stride: g.ld, Data: g.rows})
	return l.Getrf(g.n, x.blocks, x.swaps, g.work)
}

// tntleaf returns the function of a version of op "tntleaf".
func tntleaf[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) error {
	lent := new(lender[T])
	return func(call *versions.Call) error {
		p := params[kernels.Tntleaf](call)
		tiles, m, n, c := tntleafArgs[T](call)
		k := min(m, n)
		c.Resize(k, n)
		c.Rows = slices.Grow(c.Rows[:0], m)[:m]
		for i := range c.Rows {
			c.Rows[i] = i
		}
		c.Info = 0
		if m > n && n > 0 {
			g := newGame(l, call.Work, m, n, c.Tile.Stride)
			for _, t := range tiles {
				g.enter(t.(*kernels.Tile[T]))
			}
			x := lent.get()
			defer lent.put(x)
			c.Info = g.play(l, m, x)
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

// tntleafArgs returns the operands of op "tntleaf", the tiles as they are in
// the call, and their dimensions.
func tntleafArgs[T kernels.Element](call *versions.Call) (tiles []any, m, n int, c *kernels.Candidates[T]) {
	last := len(call.Args) - 1
	c = operand[*kernels.Candidates[T]](call, last)
	m, n = panelDims[T](call.Args[:last])
	return call.Args[:last], m, n, c
}

// tntleafWork returns the work of the factorization, or the number of elements
// where there is none.
func tntleafWork[T kernels.Element](call *versions.Call) float64 {
	_, m, n, _ := tntleafArgs[T](call)
	if m <= n {
		return float64(m) * float64(n)
	}
	return getrfFlops(m, n)
}

// tntnode returns the function of a version of op "tntnode".
func tntnode[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) error {
	lent := new(lender[T])
	return func(call *versions.Call) error {
		params[kernels.Tntnode](call)
		x, y, m, n := tntnodeArgs[T](call)
		g := newGame(l, call.Work, m, n, x.Tile.Stride)
		g.enter(&x.Tile)
		g.enter(&y.Tile)
		a := lent.get()
		defer lent.put(a)
		x.Info = g.play(l, m, a)
		a.blocks = appendBlock(appendBlock(a.blocks[:0], &x.Tile), &y.Tile)
		l.Laswp(n, a.blocks, a.swaps, false)
		for i, r := range a.swaps {
			if r < len(x.Rows) {
				x.Rows[i], x.Rows[r] = x.Rows[r], x.Rows[i]
			} else {
				r -= len(x.Rows)
				x.Rows[i], y.Rows[r] = y.Rows[r], x.Rows[i]
			}
		}
		return nil
	}
}

// tntnodeArgs returns the operands of op "tntnode", the number of rows and that
// of columns.
func tntnodeArgs[T kernels.Element](call *versions.Call) (x, y *kernels.Candidates[T], m, n int) {
	if len(call.Args) != 2 {
		panic(kernels.ErrArgs)
	}
	x, y = operand[*kernels.Candidates[T]](call, 0), operand[*kernels.Candidates[T]](call, 1)
	m, n = len(x.Rows)+len(y.Rows), x.Tile.Cols
	if y.Tile.Cols != n || len(x.Rows) < min(m, n) || len(x.Rows) != x.Tile.Rows || len(y.Rows) != y.Tile.Rows {
		panic(kernels.ErrShape)
	}
	return x, y, m, n
}

// tntnodeWork returns the work of the factorization.
func tntnodeWork[T kernels.Element](call *versions.Call) float64 {
	_, _, m, n := tntnodeArgs[T](call)
	return getrfFlops(m, n)
}

// tntroot is the function of the versions of op "tntroot".
func tntroot[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Tntroot](call)
	c, v := tntrootArgs[T](call)
	k := len(c.Rows)
	if cap(v.Rows) < k {
		v.Rows = make([]int, k)
	}
	v.Rows = v.Rows[:k]
	for i, r := range c.Rows {
		// Where the exchanges so far have taken row r.
		for j, s := range v.Rows[:i] {
			switch r {
			case j:
				r = s
			case s:
				r = j
			}
		}
		v.Rows[i] = r
	}
	v.Info = info(p.Offset, c.Info)
	return nil
}

func tntrootArgs[T kernels.Element](call *versions.Call) (c *kernels.Candidates[T], v *kernels.Pivots) {
	if len(call.Args) != 2 {
		panic(kernels.ErrArgs)
	}
	return operand[*kernels.Candidates[T]](call, 0), operand[*kernels.Pivots](call, 1)
}

// tntrootWork returns the comparisons.
func tntrootWork[T kernels.Element](call *versions.Call) float64 {
	c, _ := tntrootArgs[T](call)
	return float64(len(c.Rows)) * float64(len(c.Rows))
}
