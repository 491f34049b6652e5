package blocked

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
)

// RowBlocks is a dense matrix in blocks of whole rows, as a [Collection] whose items are the
// rows: what algorithms want that go through data row by row. Blocks may differ in height, and
// each is memory of its own, a part of the caller's, or on a node: see [RowBlocksOf].
type RowBlocks[T Element] struct {
	rows, cols int
	blocks     []*Tile[T]
	of         *Matrix[T]       // the matrix whose tiles they are, if there is one
	away       *tiles.Remote[T] // where they are that have no memory here; nil as a rule
	owners     []int            // of blocks that are of no matrix; nil: 0
}

// CutRows returns g in blocks of n rows, which alias g.Data; the last one may have fewer. It
// panics with ErrStorage if g's data cannot hold it, and with ErrShape if n < 1.
func CutRows[T Element](g General[T], n int) *RowBlocks[T] {
	if g.Validate() != nil {
		panic(ErrStorage)
	}
	if n < 1 {
		panic(ErrShape)
	}
	a := &RowBlocks[T]{rows: g.Rows, cols: g.Cols}
	for lo := 0; lo < g.Rows; lo += n {
		t := &Tile[T]{Rows: min(n, g.Rows-lo), Cols: g.Cols, Stride: g.Stride}
		if g.Cols > 0 {
			first, end := lo*g.Stride, (lo+t.Rows-1)*g.Stride+g.Cols
			t.Data = g.Data[first:end:end]
		}
		a.blocks = append(a.blocks, t)
	}
	return a
}

// JoinRows returns matrices, of equally many columns, as the blocks of one: the rows of the
// first come first. They alias the matrices' memory. The error is a *[StorageError] for the
// first one that has another number of columns, or whose data cannot hold it.
func JoinRows[T Element](blocks ...General[T]) (*RowBlocks[T], error) {
	a := &RowBlocks[T]{blocks: make([]*Tile[T], len(blocks))}
	for b, g := range blocks {
		if b == 0 {
			a.cols = g.Cols
		}
		var wrong *StorageError
		if !errors.As(g.Validate(), &wrong) && g.Cols != a.cols {
			wrong = &StorageError{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Len: len(g.Data), Reason: fmt.Sprintf("block 0 has %d columns", a.cols)}
		}
		if wrong != nil {
			wrong.Reason = fmt.Sprintf("block %d: %s", b, wrong.Reason)
			return nil, wrong
		}
		a.rows += g.Rows
		a.blocks[b] = &Tile[T]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
	}
	return a, nil
}

// RowBlocksOf returns the tiles of a, of which each has whole rows, as blocks: they alias a's
// memory. If a is distributed they are on the nodes: tasks go through them, as [TileBlocks] says
// for tiles, but the items are rows. It panics with ErrShape if a has several tile columns, and
// with ErrKind if it is not Full.
func RowBlocksOf[T Element](a *Matrix[T]) *RowBlocks[T] {
	switch {
	case a.Kind() != Full:
		panic(ErrKind)
	case a.NT() > 1:
		panic(ErrShape)
	}
	r := &RowBlocks[T]{rows: a.Rows(), cols: a.Cols(), of: a, away: a.Remote()}
	for i, j := range a.StoredTiles() {
		r.blocks = append(r.blocks, a.Tile(i, j))
	}
	return r
}

// Dims returns the number of rows and columns.
func (a *RowBlocks[T]) Dims() (r, c int) { return a.rows, a.cols }

// Block returns a block, whose elements may be read and written. It panics with [ErrAway] if the
// blocks are on nodes.
func (a *RowBlocks[T]) Block(b int) *Tile[T] {
	a.here()
	return a.blocks[b]
}

// here panics with ErrAway if the blocks are on nodes.
func (a *RowBlocks[T]) here() {
	if a.away != nil {
		panic(ErrAway)
	}
}

// Blocks implements [Collection].
func (a *RowBlocks[T]) Blocks() int { return len(a.blocks) }

// Items implements [Collection]: the rows of a block.
func (a *RowBlocks[T]) Items(block int) int { return a.blocks[block].Rows }

// Bytes implements [Collection].
func (a *RowBlocks[T]) Bytes(block int) int64 {
	return int64(a.blocks[block].Rows) * int64(a.cols) * int64(unsafe.Sizeof(*new(T)))
}

// Locate implements [Collection], by the page in the middle of each block, or by what the runtime
// of blocks on nodes knows. It panics with [ErrReleased] after Close.
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

// Data returns the blocks as data for tasks of a program's own, as [TileBlocks.Data] does.
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

// Close has the nodes forget the blocks, and the matrix whose tiles they are, as [Matrix.Close]
// does. If they are in memory it does nothing.
func (a *RowBlocks[T]) Close() error {
	a.away.Close()
	return nil
}

// Rechunk returns a copy of a in blocks of n rows; the last one may have fewer. It moves every
// row, and needs as much memory again, where [Split] does neither. It panics with ErrShape if
// n < 1, and with [ErrAway] if the blocks are on nodes, which [Program.Rechunk] is for; the error
// is that of [loop.For].
func (a *RowBlocks[T]) Rechunk(ctx context.Context, rt exec.Runtime, n int) (*RowBlocks[T], error) {
	if n < 1 {
		panic(ErrShape)
	}
	a.here()
	one := inOrder(a)
	to := &RowBlocks[T]{rows: a.rows, cols: a.cols, blocks: make([]*Tile[T], tiles.Count(a.rows, n))}
	return to, loop.For(ctx, rt, len(to.blocks), loop.Options{}, func(c loop.Chunk) error {
		for b := c.Lo; b < c.Hi; b++ {
			to.blocks[b] = a.gather(one, b*n, min(b*n+n, a.rows))
		}
		return nil
	})
}

// Materialize returns a copy of a in one block for each of its partitions: block j has the
// rows of partition j, in the order of Partition.ItemIndexes. Each is copied by a worker at its
// location as long as that has time, so that nothing goes from place to place but what a
// faster one takes over. Loops then meet one block for each partition, whatever the blocks of a
// were. It panics with [ErrAway] if the blocks are on nodes, which [Program.Materialize] is for; the
// error is that of [loop.For].
func (a *RowBlocks[T]) Materialize(ctx context.Context, rt exec.Runtime, ps *Partitions) (*RowBlocks[T], error) {
	a.here()
	to := &RowBlocks[T]{rows: ps.Len(), cols: a.cols, blocks: make([]*Tile[T], len(ps.list))}
	return to, loop.For(ctx, rt, len(to.blocks), loop.Options{Parts: ones(ps)}, func(c loop.Chunk) error {
		for j := c.Lo; j < c.Hi; j++ {
			lo, hi := ps.bounds(j)
			to.blocks[j] = a.gather(ps, lo, hi)
		}
		return nil
	})
}

// gather returns a copy of rows in the order of the partitions. New pages of it are near to
// the worker that calls.
func (a *RowBlocks[T]) gather(ps *Partitions, lo, hi int) *Tile[T] {
	to := &Tile[T]{Rows: hi - lo, Cols: a.cols, Stride: max(1, a.cols), Data: make([]T, (hi-lo)*a.cols)}
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
