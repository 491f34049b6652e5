package parts

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/scalar"
)

// RowBlocks is a dense matrix in blocks of whole rows. It is a [Collection] whose items are the rows, for
// algorithms that go through data row by row. Blocks may differ in height. A block has memory of its
// own, is part of the caller's memory, or lies on a node: see [RowBlocksOf].
type RowBlocks[T blocked.Element] struct {
	rows, cols int
	blocks     []*blocked.Tile[T]
	of         *blocked.Matrix[T] // the matrix whose tiles the blocks are, or nil
	away       *tiles.Remote[T]   // the nodes that have the blocks; nil if they are in this process
	owners     []int              // of the blocks, if of is nil; nil means 0 for all
}

// JoinRows returns one matrix whose blocks are the given matrices, from top to bottom. The blocks
// alias their memory. All must have the same number of columns. The error is a *[blocked.StorageError] for
// the first matrix with another number of columns, or with data that cannot hold it.
func JoinRows[T blocked.Element](blocks ...blocked.General[T]) (*RowBlocks[T], error) {
	a := &RowBlocks[T]{blocks: make([]*blocked.Tile[T], len(blocks))}
	for b, g := range blocks {
		if b == 0 {
			a.cols = g.Cols
		}
		var wrong *blocked.StorageError
		if !errors.As(g.Validate(), &wrong) && g.Cols != a.cols {
			wrong = &blocked.StorageError{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Len: len(g.Data), Reason: fmt.Sprintf("block 0 has %d columns", a.cols)}
		}
		if wrong != nil {
			wrong.Reason = fmt.Sprintf("block %d: %s", b, wrong.Reason)
			return nil, wrong
		}
		a.rows += g.Rows
		a.blocks[b] = &blocked.Tile[T]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
	}
	return a, nil
}

// RowBlocksOf returns the tiles of a, which must have one tile column, as blocks of rows. The blocks
// alias the memory of a. If a is distributed, the blocks are on the nodes, and tasks process them, as
// with [TileBlocks]; but here the items are rows. RowBlocksOf panics with ErrShape if a has several tile
// columns, and with ErrKind if a is not Full.
func RowBlocksOf[T blocked.Element](a *blocked.Matrix[T]) *RowBlocks[T] {
	switch {
	case a.Kind() != blocked.Full:
		panic(blocked.ErrKind)
	case a.NT() > 1:
		panic(blocked.ErrShape)
	}
	r := &RowBlocks[T]{rows: a.Rows(), cols: a.Cols(), of: a, away: a.Remote()}
	for i, j := range a.StoredTiles() {
		r.blocks = append(r.blocks, a.Tile(i, j))
	}
	return r
}

// Dims returns the number of rows and columns.
func (a *RowBlocks[T]) Dims() (r, c int) { return a.rows, a.cols }

// Block returns a block. The caller may read and write its elements. It panics with [blocked.ErrAway] if the
// blocks are on nodes.
func (a *RowBlocks[T]) Block(b int) *blocked.Tile[T] {
	a.here()
	return a.blocks[b]
}

// here panics with ErrAway if the blocks are on nodes.
func (a *RowBlocks[T]) here() {
	if a.away != nil {
		panic(blocked.ErrAway)
	}
}

// Blocks implements [Collection].
func (a *RowBlocks[T]) Blocks() int { return len(a.blocks) }

// Items implements [Collection]. It returns the number of rows of a block.
func (a *RowBlocks[T]) Items(block int) int { return a.blocks[block].Rows }

// Bytes implements [Collection].
func (a *RowBlocks[T]) Bytes(block int) int64 {
	return int64(a.blocks[block].Rows) * int64(a.cols) * int64(scalar.Size[T]())
}

// Locate implements [Collection]. It looks up the page in the middle of each block, or asks the
// runtime if the blocks are on nodes. It panics with [blocked.ErrReleased] after Close.
func (a *RowBlocks[T]) Locate(rt exec.Runtime) []int {
	if a.away != nil {
		return a.away.Locate(a.blocks)
	}
	at := make([]unsafe.Pointer, len(a.blocks))
	for b := range a.blocks {
		at[b] = middle(a.blocks[b].Data)
	}
	return Near(rt, at)
}

// OverNodes implements [Spread].
func (a *RowBlocks[T]) OverNodes() bool { return a.away != nil }

// Data returns the blocks as data for tasks that the program itself submits, as [TileBlocks.Data]
// does.
func (a *RowBlocks[T]) Data(matrix uint32) []graph.Datum {
	if a.of != nil {
		a.of.Used(true)
	}
	a.away.Use()
	data := make([]graph.Datum, len(a.blocks))
	for b := range data {
		submit.SetDatum(&data[b], "rows", matrix, b, 0, a.owner(b), a.blocks[b])
	}
	return data
}

// owner returns the owner of a block.
func (a *RowBlocks[T]) owner(block int) int {
	switch {
	case a.of != nil:
		return a.of.NearestOwner(block, 0)
	case a.owners != nil:
		return a.owners[block]
	}
	return 0
}

// Close makes the nodes release the blocks, and the matrix whose tiles they are, as [blocked.Matrix.Close]
// does. If the blocks are in this process it does nothing.
func (a *RowBlocks[T]) Close() error {
	a.away.Close()
	return nil
}

// Rechunk returns a copy of a in blocks of n rows. The last block may have fewer rows. Unlike [Split],
// Rechunk copies every row and needs as much memory again. It panics with ErrShape if n < 1, and with
// [blocked.ErrAway] if the blocks are on nodes: use [blocked.Program.Rechunk] then. The error is that of
// [loop.For].
func (a *RowBlocks[T]) Rechunk(ctx context.Context, rt exec.Runtime, n int) (*RowBlocks[T], error) {
	if n < 1 {
		panic(blocked.ErrShape)
	}
	a.here()
	one := inOrder(a)
	to := &RowBlocks[T]{rows: a.rows, cols: a.cols, blocks: make([]*blocked.Tile[T], tiles.Count(a.rows, n))}
	return to, loop.For(ctx, rt, len(to.blocks), loop.Options{}, func(c loop.Chunk) error {
		for b := c.Lo; b < c.Hi; b++ {
			to.blocks[b] = a.gather(one, b*n, min(b*n+n, a.rows))
		}
		return nil
	})
}

// Materialize returns a copy of a with one block for each partition: block j has the rows of partition
// j, in the order of Partition.ItemIndexes. Loops over the copy then have one block for each
// partition, however a was divided. Usually a worker at the location of the partition copies the block,
// so its rows stay there. Only blocks that workers of another location take over move. It panics with
// [blocked.ErrAway] if the blocks are on nodes: use [Materialize] then. The error is that of [loop.For].
func (a *RowBlocks[T]) Materialize(ctx context.Context, rt exec.Runtime, ps *Partitions) (*RowBlocks[T], error) {
	a.here()
	to := &RowBlocks[T]{rows: ps.Len(), cols: a.cols, blocks: make([]*blocked.Tile[T], len(ps.list))}
	return to, loop.For(ctx, rt, len(to.blocks), loop.Options{Parts: ones(ps)}, func(c loop.Chunk) error {
		for j := c.Lo; j < c.Hi; j++ {
			lo, hi := ps.bounds(j)
			to.blocks[j] = a.gather(ps, lo, hi)
		}
		return nil
	})
}

// gather returns a copy of rows lo to hi−1 in the order of the partitions. The pages of the copy are near
// the calling worker.
func (a *RowBlocks[T]) gather(ps *Partitions, lo, hi int) *blocked.Tile[T] {
	to := &blocked.Tile[T]{Rows: hi - lo, Cols: a.cols, Stride: max(1, a.cols), Data: make([]T, (hi-lo)*a.cols)}
	tiles.Renew(to.Data)
	at := to.Data
	for s := range ps.Spans(lo, hi) {
		from := a.blocks[s.Block]
		for r := s.Lo; r < s.Hi; r++ {
			at = at[copy(at, from.Row(r)):]
		}
	}
	return to
}
