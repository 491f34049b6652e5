package tiles

import (
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Remote holds tiles on the nodes of a runtime. A nil *Remote means that the tiles are in this
// process.
type Remote[T Element] struct {
	keeper   exec.Keeper
	kept     exec.Kept
	beside   exec.Kept // the values of KeepBeside; nil if there are none
	after    []func()  // of AfterClose
	end      sync.Once
	released atomic.Bool

	mu    sync.Mutex
	tiles []fetched[T] // copies of the tiles that were read last
}

// Close makes the nodes release the tiles.
func (w *Remote[T]) Close() {
	if w == nil {
		return
	}
	w.end.Do(func() {
		w.released.Store(true)
		w.kept.Release()
		if w.beside != nil {
			w.beside.Release()
		}
		for _, f := range w.after {
			f()
		}
	})
	w.changed()
}

// Use panics with ErrReleased after Close.
func (w *Remote[T]) Use() {
	if w != nil && w.released.Load() {
		panic(ErrReleased)
	}
}

// KeepBeside makes the nodes keep values beside the tiles until Close, or until the next KeepBeside,
// which replaces them. The error is the runtime's.
func (w *Remote[T]) KeepBeside(values []versions.Shaped) (kept exec.Kept, err error) {
	if w.beside != nil {
		w.beside.Release()
		w.beside = nil
	}
	if kept, err = w.keeper.Keep(values); err == nil {
		w.beside = kept
	}
	return kept, err
}

// Keep makes the same nodes keep tiles, which have no memory in this process. The error is the
// runtime's.
func (w *Remote[T]) Keep(tiles []*Tile[T]) (*Remote[T], error) {
	kept, err := w.keeper.Keep(shaped(tiles))
	if err != nil {
		return nil, err
	}
	return &Remote[T]{keeper: w.keeper, kept: kept}, nil
}

// Locate returns the node of each tile, as exec.Kept does. It panics with [ErrReleased] after Close.
func (w *Remote[T]) Locate(tiles []*Tile[T]) []int {
	w.Use()
	return w.kept.Locate(shaped(tiles))
}

func shaped[T Element](tiles []*Tile[T]) []versions.Shaped {
	values := make([]versions.Shaped, len(tiles))
	for k, t := range tiles {
		values[k] = t
	}
	return values
}

// fetched is a copy of a tile.
type fetched[T Element] struct {
	k    int
	tile *Tile[T]
}

// copies is the number of fetched tiles of which a Remote keeps copies: a conversion reads a few tiles
// at once, each in many pieces.
const copies = 16

// changed drops the copies, because tasks are going to write tiles.
func (w *Remote[T]) changed() {
	w.mu.Lock()
	w.tiles = nil
	w.mu.Unlock()
}
