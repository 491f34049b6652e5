package parts

import (
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/scalar"
)

// TileBlocks is a [Collection] of the stored tiles of a [blocked.Matrix], by rows. Each tile is a block of
// one item. If the matrix is distributed, each tile lies on a node, and tasks process the partitions: see
// [Partitions].
type TileBlocks[T blocked.Element] struct {
	a     *blocked.Matrix[T]
	tiles [][2]int
}

// TileBlocksOf returns the stored tiles of a as blocks.
func TileBlocksOf[T blocked.Element](a *blocked.Matrix[T]) *TileBlocks[T] {
	t := &TileBlocks[T]{a: a}
	for i, j := range a.StoredTiles() {
		t.tiles = append(t.tiles, [2]int{i, j})
	}
	return t
}

// Index returns the tile row and the tile column of a block.
func (t *TileBlocks[T]) Index(block int) (i, j int) { return t.tiles[block][0], t.tiles[block][1] }

// Blocks implements [Collection].
func (t *TileBlocks[T]) Blocks() int { return len(t.tiles) }

// Items implements [Collection].
func (t *TileBlocks[T]) Items(int) int { return 1 }

// Bytes implements [Collection].
func (t *TileBlocks[T]) Bytes(block int) int64 {
	r, c := t.a.TileDims(t.Index(block))
	return int64(r) * int64(c) * int64(scalar.Size[T]())
}

// Locate implements [Collection]. It looks up the page in the middle of each tile, or asks the
// runtime if the matrix is distributed. It panics with [blocked.ErrReleased] after Close.
func (t *TileBlocks[T]) Locate(rt exec.Runtime) []int {
	if t.a.IsDistributed() {
		tiles := make([]*blocked.Tile[T], len(t.tiles))
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

// Data returns the blocks as data for tasks that the program itself submits. matrix is the number of the
// matrix in the keys of the data, from 1; no other data of the job may have it. The owners come from the
// layout of the matrix.
func (t *TileBlocks[T]) Data(matrix uint32) []graph.Datum {
	t.a.Used(true) // the program's tasks may write the tiles
	data := make([]graph.Datum, len(t.tiles))
	for b := range data {
		i, j := t.Index(b)
		submit.SetDatum(&data[b], "tile", matrix, i, j, t.a.NearestOwner(i, j), t.a.Tile(i, j))
	}
	return data
}
