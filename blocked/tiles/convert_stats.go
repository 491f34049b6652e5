package tiles

import (
	"math"
	"sync"

	"github.com/tessera-la/tessera/internal/abssum"
	"gonum.org/v1/gonum/blas"
)

// tally computes the 1-norm of a Matrix and finds its first element that is not
// finite, tile by tile. Distinct tiles may be added concurrently.
//
// Every tile sums its columns into a place of its own. The places are added in a
// fixed order at the end, so the result does not depend on the order of the tiles.
// An element that is not finite makes the sum of its column infinite or NaN. So
// only tiles with such a sum are searched for the element.
type tally[T Element] struct {
	a *Matrix[T]
	// sums is mt×n: row i holds the column sums of tile row i. The tile that
	// a symmetric matrix does not store is summed from its mirror image.
	sums []float64
	// tops is the largest magnitude of every tile.
	tops []float64

	mu    sync.Mutex // a leaf lock; guards the rest
	first nonFinite
}

func newTally[T Element](a *Matrix[T]) *tally[T] {
	return &tally[T]{a: a, sums: make([]float64, a.mt*a.cols), tops: make([]float64, len(a.tiles))}
}

// stats returns the Stats of a.
func (a *Matrix[T]) stats(workers int) Stats {
	sum := newTally(a)
	a.EachTile(workers, func(i, j int) {
		t := a.here(i*a.nt + j)
		sum.add(t, i, j, 0, t.Rows)
		sum.close(t, i, j)
	})
	return sum.stats()
}

// columns returns the place of the column sums of tile (i, j).
func (s *tally[T]) columns(i, j int) []float64 {
	a := s.a
	_, c := a.TileDims(i, j)
	off := i*a.cols + j*a.nb
	return s.sums[off : off+c]
}

// add sums rows r to end of t, which is tile (i, j).
func (s *tally[T]) add(t *Tile[T], i, j, r, end int) {
	top := &s.tops[i*s.a.nt+j]
	symmetric := s.a.kind == SymLower || s.a.kind == SymUpper
	switch {
	case i == j && s.a.kind != Full:
		absTriangle(t, r, end, s.a.kind.Uplo(), symmetric, s.columns(i, i), top)
	case symmetric:
		absBoth(t, r, end, s.columns(i, j), s.columns(j, i), top)
	default:
		absColumns(t, r, end, s.columns(i, j), top)
	}
}

// close searches t, tile (i, j), for an element that is not finite, if the sums show
// that there may be one. All rows of t must have been added.
func (s *tally[T]) close(t *Tile[T], i, j int) {
	total := 0.0
	for _, v := range s.columns(i, j) {
		total += v
	}
	if total-total == 0 {
		return
	}
	// Either there is such an element, or a sum has overflowed.
	var f nonFinite
	searchTile(&f, s.a, t, i, j)
	if !f.found {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.first.found || before(f.row, f.col, s.first.row, s.first.col) {
		s.first = f
	}
}

// nonFinite is the first element of a matrix that is infinite or NaN, by rows.
type nonFinite struct {
	found    bool
	row, col int
}

// FirstNonFinite returns the first element, by rows, that is infinite or NaN, of the stored tiles
// for which in reports true.
func (a *Matrix[T]) FirstNonFinite(in func(i, j int) bool) (row, col int, found bool) {
	var f nonFinite
	for i, j := range a.StoredTiles() {
		if in(i, j) {
			searchTile(&f, a, a.here(i*a.nt+j), i, j)
		}
	}
	return f.row, f.col, f.found
}

// searchTile searches t, tile (i, j) of a, for the first element that is not finite.
func searchTile[T Element](f *nonFinite, a *Matrix[T], t *Tile[T], i, j int) {
	for r := range t.Rows {
		lo, hi := a.storedColumns(i, j, r)
		for c, v := range t.Data[r*t.Stride+lo : r*t.Stride+hi] {
			if v-v == 0 {
				continue
			}
			p, q := i*a.nb+r, j*a.nb+lo+c
			if p > q && (a.kind == SymLower || a.kind == SymUpper) {
				p, q = q, p
			}
			if !f.found || before(p, q, f.row, f.col) {
				*f = nonFinite{true, p, q}
			}
		}
	}
}

// before reports whether (i, j) comes before (p, q) in row-major order.
func before(i, j, p, q int) bool { return i < p || (i == p && j < q) }

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

// stats returns the result once all tiles are closed.
func (s *tally[T]) stats() Stats {
	columns := s.totals()
	norm := 0.0
	for _, sum := range columns {
		norm = max(norm, sum) // NaN if either is
	}
	top := 0.0
	for _, v := range s.tops {
		top = max(top, v)
	}
	return Stats{Norm: norm, Columns: columns, Max: top, NonFinite: s.first.found, Row: s.first.row, Col: s.first.col}
}

// totals returns the sums of the columns.
func (s *tally[T]) totals() []float64 {
	n := s.a.cols
	if s.a.mt == 1 {
		return s.sums
	}
	columns := make([]float64, n)
	for i := range s.a.mt {
		for c, v := range s.sums[i*n : (i+1)*n] {
			columns[c] += v
		}
	}
	return columns
}

// absColumns adds the magnitudes of rows r to end of t to the sums of their
// columns, and raises top to the largest.
func absColumns[T Element](t *Tile[T], r, end int, col []float64, top *float64) {
	for ; r+4 <= end; r += 4 {
		abssum.Four(t.Data[r*t.Stride:], t.Stride, col, top)
	}
	for ; r < end; r++ {
		abssum.One(t.Row(r), col, top)
	}
}

// absBoth is absColumns that also adds the magnitudes to the sums of their rows.
func absBoth[T Element](t *Tile[T], r, end int, col, row []float64, top *float64) {
	for ; r+4 <= end; r += 4 {
		for i, s := range abssum.Four(t.Data[r*t.Stride:], t.Stride, col, top) {
			row[r+i] += s
		}
	}
	for ; r < end; r++ {
		row[r] += abssum.One(t.Row(r), col, top)
	}
}

// absTriangle adds the magnitudes in the uplo triangle of rows r to end of the
// diagonal tile t to the sums of their columns. If the matrix is symmetric, it also
// adds those off the diagonal to the column sums of their mirror images. It raises
// top to the largest magnitude.
//
// It takes four rows at a time: a triangle on the diagonal and a rectangle beside it.
func absTriangle[T Element](t *Tile[T], r, end int, uplo blas.Uplo, symmetric bool, col []float64, top *float64) {
	n := t.Cols
	for ; r < end; r += 4 {
		next := min(r+4, end)
		for i := r; i < next; i++ {
			col[i] += math.Abs(float64(t.Data[i*t.Stride+i]))
			*top = max(*top, math.Abs(float64(t.Data[i*t.Stride+i])))
			lo, hi := r, i
			if uplo == blas.Upper {
				lo, hi = i+1, min(next, n)
			}
			if sum := abssum.One(t.Row(i)[lo:], col[lo:hi], top); symmetric {
				col[i] += sum
			}
		}
		lo, hi := 0, r
		if uplo == blas.Upper {
			lo, hi = min(next, n), n
		}
		if next < r+4 {
			for i := r; i < next; i++ {
				if sum := abssum.One(t.Row(i)[lo:], col[lo:hi], top); symmetric {
					col[i] += sum
				}
			}
			continue
		}
		for i, sum := range abssum.Four(t.Data[r*t.Stride+lo:], t.Stride, col[lo:hi], top) {
			if symmetric {
				col[r+i] += sum
			}
		}
	}
}
