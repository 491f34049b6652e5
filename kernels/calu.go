package kernels

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// The ops of tournament pivoting (CALU), which finds the n pivot rows of a panel
// of n columns without eliminating the panel as a whole:
//
//	tiles    tntleaf   tntnode   tntroot
//	┌──┐
//	├──┤ ───► rows ─┐
//	├──┤            ├─► rows ─┐
//	├──┤ ───► rows ─┘         │
//	├──┤                      ├─► rows ──► Pivots
//	├──┤ ───► rows ───────────┘
//	└──┘
//
// In each of these games some rows of the panel, as they are before any
// elimination, are factored with partial pivoting in a copy, and those that
// became pivots go on, in the order of the pivots.
//
// Reference: L. Grigori, J. W. Demmel and H. Xiang, "CALU: a communication
// optimal LU factorization algorithm", SIAM J. Matrix Anal. Appl. 32 (2011).

// Candidates is the rows of a panel that have won a game, a datum of its own.
type Candidates[T Element] struct {
	// Rows are their indices, counted from the top of the panel.
	Rows []int
	// Tile holds them: row i is row Rows[i] of the panel.
	Tile Tile[T]
	// Info is 0, or the column, from 1, in which the last game had no pivot but
	// zero.
	Info int

	// Of the game; here so that it needs no memory of its own.
	swaps  []int
	blocks [2]cpu.Block[T]
}

// NewCandidates returns room for the winners of a game of the given number of
// rows of n elements.
func NewCandidates[T Element](rows, n int) *Candidates[T] {
	ld := cacheLines[T](n)
	return &Candidates[T]{
		Rows: make([]int, 0, rows), swaps: make([]int, 0, n),
		Tile: Tile[T]{Cols: n, Stride: ld, Data: make([]T, min(rows, n)*ld)},
	}
}

// cacheLines returns the number of elements in the cache lines that n elements
// take.
func cacheLines[T Element](n int) int {
	line := 64 / int(unsafe.Sizeof(*new(T)))
	return max((n+line-1)/line*line, 1)
}

// Tntleaf is the parameter of op "tntleaf", a game of the rows of some tiles.
//
// Operands: the tiles from top to bottom (in), at least one, all of n columns;
// last a *Candidates (out). There are min(m, n) winners, where m is the number
// of rows; if m ≤ n, all, in any order.
type Tntleaf struct {
	Row int // of the panel, in which the first tile begins
}

// Tntnode is the parameter of op "tntnode", a game of the winners of two games.
//
// Operands: *Candidates (inout), at least as many as there can be winners, and
// *Candidates (inout). The first become the winners, the second are the losers,
// of no use any more.
type Tntnode struct{}

// Tntroot is the parameter of op "tntroot", which makes interchanges of the
// winners of the last game: row i of the panel is exchanged with row Rows[i], so
// that the winners become its first rows.
//
// Operands: *Candidates (in), *Pivots (out). Pivots.Info is Candidates.Info plus
// Offset: then there were too few independent rows in the last game, which says
// nothing of the rows that had lost before, and no factorization should be made
// of the pivots.
type Tntroot struct {
	Offset int // global index of the panel's first column
}

// game is scratch for a game of m rows of n elements.
type game[T Element] struct {
	n, ld      int
	rows, work []T
	at         int // where the next row comes in rows
}

func newGame[T Element](l *cpu.LU[T], w *versions.Workspace, m, n int) game[T] {
	ld := cacheLines[T](n)
	scratch := versions.Scratch[T](w, m*ld+l.Work(m, n))
	return game[T]{n: n, ld: ld, rows: scratch[:m*ld], work: scratch[m*ld:]}
}

// enter copies the rows of t behind those that are there.
func (g *game[T]) enter(t *Tile[T]) {
	for r := range t.Rows {
		copy(g.rows[g.at:], t.Row(r))
		g.at += g.ld
	}
}

// play factors the rows and returns the interchanges, which belong to c, of
// which it sets Info.
func (c *Candidates[T]) play(l *cpu.LU[T], g game[T], m int) (swaps []int) {
	k := min(m, g.n)
	if cap(c.swaps) < k {
		c.swaps = make([]int, k)
	}
	c.swaps = c.swaps[:k]
	c.blocks[0] = cpu.Block[T]{Rows: m, Stride: g.ld, Data: g.rows}
	c.Info = l.Getrf(g.n, c.blocks[:1], c.swaps, g.work)
	c.blocks[0] = cpu.Block[T]{}
	return c.swaps
}

// tntleaf returns the function of a version of op "tntleaf".
func tntleaf[T Element](l *cpu.LU[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Tntleaf](call)
		tiles, m, n, c := tntleafArgs[T](call)
		if cap(c.Rows) < m {
			c.Rows = make([]int, m)
		}
		c.Rows = c.Rows[:m]
		for i := range c.Rows {
			c.Rows[i] = i
		}
		c.Info = 0
		if m > n && n > 0 {
			g := newGame(l, call.Work, m, n)
			for _, t := range tiles {
				g.enter(t.(*Tile[T]))
			}
			for i, r := range c.play(l, g, m) {
				c.Rows[i], c.Rows[r] = c.Rows[r], c.Rows[i]
			}
		}
		k := min(m, n)
		c.Rows = c.Rows[:k]
		ld := cacheLines[T](n)
		if cap(c.Tile.Data) < k*ld {
			c.Tile.Data = make([]T, k*ld)
		}
		c.Tile = Tile[T]{Rows: k, Cols: n, Stride: ld, Data: c.Tile.Data[:k*ld]}
		for i, r := range c.Rows {
			c.Rows[i] = p.Row + r
			b := 0
			for rows := tiles[b].(*Tile[T]).Rows; r >= rows; rows = tiles[b].(*Tile[T]).Rows {
				r -= rows
				b++
			}
			copy(c.Tile.Row(i), tiles[b].(*Tile[T]).Row(r))
		}
		return nil
	}
}

// tntleafArgs returns the operands of op "tntleaf", the tiles as they are in
// the call, and their dimensions.
func tntleafArgs[T Element](call *versions.Call) (tiles []any, m, n int, c *Candidates[T]) {
	last := len(call.Args) - 1
	if last < 1 {
		panic(ErrArgs)
	}
	m, n = panelDims[T](call.Args[:last])
	return call.Args[:last], m, n, candidates[T](call, last)
}

func candidates[T Element](call *versions.Call, i int) *Candidates[T] {
	c, ok := call.Args[i].(*Candidates[T])
	if !ok {
		panic(ErrArgs)
	}
	return c
}

// tntleafWork returns the work of the factorization, or the number of elements
// where there is none.
func tntleafWork[T Element](call *versions.Call) float64 {
	_, m, n, _ := tntleafArgs[T](call)
	if m <= n {
		return float64(m) * float64(n)
	}
	return getrfFlops(m, n)
}

// tntnode returns the function of a version of op "tntnode".
func tntnode[T Element](l *cpu.LU[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		params[Tntnode](call)
		x, y, m, n := tntnodeArgs[T](call)
		g := newGame(l, call.Work, m, n)
		g.enter(&x.Tile)
		g.enter(&y.Tile)
		swaps := x.play(l, g, m)
		for i, c := range [...]*Candidates[T]{x, y} {
			x.blocks[i] = cpu.Block[T]{Rows: c.Tile.Rows, Stride: c.Tile.Stride, Data: c.Tile.Data}
		}
		l.Laswp(n, x.blocks[:], swaps, false)
		clear(x.blocks[:])
		for i, r := range swaps {
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
func tntnodeArgs[T Element](call *versions.Call) (x, y *Candidates[T], m, n int) {
	if len(call.Args) != 2 {
		panic(ErrArgs)
	}
	x, y = candidates[T](call, 0), candidates[T](call, 1)
	m, n = len(x.Rows)+len(y.Rows), x.Tile.Cols
	if y.Tile.Cols != n || len(x.Rows) < min(m, n) || len(x.Rows) != x.Tile.Rows || len(y.Rows) != y.Tile.Rows {
		panic(ErrShape)
	}
	return x, y, m, n
}

// tntnodeWork returns the work of the factorization.
func tntnodeWork[T Element](call *versions.Call) float64 {
	_, _, m, n := tntnodeArgs[T](call)
	return getrfFlops(m, n)
}

// tntroot returns the function of a version of op "tntroot".
func tntroot[T Element]() func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Tntroot](call)
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
}

func tntrootArgs[T Element](call *versions.Call) (c *Candidates[T], v *Pivots) {
	if len(call.Args) != 2 {
		panic(ErrArgs)
	}
	v, ok := call.Args[1].(*Pivots)
	if !ok {
		panic(ErrArgs)
	}
	return candidates[T](call, 0), v
}

// tntrootWork returns the comparisons.
func tntrootWork[T Element](call *versions.Call) float64 {
	c, _ := tntrootArgs[T](call)
	return float64(len(c.Rows)) * float64(len(c.Rows))
}

// addTournament gives each of the ops of tournament pivoting, and lapmt, a
// version called name that works with l.
func (o *Ops[T]) addTournament(name string, l *cpu.LU[T], c versions.Constraints) {
	add := func(op *versions.Op, run func(*versions.Call) error) {
		op.Versions = append(op.Versions, versions.Version{Name: name, Constraints: c, Run: run})
	}
	add(o.Lapmt, lapmt[T]())
	add(o.Tntleaf, tntleaf(l))
	add(o.Tntnode, tntnode(l))
	add(o.Tntroot, tntroot[T]())
}
