package tiles

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Distributed returns an m×n Matrix of zeros with tiles of nb×nb that are on the nodes of
// a runtime that has several (exec.Keeper: a cluster.Driver), each where the last task that
// wrote it has run. They stay there from job to job, and this process needs no memory for
// them. On any other runtime it is [New].
//
// Tasks use such a matrix as any other: those that make it (Plrnt and Load of a blocked.Program,
// tasks of the program's own), those of all algorithms, and of la where an operand is used
// as it lies. Methods that read elements here ([Matrix.At], CopyTo, From, Norm) fetch a tile
// after the other; they panic with the error if one cannot be had, and must not be called
// before the Wait of the job that writes the matrix. Elements cannot be written here: Set,
// CopyFrom, Zero and SetIdentity panic with [ErrAway].
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

// distributed has the tiles of a, an outline, kept.
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

// Close has the nodes forget a, if it is distributed, which must not be used any more: what
// reads elements, and programs that use it, panic with [ErrReleased]. It may be called more than
// once, but not while a job uses a.
func (a *Matrix[T]) Close() error {
	a.away.Close()
	return nil
}

// AfterClose has Close call f when the nodes have forgotten a: for what they may need until then to
// make its tiles again. It does nothing, and f is never called, if a is not distributed. It must
// not be called beside Close.
func (a *Matrix[T]) AfterClose(f func()) {
	if a.away != nil {
		a.away.after = append(a.away.after, f)
	}
}

// Remote is where tiles are that are on the nodes of a runtime. A nil *Remote stands for this
// process.
type Remote[T Element] struct {
	keeper   exec.Keeper
	kept     exec.Kept
	beside   exec.Kept // what goes with it; nil if there is nothing
	after    []func()  // of AfterClose
	end      sync.Once
	released atomic.Bool

	mu    sync.Mutex
	tiles []fetched[T] // that were read last
}

// Close has the nodes forget the tiles.
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

// KeepBeside has values kept where the tiles are, and as long as they are, in place of others that
// were. The error is the runtime's.
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

// Keep has tiles, without memory here, kept on the same nodes. The error is the runtime's.
func (w *Remote[T]) Keep(tiles []*Tile[T]) (*Remote[T], error) {
	kept, err := w.keeper.Keep(shaped(tiles))
	if err != nil {
		return nil, err
	}
	return &Remote[T]{keeper: w.keeper, kept: kept}, nil
}

// Locate returns on which node each of the tiles is, as exec.Kept does. It panics with [ErrReleased]
// after Close.
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

// copies is how many tiles are kept that were fetched to be read: a conversion reads a few
// at once, each of them in many pieces.
const copies = 16

// changed forgets the copies: tasks are going to write tiles.
func (w *Remote[T]) changed() {
	w.mu.Lock()
	w.tiles = nil
	w.mu.Unlock()
}

// here returns tile k, by rows, with its elements: the tile itself, or a copy of one that
// is away.
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

// Used is called where tasks are going to read a, or to write it. It panics with ErrReleased
// after Close.
func (a *Matrix[T]) Used(written bool) {
	if a.away.Use(); a.away != nil && written {
		a.away.changed()
	}
}

// Read returns tile (i, j) with its elements, to be read: of a distributed matrix a copy,
// which others may have as well. It panics as Tile does, and with the error if it cannot be had.
func (a *Matrix[T]) Read(i, j int) *Tile[T] {
	a.Tile(i, j) // which panics
	return a.here(i*a.nt + j)
}

// writable panics with ErrAway if elements of a cannot be written here.
func (a *Matrix[T]) writable() {
	if a.away != nil {
		panic(ErrAway)
	}
}
