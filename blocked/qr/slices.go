package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
)

// Slices is an m×n matrix in the caller's row-major memory, divided in one direction
// only: into slices of nb whole columns, or of nb whole rows. The last slice is
// narrower if nb does not divide the matrix. Slices suit algorithms that work on
// whole columns, such as the QR factorization with LAPACK's reflectors.
type Slices[T blocked.Element] struct {
	rows, cols, nb int
	byRows         bool
	tiles          []blocked.Tile[T]
}

// SliceColumns returns g in slices of nb columns, which alias g.Data. It panics
// with ErrStorage if g's data cannot hold it, and with ErrShape if nb < 1.
func SliceColumns[T blocked.Element](g blocked.General[T], nb int) *Slices[T] {
	return slice(g, nb, g.Cols, false)
}

// SliceRows returns g in slices of nb rows, as SliceColumns does.
func SliceRows[T blocked.Element](g blocked.General[T], nb int) *Slices[T] {
	return slice(g, nb, g.Rows, true)
}

func slice[T blocked.Element](g blocked.General[T], nb, extent int, byRows bool) *Slices[T] {
	if g.Validate() != nil {
		panic(blocked.ErrStorage)
	}
	if nb < 1 {
		panic(blocked.ErrShape)
	}
	s := &Slices[T]{rows: g.Rows, cols: g.Cols, nb: nb, byRows: byRows, tiles: make([]blocked.Tile[T], tiles.Count(extent, nb))}
	for k := range s.tiles {
		lo := k * nb
		w := min(nb, extent-lo)
		t := blocked.Tile[T]{Rows: g.Rows, Cols: w, Stride: g.Stride}
		first := lo
		if byRows {
			t.Rows, t.Cols = w, g.Cols
			first = lo * g.Stride
		}
		if t.Rows > 0 && t.Cols > 0 {
			end := first + (t.Rows-1)*g.Stride + t.Cols
			t.Data = g.Data[first:end:end]
		}
		s.tiles[k] = t
	}
	return s
}

// Dims returns the number of rows and columns.
func (s *Slices[T]) Dims() (r, c int) { return s.rows, s.cols }
