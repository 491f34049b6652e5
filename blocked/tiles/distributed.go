package tiles

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Distributed returns an m×n Matrix of zeros with tiles of nb×nb on the nodes of a runtime that has
// several (exec.Keeper: a cluster.Driver). Each tile is where the last task that wrote it has run. The
// tiles stay there from job to job, and this process needs no memory for them. On any other runtime
// Distributed is [New].
//
// Tasks use such a matrix as any other: those that make it (Plrnt and Load of a blocked.Program, or
// tasks of the program), those of all algorithms, and those of la if it uses an operand without a copy.
// Methods that read elements in this process ([Matrix.At], CopyTo, From, Norm) fetch one tile after
// the other. They panic with the error if a tile cannot be fetched, and must not be called before the
// Wait of the job that writes the matrix. This process cannot write elements: Set, CopyFrom, Zero and
// SetIdentity panic with [ErrAway].
//
// The caller must Close it. It panics as New does. The error is the runtime's.
func Distributed[T Element](rt exec.Runtime, kind Kind, m, n, nb int) (*Matrix[T], error) {
	k, ok := rt.(exec.Keeper)
	if !ok {
		return New[T](kind, m, n, nb), nil
	}
	return distributed(k, Outline[T](kind, m, n, nb))
}

// DistributedLike is [Distributed] with the tile size of a and, where it has tiles that a has
// as well, or their mirror images, their owners: see [Matrix.SetLayout].
func DistributedLike[T, U Element](rt exec.Runtime, a *Matrix[U], kind Kind, m, n int) (*Matrix[T], error) {
	b, err := Distributed[T](rt, kind, m, n, a.nb)
	if err == nil && a.owners != nil {
		b.layout, b.owners = a.layout, make([]int, b.mt*b.nt)
		for i, j := range b.StoredTiles() {
			r, c := min(i, a.mt-1), min(j, a.nt-1)
			if !a.Stored(r, c) {
				r, c = c, r
			}
			b.owners[i*b.nt+j] = a.NearestOwner(r, c)
		}
	}
	return b, err
}

// distributed makes k keep the tiles of a, which is an outline.
func distributed[T Element](k exec.Keeper, a *Matrix[T]) (*Matrix[T], error) {
	a.shape()
	values := make([]versions.Shaped, a.mt*a.nt)
	for i, j := range a.StoredTiles() {
		values[a.Spot(i, j)] = a.Tile(i, j)
	}
	values = slices.DeleteFunc(values, func(v versions.Shaped) bool { return v == nil })
	kept, err := k.Keep(values)
	if err != nil {
		return nil, err
	}
	a.away = &Remote[T]{keeper: k, kept: kept}
	return a, nil
}

// Remote returns where the tiles of a are, or nil if they are in the memory of this process.
func (a *Matrix[T]) Remote() *Remote[T] { return a.away }

// IsDistributed reports whether the tiles of a are on the nodes of a runtime: see
// [Distributed].
func (a *Matrix[T]) IsDistributed() bool { return a.away != nil }

// Close makes the nodes release a if a is distributed. a must not be used afterwards: methods that
// read elements, and programs that use it, panic with [ErrReleased]. Close may be called more than
// once, but not while a job uses a.
func (a *Matrix[T]) Close() error {
	a.away.Close()
	return nil
}

// AfterClose registers f, which Close calls when the nodes have released a. f can release what the
// nodes may need until then to make lost tiles again. If a is not distributed, AfterClose does nothing,
// and f is never called. It must not be called concurrently with Close.
func (a *Matrix[T]) AfterClose(f func()) {
	if a.away != nil {
		a.away.after = append(a.away.after, f)
	}
}

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

// here returns tile k, counted by rows, with its elements. If the tile is on a node, it is a copy.
func (a *Matrix[T]) here(k int) *Tile[T] {
	t := &a.tiles[k]
	if a.away == nil {
		return t
	}
	w := a.away
	a.Used(false)
	w.mu.Lock()
	i := slices.IndexFunc(w.tiles, func(f fetched[T]) bool { return f.k == k })
	if i >= 0 {
		t = w.tiles[i].tile
		w.mu.Unlock()
		return t
	}
	w.mu.Unlock()
	c := NewTile[T](t.Rows, t.Cols)
	if err := w.kept.Fetch(context.Background(), t, &c); err != nil {
		panic(err)
	}
	w.mu.Lock()
	if len(w.tiles) == copies {
		w.tiles = w.tiles[1:]
	}
	w.tiles = append(w.tiles, fetched[T]{k, &c})
	w.mu.Unlock()
	return &c
}

// Used must be called before tasks use a. written says that they may write it. It panics with
// ErrReleased after Close.
func (a *Matrix[T]) Used(written bool) {
	if a.away.Use(); a.away != nil && written {
		a.away.changed()
	}
}

// Read returns tile (i, j) with its elements, for reading only. If a is distributed, the result is a
// copy that other callers may share. Read panics as Tile does, and with the error if the tile cannot
// be fetched.
func (a *Matrix[T]) Read(i, j int) *Tile[T] {
	a.Tile(i, j) // panics unless the tile is stored
	return a.here(i*a.nt + j)
}

// writable panics with ErrAway if this process cannot write elements of a.
func (a *Matrix[T]) writable() {
	if a.away != nil {
		panic(ErrAway)
	}
}
