package blocked

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
)

// The tiled matrix, its sources and its sinks are those of package tiles.
type (
	Element                     = tiles.Element
	Matrix[T Element]           = tiles.Matrix[T]
	Tile[T Element]             = tiles.Tile[T]
	Kind                        = tiles.Kind
	General[T Element]          = tiles.General[T]
	Symmetric[T Element]        = tiles.Symmetric[T]
	Triangular[T Element]       = tiles.Triangular[T]
	Source[T Element]           = tiles.Source[T]
	Sink[T Element]             = tiles.Sink[T]
	SymmetricSource[T Element]  = tiles.SymmetricSource[T]
	SymmetricSink[T Element]    = tiles.SymmetricSink[T]
	TriangularSource[T Element] = tiles.TriangularSource[T]
	TriangularSink[T Element]   = tiles.TriangularSink[T]
	CopyOptions                 = tiles.CopyOptions
	Stats                       = tiles.Stats
	Sums[T Element]             = tiles.Sums[T]
	Magnitudes[T Element]       = tiles.Magnitudes[T]
	Layout                      = tiles.Layout
	LayoutFunc                  = tiles.LayoutFunc
	BlockCyclic                 = tiles.BlockCyclic
	LayoutError                 = tiles.LayoutError
	StorageError                = tiles.StorageError
	Error                       = tiles.Error
)

// The kinds of a Matrix: see [tiles.Kind].
const (
	Full     = tiles.Full
	SymLower = tiles.SymLower
	SymUpper = tiles.SymUpper
	TriLower = tiles.TriLower
	TriUpper = tiles.TriUpper
)

// The values with which misuse panics.
const (
	ErrShape     = tiles.ErrShape
	ErrIndex     = tiles.ErrIndex
	ErrNotStored = tiles.ErrNotStored
	ErrKind      = tiles.ErrKind
	ErrOverlap   = tiles.ErrOverlap
	ErrReleased  = tiles.ErrReleased
	ErrOp        = tiles.ErrOp
	ErrAway      = tiles.ErrAway
	ErrStorage   = tiles.ErrStorage
)

// New is [tiles.New].
func New[T Element](kind Kind, m, n, nb int) *Matrix[T] { return tiles.New[T](kind, m, n, nb) }

// NewOn is [tiles.NewOn].
func NewOn[T Element](kind Kind, m, n, nb int, home Layout) *Matrix[T] {
	return tiles.NewOn[T](kind, m, n, nb, home)
}

// From is [tiles.From].
func From[T Element](src Source[T], kind Kind, nb int, opt CopyOptions) (*Matrix[T], Stats) {
	return tiles.From(src, kind, nb, opt)
}

// Distributed is [tiles.Distributed].
func Distributed[T Element](rt exec.Runtime, kind Kind, m, n, nb int) (*Matrix[T], error) {
	return tiles.Distributed[T](rt, kind, m, n, nb)
}

// View is [tiles.View].
func View[T Element](g General[T], nb int) *Matrix[T] { return tiles.View(g, nb) }

// ViewSymmetric is [tiles.ViewSymmetric].
func ViewSymmetric[T Element](s Symmetric[T], nb int) *Matrix[T] { return tiles.ViewSymmetric(s, nb) }

// ViewTriangular is [tiles.ViewTriangular].
func ViewTriangular[T Element](t Triangular[T], nb int) *Matrix[T] {
	return tiles.ViewTriangular(t, nb)
}
