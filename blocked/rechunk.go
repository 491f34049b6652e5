package blocked

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Rechunk submits B = A, where B may be in tiles of another size:
//
//	┌───────┬───────┐      ┌────┬────┬────┐
//	│       │       │      ├────┼────┼────┤
//	│       │       │  ──► ├────┼────┼────┤
//	└───────┴───────┘      └────┴────┴────┘
//
// A task for each tile of B puts it together of those of A, which are its operands: about
// (nb of B / nb of A)² if the tiles of B are the larger ones. If the matrices are distributed, tiles
// of A go whole, each at most once to each node that needs some of it, and none through this
// process. It panics with ErrKind or ErrShape if A and B are of unlike kinds or shapes.
func (p *Program[T]) Rechunk(a, b *Matrix[T]) error {
	switch {
	case a.kind != b.kind:
		panic(ErrKind)
	case a.rows != b.rows || a.cols != b.cols:
		panic(ErrShape)
	}
	from, to := p.reads(a), p.operand(b)
	for i, j := range b.StoredTiles() {
		m, n := b.TileDims(i, j)
		row, col := i*b.nb, j*b.nb
		// The tiles of A that it overlaps. If it is on the diagonal, so are these, as a square,
		// of which A has the half that B has; otherwise A has all.
		top, bottom, left, right := row/a.nb, (row+m-1)/a.nb, col/a.nb, (col+n-1)/a.nb
		x := &op.Recut{Across: right - left + 1, Row: row - top*a.nb, Col: col - left*a.nb, Uplo: blas.All}
		if i == j {
			x.Uplo = a.kind.Uplo()
		}
		p.column = append(p.column[:0], out(to.tile(i, j)))
		for r := top; r <= bottom; r++ {
			for c := left; c <= right; c++ {
				if a.Stored(r, c) {
					p.column = append(p.column, in(from.tile(r, c)))
				}
			}
		}
		p.submit(p.ops.recut, x, 0, p.column...)
	}
	return p.err
}

// Materialize submits tasks that copy A's partitions into a block each, as
// [RowBlocks.Materialize] does, and returns these. If A is on nodes, so are they: each block where
// its task has run, which is where the partition's blocks are, if the policy looks where operands
// are. Then nothing goes from node to node, nor through this process. A in memory must not share
// it with what p writes, unless it is of a matrix that p writes itself. The caller must not use the
// result before the job's Wait, and Close it afterwards.
//
// The error is the runtime's or the job's. Also then there is a result to Close after Wait: tasks
// that were submitted before may still write its blocks.
func (p *Program[T]) Materialize(a *RowBlocks[T], ps *Partitions) (*RowBlocks[T], error) {
	from := p.rowBlocks(a)
	to := &RowBlocks[T]{rows: ps.Len(), cols: a.cols, blocks: make([]Tile[T], len(ps.list)), owners: make([]int, len(ps.list))}
	var values []versions.Shaped
	for k := range ps.list {
		part := &ps.list[k]
		to.owners[k] = int(from[part.blocks[0]].Owner)
		if to.blocks[k] = outlineTile[T](part.Len(), a.cols); a.away == nil {
			to.blocks[k] = newTile[T](part.Len(), a.cols)
		}
		values = append(values, &to.blocks[k])
	}
	if a.away != nil {
		kept, err := a.away.keeper.Keep(values)
		if err != nil {
			return to, err
		}
		to.away = &away[T]{keeper: a.away.keeper, kept: kept}
	}
	data := p.rowBlocks(to)
	whole := &op.Recut{Across: 1, Uplo: blas.All}
	for k := range ps.list {
		p.column = append(p.column[:0], out(&data[k]))
		for _, b := range ps.list[k].blocks {
			p.column = append(p.column, in(&from[b]))
		}
		p.submit(p.ops.recut, whole, 0, p.column...)
	}
	return to, p.err
}

// rowBlocks returns a as data: the tiles of the matrix that it is of, if it is of one.
func (p *Program[T]) rowBlocks(a *RowBlocks[T]) []graph.Datum {
	if a.of != nil {
		return p.reads(a.of).data
	}
	a.away.use()
	return p.data(part{a, "rows"}, len(a.blocks), 1, func(k, _ int) (versions.Value, int) { return &a.blocks[k], a.owner(k) })
}
