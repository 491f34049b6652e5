package tiles

import (
	"math"

	"github.com/tessera-la/tessera/kernels/op"
)

// Magnitudes holds, for each tile of a matrix, what op "lange" computes: the largest magnitude of each column,
// or the sum of squares. When the op has run for all tiles, these methods are valid:
//
//	of NewMaxima     Columns, Max
//	of NewSquares    Frobenius
//
// What these return does not depend on how many goroutines or nodes compute the numbers of the tiles.
type Magnitudes[T Element] struct {
	a       *Matrix[T]
	tiles   []Tile[float64] // mt×nt row-major
	squares bool            // sums of squares, not maxima
}

// NewMaxima returns room for the largest magnitudes of the columns of each tile of a, all 0.
func NewMaxima[T Element](a *Matrix[T]) *Magnitudes[T] { return newMagnitudes(a) }

// NewSquares returns room for the sum of squares of each tile of a, all 0.
func NewSquares[T Element](a *Matrix[T]) *Magnitudes[T] {
	m := newMagnitudes(a)
	m.squares = true
	return m
}

func newMagnitudes[T Element](a *Matrix[T]) *Magnitudes[T] {
	m := &Magnitudes[T]{a: a, tiles: make([]Tile[float64], a.mt*a.nt)}
	outline(m.tiles, func(k int) (rows, cols int) {
		if i, j := k/a.nt, k%a.nt; a.Stored(i, j) {
			_, c := a.TileDims(i, j)
			return 1, max(c, 2)
		}
		return 0, 0
	})
	return m
}

// Tile returns the room for the numbers of tile (i, j), which op "lange" overwrites, and the parameter of the
// op. Tile returns nil for a tile that is not stored.
func (m *Magnitudes[T]) Tile(i, j int) (*Tile[float64], *op.Lange) {
	if !m.a.Stored(i, j) {
		return nil, nil
	}
	uplo, symmetric := m.a.kind.part(i, j)
	return &m.tiles[i*m.a.nt+j], &op.Lange{Uplo: uplo, Symmetric: symmetric, Squares: m.squares}
}

// Columns returns the largest magnitude of each column of the matrix. It is valid for NewMaxima.
func (m *Magnitudes[T]) Columns() []float64 {
	a, tops := m.a, make([]float64, m.a.cols)
	for i, j := range a.StoredTiles() {
		_, c := a.TileDims(i, j)
		top := tops[j*a.nb:][:c]
		for k, v := range m.tiles[i*a.nt+j].Row(0)[:c] {
			top[k] = max(top[k], v)
		}
	}
	return tops
}

// Max returns the largest magnitude in tile (i, j). It is valid for NewMaxima.
func (m *Magnitudes[T]) Max(i, j int) float64 { return largest(m.tiles[i*m.a.nt+j].Row(0)) }

// Frobenius returns the Frobenius norm of the matrix. It is valid for NewSquares.
func (m *Magnitudes[T]) Frobenius() float64 {
	var s op.Squares
	for i, j := range m.a.StoredTiles() {
		t := &m.tiles[i*m.a.nt+j]
		q := op.Squares{Scale: t.At(0, 0), Sum: t.At(0, 1)}
		if i != j && m.a.kind.Symmetric() {
			q.Sum *= 2
		}
		s = s.Add(q)
	}
	return s.Scale * math.Sqrt(s.Sum)
}
