package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Tntnode is the parameter of op "tntnode", a game between the winners of two games.
//
// Operands: two *Candidates (inout). The first has at least as many rows as there can be
// winners. Afterwards it holds the winners, and the second operand holds the losers,
// which no later task needs.
type Tntnode struct{}

// tntnodeOp defines op "tntnode".
func tntnodeOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "tntnode", Work: tntnodeWork[T], NewParams: fresh[Tntnode]},
		about: "tournament pivoting of LU: the best of two lists of rows",
		run:   tntnode[T],
	}
}

// tntnodeArgs returns the operands of op "tntnode", and the numbers of their rows
// together and of columns.
func tntnodeArgs[T kernels.Element](call *versions.Call) (x, y *kernels.Candidates[T], m, n int) {
	panicIf(len(call.Args) != 2, kernels.ErrArgs)
	x, y = operand[*kernels.Candidates[T]](call, 0), operand[*kernels.Candidates[T]](call, 1)
	m, n = len(x.Rows)+len(y.Rows), x.Tile.Cols
	panicIf(y.Tile.Cols != n || len(x.Rows) < min(m, n) || len(x.Rows) != x.Tile.Rows || len(y.Rows) != y.Tile.Rows, kernels.ErrShape)
	return x, y, m, n
}

// tntnodeWork returns the work of the factorization.
func tntnodeWork[T kernels.Element](call *versions.Call) float64 {
	_, _, m, n := tntnodeArgs[T](call)
	return getrfFlops(m, n)
}

// tntnode returns the function of a version of op "tntnode".
func tntnode[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	cache := new(listCache[T])
	return func(call *versions.Call) error {
		params[Tntnode](call)
		x, y, m, n := tntnodeArgs[T](call)
		g := newGame(by.lu, call.Work, m, n, x.Tile.Stride)
		g.enter(&x.Tile)
		g.enter(&y.Tile)
		a := cache.get()
		defer cache.put(a)
		x.Info = g.play(by.lu, m, a)
		a.blocks = appendBlock(appendBlock(a.blocks[:0], &x.Tile), &y.Tile)
		by.lu.Laswp(n, a.blocks, a.swaps, false)
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
