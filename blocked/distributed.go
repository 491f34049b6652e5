package blocked

import (
	"context"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Distributed returns an m×n Matrix of zeros with tiles of nb×nb that are on the nodes of
// a runtime that has several (exec.Keeper: a cluster.Driver), each where the last task that
// wrote it has run. They stay there from job to job, and this process needs no memory for
// them. On any other runtime it is [New].
//
// Tasks use such a matrix as any other: those that make it ([Program.Plrnt], [Program.Load],
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
	a := Outline[T](kind, m, n, nb)
	a.shape()
	var values []versions.Shaped
	for i, j := range a.StoredTiles() {
		values = append(values, a.Tile(i, j))
	}
	kept, err := k.Keep(values)
	if err != nil {
		return nil, err
	}
	a.away = &away[T]{kept: kept}
	return a, nil
}

// IsDistributed reports whether the tiles of a are on the nodes of a runtime: see
// [Distributed].
func (a *Matrix[T]) IsDistributed() bool { return a.away != nil }

// Close has the nodes forget a, if it is distributed, which must not be used any more. It
// may be called more than once.
func (a *Matrix[T]) Close() error {
	if a.away != nil {
		a.away.end.Do(a.away.kept.Release)
		a.away.changed()
	}
	return nil
}

// away is where the tiles of a Matrix are that are on other nodes.
type away[T Element] struct {
	kept exec.Kept
	end  sync.Once

	mu    sync.Mutex
	tiles []fetched[T] // that were read last
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
func (w *away[T]) changed() {
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
	w.mu.Lock()
	i := slices.IndexFunc(w.tiles, func(f fetched[T]) bool { return f.k == k })
	if i >= 0 {
		t = w.tiles[i].tile
		w.mu.Unlock()
		return t
	}
	w.mu.Unlock()
	c := newTile[T](t.Rows, t.Cols)
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

// writable panics with ErrAway if elements of a cannot be written here.
func (a *Matrix[T]) writable() {
	if a.away != nil {
		panic(ErrAway)
	}
}
