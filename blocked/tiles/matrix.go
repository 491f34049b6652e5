package tiles

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/words"
	"gonum.org/v1/gonum/blas"
)

// Kind says which part of a Matrix is stored.
type Kind uint8

// The kinds. A symmetric or triangular matrix stores only the tiles of one half,
// including the diagonal tiles. In a diagonal tile only the elements of that triangle
// have a meaning.
const (
	Full Kind = iota
	SymLower
	SymUpper
	TriLower
	TriUpper
)

var kinds = words.Of[Kind]{"full", "symmetric, lower half stored", "symmetric, upper half stored", "lower triangular",
	"upper triangular"}

func (k Kind) String() string { return kinds.Name(k) }

// Uplo returns the triangle that k stores, or blas.All.
func (k Kind) Uplo() blas.Uplo {
	switch k {
	case SymLower, TriLower:
		return blas.Lower
	case SymUpper, TriUpper:
		return blas.Upper
	}
	return blas.All
}

// Symmetric reports whether k is one of the kinds of symmetric matrices.
func (k Kind) Symmetric() bool { return k == SymLower || k == SymUpper }

// part returns the part of tile (i, j) that a matrix of kind k stores, and whether it stands for the
// whole tile.
func (k Kind) part(i, j int) (uplo blas.Uplo, symmetric bool) {
	if i != j {
		return blas.All, false
	}
	return k.Uplo(), k.Symmetric()
}

// storedColumns returns the columns of tile (i, j) that row r stores.
func (a *Matrix[T]) storedColumns(i, j, r int) (lo, hi int) {
	_, hi = a.TileDims(i, j)
	if i == j {
		switch a.kind.Uplo() {
		case blas.Lower:
			hi = r + 1
		case blas.Upper:
			lo = r
		}
	}
	return lo, hi
}

// Matrix is an m×n matrix held as a grid of tiles of nb×nb elements; the last
// tile row and column are ragged when nb does not divide m or n.
//
//	     nb   nb  n%nb
//	   ┌────┬────┬──┐
//	nb │ 00 │ 01 │02│   Tile(i, j) is block row i, block column j;
//	   ├────┼────┼──┤   every tile is row-major and contiguous,
//	nb │ 10 │ 11 │12│   its rows padded to a multiple of 64 bytes
//	   ├────┼────┼──┤   and its first element 64-byte aligned.
//	   │ 20 │ 21 │22│
//	   └────┴────┴──┘
//
// If rows would lie a multiple of 2 KiB apart, 64 more bytes are put between them:
// see [Tile].Stride.
//
// A symmetric or triangular Matrix keeps only the tiles of its half. A Matrix
// made by [View] aliases memory in another layout instead: its tiles have the
// stride of that memory.
//
// # Concurrency
//
// The shape of a Matrix never changes, and the headers of its tiles (where
// they lie, how large they are) are written only while it is made. So
// goroutines may read a Matrix and call [Matrix.Tile] concurrently, and may
// write the elements of distinct tiles concurrently, also with Set. While a tile
// is written, no other goroutine may use it. A method that reads or writes the
// whole matrix (CopyFrom, CopyTo, Norm, Clone, Zero …) counts as a reader or
// writer of every tile. SetLayout must not run concurrently with any other use.
type Matrix[T Element] struct {
	rows, cols, nb int
	mt, nt         int
	kind           Kind
	view           bool       // the tiles are in rows of the caller's memory
	tiles          []Tile[T]  // mt×nt row-major; Data nil where not stored
	layout         Layout     // nil if there is none
	owners         []int      // mt×nt, the owners by layout
	away           *Remote[T] // the nodes that have the tiles; nil if they are in this process
}

// Outline returns a Matrix as New does, but its tiles get memory and shape only from
// [Matrix.MakeTile]. It is for callers that fill tile by tile, and may stop early. It
// panics as New does.
func Outline[T Element](kind Kind, m, n, nb int) *Matrix[T] {
	if m < 0 || n < 0 || nb < 1 || kind > TriUpper || (kind != Full && m != n) {
		panic(ErrShape)
	}
	mt, nt := Count(m, nb), Count(n, nb)
	if nt > 0 && mt > math.MaxInt/nt {
		panic(ErrShape)
	}
	return &Matrix[T]{rows: m, cols: n, nb: nb, mt: mt, nt: nt, kind: kind, tiles: make([]Tile[T], mt*nt)}
}

// shape sets the shapes of the stored tiles that have no memory yet.
func (a *Matrix[T]) shape() {
	for i, j := range a.StoredTiles() {
		if t := &a.tiles[i*a.nt+j]; t.Data == nil {
			*t = OutlineTile[T](a.TileDims(i, j))
		}
	}
}

// Dims returns the number of rows and columns.
func (a *Matrix[T]) Dims() (m, n int) { return a.rows, a.cols }

// Rows returns the number of rows.
func (a *Matrix[T]) Rows() int { return a.rows }

// Cols returns the number of columns.
func (a *Matrix[T]) Cols() int { return a.cols }

// Dim returns the order of a square matrix. It panics with ErrShape if a is
// not square.
func (a *Matrix[T]) Dim() int {
	if a.rows != a.cols {
		panic(ErrShape)
	}
	return a.rows
}

// SymmetricDim returns the order of a square matrix, and so makes a a SymmetricSource.
// A square Matrix of another kind counts as symmetric, too: a reader uses only the half
// that it asks for. SymmetricDim panics with ErrShape if a is not square.
func (a *Matrix[T]) SymmetricDim() int { return a.Dim() }

// NB returns the tile size.
func (a *Matrix[T]) NB() int { return a.nb }

// Tiles returns the number of tile rows and tile columns.
func (a *Matrix[T]) Tiles() (mt, nt int) { return a.mt, a.nt }

// MT returns the number of tile rows.
func (a *Matrix[T]) MT() int { return a.mt }

// NT returns the number of tile columns.
func (a *Matrix[T]) NT() int { return a.nt }

// IsView reports whether the tiles of a are in rows of the caller's memory: see [View].
func (a *Matrix[T]) IsView() bool { return a.view }

// Kind returns which part is stored.
func (a *Matrix[T]) Kind() Kind { return a.kind }

// Stored reports whether tile (i, j) is kept.
func (a *Matrix[T]) Stored(i, j int) bool {
	switch a.kind.Uplo() {
	case blas.Lower:
		return i >= j
	case blas.Upper:
		return i <= j
	}
	return true
}

// TileDims returns the shape of tile (i, j), stored or not.
func (a *Matrix[T]) TileDims(i, j int) (r, c int) {
	return min(a.nb, a.rows-i*a.nb), min(a.nb, a.cols-j*a.nb)
}

// StoredTiles returns the rows and columns of the tiles that a keeps, row by
// row.
func (a *Matrix[T]) StoredTiles() iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		for k := range a.tiles {
			if i, j := k/a.nt, k%a.nt; a.Stored(i, j) && !yield(i, j) {
				return
			}
		}
	}
}

// MakeTile is [Matrix.Tile] for an [Outline]: if the tile has no memory, MakeTile
// allocates zeros.
func (a *Matrix[T]) MakeTile(i, j int) *Tile[T] {
	t := a.Tile(i, j)
	if t.Data == nil {
		a.writable()
		*t = NewTile[T](a.TileDims(i, j))
	}
	return t
}

// Tile returns tile (i, j). It panics with ErrNotStored if a does not keep
// that tile, and with ErrIndex if there is none.
func (a *Matrix[T]) Tile(i, j int) *Tile[T] {
	if uint(i) >= uint(a.mt) || uint(j) >= uint(a.nt) {
		panic(ErrIndex)
	}
	if !a.Stored(i, j) {
		panic(ErrNotStored)
	}
	return &a.tiles[i*a.nt+j]
}

// At returns element (i, j). For a symmetric matrix it reads the stored half. For a
// triangular matrix it returns zero outside the triangle. It panics with ErrIndex if
// the index is out of range.
func (a *Matrix[T]) At(i, j int) T {
	if uint(i) >= uint(a.rows) || uint(j) >= uint(a.cols) {
		panic(ErrIndex)
	}
	switch a.kind {
	case SymLower:
		if i < j {
			i, j = j, i
		}
	case SymUpper:
		if i > j {
			i, j = j, i
		}
	case TriLower:
		if i < j {
			return 0
		}
	case TriUpper:
		if i > j {
			return 0
		}
	}
	return a.here(i/a.nb*a.nt+j/a.nb).At(i%a.nb, j%a.nb)
}

// Set sets element (i, j). Setting either of a mirrored pair of a symmetric
// matrix sets both. It panics with ErrIndex if the index is out of range and
// with ErrNotStored outside the triangle of a triangular matrix.
func (a *Matrix[T]) Set(i, j int, v T) {
	if uint(i) >= uint(a.rows) || uint(j) >= uint(a.cols) {
		panic(ErrIndex)
	}
	up := a.kind.Uplo()
	if (up == blas.Lower && i < j) || (up == blas.Upper && i > j) {
		if a.kind == TriLower || a.kind == TriUpper {
			panic(ErrNotStored)
		}
		i, j = j, i
	}
	a.writable()
	a.tiles[i/a.nb*a.nt+j/a.nb].Set(i%a.nb, j%a.nb, v)
}

// SetSym is Set, and so makes a symmetric matrix a SymmetricSink.
func (a *Matrix[T]) SetSym(i, j int, v T) { a.Set(i, j, v) }

// Zero sets the elements that a stores to zero.
func (a *Matrix[T]) Zero() {
	a.writable()
	for i, j := range a.StoredTiles() {
		t := &a.tiles[i*a.nt+j]
		for r := range t.Rows {
			lo, hi := a.storedColumns(i, j, r)
			clear(t.Row(r)[lo:hi])
		}
	}
}

// SetIdentity sets a to the m×n identity: ones at (i, i), zeros elsewhere.
func (a *Matrix[T]) SetIdentity() {
	a.Zero()
	for i := range min(a.rows, a.cols) {
		a.Set(i, i, 1)
	}
}

// Bytes returns the bytes of the elements of the stored tiles, without
// padding.
func (a *Matrix[T]) Bytes() int64 {
	var n int64
	for i, j := range a.StoredTiles() {
		r, c := a.TileDims(i, j)
		n += int64(r) * int64(c)
	}
	return n * int64(scalar.Size[T]())
}

// Spot returns the index of tile (i, j) in arrays with an entry for each tile. The order is by rows, or
// by columns if a stores the upper half, as its factorization goes through the tiles. Otherwise, in a
// matrix of 390×390 tiles, each entry of a column would be in a page of its own.
func (a *Matrix[T]) Spot(i, j int) int {
	if a.kind.Uplo() == blas.Upper {
		return j*a.mt + i
	}
	return i*a.nt + j
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

// Remote returns where the tiles of a are, or nil if they are in the memory of this process.
func (a *Matrix[T]) Remote() *Remote[T] { return a.away }

// IsDistributed reports whether the tiles of a are on the nodes of a runtime: see
// [Distributed].
func (a *Matrix[T]) IsDistributed() bool { return a.away != nil }
