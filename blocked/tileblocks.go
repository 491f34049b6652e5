package blocked

import (
	"unsafe"

	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// TileBlocks is the stored tiles of a [Matrix], by rows, as a [Collection]: each is a block of
// one item. The matrix may be distributed; then each tile lies on a node, and tasks go through
// the partitions: see [Partitions].
type TileBlocks[T Element] struct {
	a     *Matrix[T]
	tiles [][2]int
}

// TileBlocksOf returns the stored tiles of a as blocks.
func TileBlocksOf[T Element](a *Matrix[T]) *TileBlocks[T] {
	t := &TileBlocks[T]{a: a}
	for i, j := range a.StoredTiles() {
		t.tiles = append(t.tiles, [2]int{i, j})
	}
	return t
}

// Index returns which tile a block is.
func (t *TileBlocks[T]) Index(block int) (i, j int) { return t.tiles[block][0], t.tiles[block][1] }

// Blocks implements [Collection].
func (t *TileBlocks[T]) Blocks() int { return len(t.tiles) }

// Items implements [Collection].
func (t *TileBlocks[T]) Items(int) int { return 1 }

// Bytes implements [Collection].
func (t *TileBlocks[T]) Bytes(block int) int64 {
	r, c := t.a.TileDims(t.Index(block))
	return int64(r) * int64(c) * int64(unsafe.Sizeof(*new(T)))
}

// Locate implements [Collection]: by the page in the middle of each tile, or by what the
// runtime of a distributed matrix knows. It panics with [ErrReleased] after Close.
func (t *TileBlocks[T]) Locate(rt exec.Runtime) []int {
	if t.a.IsDistributed() {
		tiles := make([]*Tile[T], len(t.tiles))
		for b := range tiles {
			tiles[b] = t.a.Tile(t.Index(b))
		}
		return t.a.Remote().Locate(tiles)
	}
	at := make([]unsafe.Pointer, len(t.tiles))
	for b := range at {
		at[b] = middle(t.a.Tile(t.Index(b)).Data)
	}
	return Near(rt, at)
}

// OverNodes implements [Spread].
func (t *TileBlocks[T]) OverNodes() bool { return t.a.IsDistributed() }

// Data returns the blocks as data for tasks of a program's own. Their keys say that they are of
// the matrix with that number, from 1, which no other data of the job have; the owners are
// those of the matrix's layout.
func (t *TileBlocks[T]) Data(matrix uint32) []graph.Datum {
	t.a.Used(true) // by which tasks, and how, is the program's to say
	data := make([]graph.Datum, len(t.tiles))
	for b := range data {
		i, j := t.Index(b)
		submit.SetDatum(&data[b], "tile", matrix, i, j, t.a.NearestOwner(i, j), t.a.Tile(i, j))
	}
	return data
}
