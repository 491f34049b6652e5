package tiles

import (
	"sync"
	"sync/atomic"
)

// Filling fills the tiles of a Matrix from a source, each once, and computes the [Stats] on
// the way if the caller asks for them. Distinct tiles may be filled concurrently if the
// source is in memory.
type Filling[T Element] struct {
	a    *Matrix[T]
	src  Source[T]
	fill strips[T] // from the memory of src, or nil
	sum  *Sums[T]  // nil without Stats
	left atomic.Int64

	mu    sync.Mutex // a leaf lock; guards first
	first nonFinite
}

// NewFilling returns a Filling of a from src, which must not be written meanwhile. It
// panics with ErrShape if the dimensions differ, and with ErrStorage if the data of a raw
// src cannot hold it.
func NewFilling[T Element](a *Matrix[T], src Source[T], stats bool) *Filling[T] {
	if m, n := src.Dims(); m != a.rows || n != a.cols {
		panic(ErrShape)
	}
	f := newFilling(a, nil, stats)
	f.src = src
	if o, ok := originOf(src, 0); ok {
		f.fill = o.strips(a.nb)
	}
	return f
}

func newFilling[T Element](a *Matrix[T], fill strips[T], stats bool) *Filling[T] {
	f := &Filling[T]{a: a, fill: fill}
	for range a.StoredTiles() {
		f.left.Add(1)
	}
	if stats {
		f.sum = NewSums(a, a.kind)
	}
	return f
}

// InMemory reports whether the source is memory from which several goroutines can fill tiles. Otherwise one goroutine
// reads it through At: see [Matrix.CopyFrom].
func (f *Filling[T]) InMemory() bool { return f.fill != nil }

// Fill fills the stored tiles (i, j), (i, j+1), … It allocates memory for a tile that has none. It
// reads a source that is not in memory row by row.
func (f *Filling[T]) Fill(i, j int, tiles ...*Tile[T]) {
	for _, t := range tiles {
		if t.Data == nil { // the shape is set, and other goroutines may be reading it
			t.Data = NewTile[T](t.Rows, t.Cols).Data
		}
	}
	if f.fill != nil {
		for k, t := range tiles {
			f.inStrips(t, i, j+k)
		}
	} else {
		f.read(i, j, tiles)
	}
	f.left.Add(-int64(len(tiles)))
}

// stripRows is the number of rows that are copied, and then summed, at a time. So few
// rows of a tile stay in the first-level cache.
const stripRows = 32

// inStrips fills t, tile (i, j), a few rows at a time.
func (f *Filling[T]) inStrips(t *Tile[T], i, j int) {
	uplo, _ := f.a.kind.part(i, j)
	for r := 0; r < t.Rows; r += stripRows {
		end := min(r+stripRows, t.Rows)
		f.fill(t, i, j, r, end, uplo)
		if f.sum != nil {
			f.sum.add(t, i, j, r, end)
		}
	}
	f.check(t, i, j)
}

// check searches t, tile (i, j), for an element that is not finite, if the sums show that there may be
// one.
func (f *Filling[T]) check(t *Tile[T], i, j int) {
	if f.sum == nil || f.sum.finite(i, j) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	searchTile(&f.first, f.a, t, i, j)
}

// read fills tiles through At.
func (f *Filling[T]) read(i, j int, tiles []*Tile[T]) {
	a := f.a
	for r := range tiles[0].Rows {
		for k, t := range tiles {
			lo, hi := a.storedColumns(i, j+k, r)
			row := t.Row(r)[lo:hi]
			for c := range row {
				row[c] = f.src.At(i*a.nb+r, (j+k)*a.nb+lo+c)
			}
		}
	}
	if f.sum != nil {
		for k, t := range tiles {
			f.sum.add(t, i, j+k, 0, t.Rows)
			f.check(t, i, j+k)
		}
	}
}

// all fills all tiles, on at most the given number of goroutines.
func (f *Filling[T]) all(workers int) Stats {
	a := f.a
	if f.fill != nil {
		a.EachTile(workers, func(i, j int) { f.Fill(i, j, &a.tiles[i*a.nt+j]) })
	} else {
		for i := range a.mt {
			var row []*Tile[T]
			first := 0
			for j := range a.nt {
				if !a.Stored(i, j) {
					continue
				}
				if row == nil {
					first = j
				}
				row = append(row, &a.tiles[i*a.nt+j])
			}
			if row != nil {
				f.Fill(i, first, row...)
			}
		}
	}
	s, _ := f.Stats()
	return s
}

// Stats returns the Stats of the matrix. ok is false if a tile was not filled, or the Filling was
// made without Stats.
func (f *Filling[T]) Stats() (s Stats, ok bool) {
	if f.sum == nil || f.left.Load() != 0 {
		return Stats{}, false
	}
	s = f.sum.stats()
	s.NonFinite, s.Row, s.Col = f.first.found, f.first.row, f.first.col
	return s, true
}
