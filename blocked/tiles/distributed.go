package tiles

import (
	"slices"

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

// DistributedLike is [Distributed] with the tile size of a and, if a has one, its layout: see [Matrix.SetLayout].
// The owner of a tile is that of a's tile in the same place, or of its mirror image if a does not store that.
// Beyond a's last row or column of tiles, that row or column counts.
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
	values := make([]versions.Shaped, a.mt*a.nt) // in the order of Spot
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

// Close makes the nodes release a if a is distributed. a must not be used afterwards: methods that
// read elements, and programs that use it, panic with [ErrReleased]. Close may be called more than
// once, but not while a job uses a. It always returns nil.
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
