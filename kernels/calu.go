package kernels

import (
	"slices"
	"unsafe"
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
}

// NewCandidates returns room for the winners of a game of the given number of
// rows of n elements.
func NewCandidates[T Element](rows, n int) *Candidates[T] {
	c := &Candidates[T]{Rows: make([]int, 0, rows)}
	c.Resize(min(rows, n), n)
	c.Resize(0, n)
	return c
}

// Resize makes room for the given number of rows of n elements, in the memory that c
// has if that is enough. What the rows hold is undefined.
func (c *Candidates[T]) Resize(rows, n int) {
	line := 64 / int(unsafe.Sizeof(*new(T))) // a row takes whole cache lines
	ld := max((n+line-1)/line*line, 1)
	c.Rows = slices.Grow(c.Rows[:0], rows)[:rows]
	c.Tile = Tile[T]{Rows: rows, Cols: n, Stride: ld, Data: slices.Grow(c.Tile.Data[:0], rows*ld)[:rows*ld]}
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
