package op

import (
	"slices"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// game is the scratch memory for one game of a tournament, with m rows of n elements.
//
// Tournament pivoting (CALU) finds the n pivot rows of a panel of n columns without eliminating
// the whole panel:
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
// Each game factors some rows of the panel, as they are before any elimination, with partial
// pivoting in a copy. The rows that become pivots play in the next round, in the order of the
// pivots.
//
// Reference: L. Grigori, J. W. Demmel and H. Xiang, "CALU: a communication optimal LU
// factorization algorithm", SIAM J. Matrix Anal. Appl. 32 (2011).
type game[T kernels.Element] struct {
	n, ld      int
	rows, work []T

	at int // index in rows where enter puts the next row
}

// newGame returns a game for m rows of n elements, which are ld elements apart in its memory.
func newGame[T kernels.Element](l *cpu.LU[T], w *versions.Workspace, m, n, ld int) game[T] {
	scratch := versions.Scratch[T](w, m*ld+l.Work(m, n))
	return game[T]{n: n, ld: ld, rows: scratch[:m*ld], work: scratch[m*ld:]}
}

// enter appends the rows of t.
func (g *game[T]) enter(t *kernels.Tile[T]) {
	for r := range t.Rows {
		copy(g.rows[g.at:], t.Row(r))
		g.at += g.ld
	}
}

// play factors the m rows and sets x.swaps to the interchanges. It returns the number, from 1, of the
// first column without a pivot other than zero, or 0.
func (g *game[T]) play(l *cpu.LU[T], m int, x *lists[T]) (info int) {
	k := min(m, g.n)
	x.swaps = slices.Grow(x.swaps[:0], k)[:k]
	x.blocks = append(x.blocks[:0], cpu.Block[T]{Rows: m, Stride: g.ld, Data: g.rows})
	return l.Getrf(g.n, x.blocks, x.swaps, g.work)
}
