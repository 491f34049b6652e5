package op

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// Laswp is the parameter of op "laswp" (LAPACK xLASWP), which applies the interchanges of a panel
// to another column of tiles: B = Pᵀ·B, as getrf did to its panel, or B = P·B if Inverse, with the
// interchanges in reverse order.
//
// Operands: a *Pivots (in), then the tiles from top to bottom (inout), at least one. The tiles have
// the same number of columns, and the same rows as the tiles of the panel.
//
// It panics with kernels.ErrShape if there are more interchanges than rows, and with cpu.ErrPivots if
// a pivot is out of range.
type Laswp struct {
	Inverse bool
}

// laswpOp defines op "laswp".
func laswpOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "laswp", Work: laswpWork[T], NewParams: fresh[Laswp]},
		about: "exchanges of rows, as LU pivots",
		run:   laswp[T],
		cuda:  versions.Version{Run: cudaLaswp[T], Memory: cudaLaswpMemory[T]},
	}
}

// laswpArgs returns the operands of op "laswp".
func laswpArgs[T kernels.Element](call *versions.Call) (tiles []any, m, n int, piv *kernels.Pivots) {
	piv = operand[*kernels.Pivots](call, 0)
	tiles = call.Args[1:]
	m, n = panelDims[T](tiles)
	return tiles, m, n, piv
}

// laswpWork returns 2·n·r, where r is the number of rows of the first tile: a square panel tile has
// r pivots. It does not read the pivots, which a task may still be computing.
func laswpWork[T kernels.Element](call *versions.Call) float64 {
	tiles, _, n, _ := laswpArgs[T](call)
	return 2 * float64(tiles[0].(*kernels.Tile[T]).Rows) * float64(n)
}

// laswp returns the function of a version of op "laswp".
func laswp[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	cache := new(listCache[T])
	return func(call *versions.Call) error {
		p := params[Laswp](call)
		tiles, m, n, piv := laswpArgs[T](call)
		panicIf(len(piv.Rows) > m, kernels.ErrShape)
		x := cache.get()
		defer cache.put(x)
		x.blocks = blocks(x.blocks[:0], tiles)
		by.lu.Laswp(n, x.blocks, piv.Rows, p.Inverse)
		return nil
	}
}

// cudaLaswp is the function of version "cuda" of op "laswp". For each chunk of interchanges, the host
// computes where each row ends. The device then copies the rows that move to scratch, and from there
// to their new places.
func cudaLaswp[T kernels.Element](call *versions.Call) error {
	p := params[Laswp](call)
	tiles, m, n, piv := laswpArgs[T](call)
	panicIf(len(piv.Rows) > m, kernels.ErrShape)
	for _, r := range piv.Rows {
		if r < 0 || r >= m {
			panic(cpu.ErrPivots)
		}
	}
	q := queueOf[T](call)
	if n == 0 || len(piv.Rows) == 0 {
		return nil
	}
	chunk := laswpChunk[T](tiles)
	rows, err := q.scratch(min(m, 2*chunk), n)
	if err != nil {
		return err
	}
	places := make([]stored, 0, m) // the place of each row
	for i := range tiles {
		x := q.operand(i + 1)
		for r := range tiles[i].(*kernels.Tile[T]).Rows {
			places = append(places, q.from(x, r, 0))
		}
	}
	chunks := (len(piv.Rows)-1)/chunk + 1
	for c := range chunks {
		if p.Inverse {
			c = chunks - 1 - c
		}
		lo, hi := c*chunk, min((c+1)*chunk, len(piv.Rows))
		if err := q.move(rowMoves(m, lo, piv.Rows[lo:hi], p.Inverse), n, places, rows); err != nil {
			return err
		}
	}
	return nil
}

// laswpChunk returns how many interchanges one pass on the device does: as many as the first tile has
// rows. A panel of getrf has no more of them than that, so one pass does a panel.
func laswpChunk[T kernels.Element](tiles []any) int { return max(1, tiles[0].(*kernels.Tile[T]).Rows) }

// move moves rows of n elements through scratch. at[i] is the place of row i.
//
// Its table has len(moves) pairs of addresses that copy rows to scratch, then as many that copy them
// to their new places. One call of CopyVectors does each half, since old and new places overlap.
func (q queue[T]) move(moves []rowMove, n int, at []stored, scratch stored) error {
	if len(moves) == 0 {
		return nil
	}
	table := make([]byte, 0, 2*len(moves)*vectorPair)
	pair := func(dst, src stored) {
		table = binary.LittleEndian.AppendUint64(table, uint64(dst.at))
		table = binary.LittleEndian.AppendUint64(table, uint64(src.at))
	}
	for i, v := range moves {
		pair(q.from(scratch, i, 0), at[v.from])
	}
	for i, v := range moves {
		pair(at[v.to], q.from(scratch, i, 0))
	}
	pairs, err := q.Upload(table)
	if err != nil {
		return err
	}
	if err := q.s.CopyVectors(q.typ, n, len(moves), pairs); err != nil {
		return err
	}
	return q.s.CopyVectors(q.typ, n, len(moves), pairs+cuda.Ptr(vectorPair*len(moves)))
}

// vectorPair is the size of a pair of addresses in such a table, in bytes.
const vectorPair = 16

// rowMove says that row from becomes row to.
type rowMove struct{ to, from int }

// rowMoves returns the moves of m rows after the interchanges of rows first+i and with[i], in the
// order i = 0, 1, …, or in reverse order if backward. Rows that stay are left out.
func rowMoves(m, first int, with []int, backward bool) []rowMove {
	now := make([]int, m) // the original row at each place
	for i := range now {
		now[i] = i
	}
	for i := range with {
		if backward {
			i = len(with) - 1 - i
		}
		now[first+i], now[with[i]] = now[with[i]], now[first+i]
	}
	var moves []rowMove
	for to, from := range now {
		if to != from {
			moves = append(moves, rowMove{to, from})
		}
	}
	return moves
}

// cudaLaswpMemory returns an upper bound of the scratch memory of cudaLaswp, in bytes. It does not
// read the pivots, which a task may still be computing.
func cudaLaswpMemory[T kernels.Element](call *versions.Call) int64 {
	tiles, m, n, _ := laswpArgs[T](call)
	chunk := laswpChunk[T](tiles)
	chunks := int64(m/chunk + 1)
	rows := int64(min(m, 2*chunk)) * int64(n) * int64(scalar.Size[T]())
	return rows + chunks*int64(4*chunk*vectorPair) + (1+chunks)*scratchUnit
}
