package blocked

import (
	"github.com/tessera-la/tessera/blocked/tiles"
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
	case a.Kind() != b.Kind():
		panic(ErrKind)
	case a.Rows() != b.Rows() || a.Cols() != b.Cols():
		panic(ErrShape)
	}
	from, to := p.reads(a), p.operand(b)
	for i, j := range b.StoredTiles() {
		m, n := b.TileDims(i, j)
		row, col := i*b.NB(), j*b.NB()
		// The tiles of A that it overlaps. If it is on the diagonal, so are these, as a square,
		// of which A has the half that B has; otherwise A has all.
		top, bottom, left, right := row/a.NB(), (row+m-1)/a.NB(), col/a.NB(), (col+n-1)/a.NB()
		x := &op.Recut{Across: right - left + 1, Row: row - top*a.NB(), Col: col - left*a.NB(), Uplo: blas.All}
		if i == j {
			x.Uplo = a.Kind().Uplo()
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
	to := &RowBlocks[T]{rows: ps.Len(), cols: a.cols, blocks: make([]*Tile[T], len(ps.list)), owners: make([]int, len(ps.list))}
	for k := range ps.list {
		part := &ps.list[k]
		to.owners[k] = int(from[part.blocks[0]].Owner)
		t := tiles.OutlineTile[T](part.Len(), a.cols)
		if a.away == nil {
			t = tiles.NewTile[T](part.Len(), a.cols)
		}
		to.blocks[k] = &t
	}
	if a.away != nil {
		var err error
		if to.away, err = a.away.Keep(to.blocks); err != nil {
			return to, err
		}
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
	a.away.Use()
	return p.data(part{a, "rows"}, len(a.blocks), 1, func(k, _ int) (versions.Value, int) { return a.blocks[k], a.owner(k) })
}
