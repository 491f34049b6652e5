package blocked

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
)

// RowBlocks is a dense matrix in blocks of whole rows, as a [Collection] whose items are the
// rows: what algorithms want that go through data row by row. Blocks may differ in height, and
// each is memory of its own or a part of the caller's.
type RowBlocks[T Element] struct {
	rows, cols int
	blocks     []Tile[T]
}

// CutRows returns g in blocks of n rows, which alias g.Data; the last one may have fewer. It
// panics with ErrStorage if g's data cannot hold it, and with ErrShape if n < 1.
func CutRows[T Element](g General[T], n int) *RowBlocks[T] {
	return &RowBlocks[T]{rows: g.Rows, cols: g.Cols, blocks: SliceRows(g, n).tiles}
}

// JoinRows returns matrices, of equally many columns, as the blocks of one: the rows of the
// first come first. They alias the matrices' memory. The error is a *[StorageError] for the
// first one that has another number of columns, or whose data cannot hold it.
func JoinRows[T Element](blocks ...General[T]) (*RowBlocks[T], error) {
	a := &RowBlocks[T]{blocks: make([]Tile[T], len(blocks))}
	for b, g := range blocks {
		if b == 0 {
			a.cols = g.Cols
		}
		reason := misfit(g.Rows, g.Cols, g.Stride, len(g.Data))
		if reason == "" && g.Cols != a.cols {
			reason = fmt.Sprintf("block 0 has %d columns", a.cols)
		}
		if reason != "" {
			return nil, &StorageError{g.Rows, g.Cols, g.Stride, len(g.Data), fmt.Sprintf("block %d: %s", b, reason)}
		}
		a.rows += g.Rows
		a.blocks[b] = Tile[T]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
	}
	return a, nil
}

// RowBlocks returns the tiles of a, of which each has whole rows, as blocks: they alias a's
// memory. It panics with ErrShape if a has several tile columns, with ErrKind if it is not
// Full, and with [ErrAway] if it is distributed.
func (a *Matrix[T]) RowBlocks() *RowBlocks[T] {
	switch {
	case a.kind != Full:
		panic(ErrKind)
	case a.nt > 1:
		panic(ErrShape)
	}
	a.writable()
	return &RowBlocks[T]{rows: a.rows, cols: a.cols, blocks: a.tiles}
}

// Dims returns the number of rows and columns.
func (a *RowBlocks[T]) Dims() (r, c int) { return a.rows, a.cols }

// Block returns a block, whose elements may be read and written.
func (a *RowBlocks[T]) Block(b int) *Tile[T] { return &a.blocks[b] }

// Blocks implements [Collection].
func (a *RowBlocks[T]) Blocks() int { return len(a.blocks) }

// Items implements [Collection]: the rows of a block.
func (a *RowBlocks[T]) Items(block int) int { return a.blocks[block].Rows }

// Bytes implements [Collection].
func (a *RowBlocks[T]) Bytes(block int) int64 {
	return int64(a.blocks[block].Rows) * int64(a.cols) * int64(unsafe.Sizeof(*new(T)))
}

// Locate implements [Collection], by the page in the middle of each block.
func (a *RowBlocks[T]) Locate(rt exec.Runtime) []int {
	at := make([]unsafe.Pointer, len(a.blocks))
	for b := range a.blocks {
		at[b] = middle(a.blocks[b].Data)
	}
	return Near(rt, at)
}

// Rechunk returns a copy of a in blocks of n rows; the last one may have fewer. It moves every
// row, and needs as much memory again, where [Split] does neither. It panics with ErrShape if
// n < 1; the error is that of [loop.For].
func (a *RowBlocks[T]) Rechunk(ctx context.Context, rt exec.Runtime, n int) (*RowBlocks[T], error) {
	if n < 1 {
		panic(ErrShape)
	}
	one := inOrder(a)
	to := &RowBlocks[T]{rows: a.rows, cols: a.cols, blocks: make([]Tile[T], count(a.rows, n))}
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
// were. The error is that of [loop.For].
func (a *RowBlocks[T]) Materialize(ctx context.Context, rt exec.Runtime, ps *Partitions) (*RowBlocks[T], error) {
	to := &RowBlocks[T]{rows: ps.Len(), cols: a.cols, blocks: make([]Tile[T], len(ps.list))}
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
func (a *RowBlocks[T]) gather(ps *Partitions, lo, hi int) Tile[T] {
	to := Tile[T]{Rows: hi - lo, Cols: a.cols, Stride: max(1, a.cols), Data: make([]T, (hi-lo)*a.cols)}
	if memory := bytesOf(to.Data); len(memory) >= placedBytes && len(thisMachine().cpus) > 1 {
		pages.Renew(memory)
	}
	at := to.Data
	for s := range ps.Spans(lo, hi) {
		from := &a.blocks[s.Block]
		for r := s.Lo; r < s.Hi; r++ {
			at = at[copy(at, from.Row(r)):]
		}
	}
	return to
}
