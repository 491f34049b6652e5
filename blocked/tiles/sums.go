package tiles

import "github.com/tessera-la/tessera/kernels/op"

// Sums holds the sums of the magnitudes of the columns and rows of each tile of a matrix, as op "asum"
// computes them. The sums of the matrix are added up in the order of the tiles, so they depend neither
// on how many goroutines or nodes compute those of the tiles nor on which does so first.
type Sums[T Element] struct {
	a     *Matrix[T]
	kind  Kind            // TriUpper if only the upper triangle counts, else the kind of a
	tiles []Tile[float64] // mt×nt row-major; without memory where a tile does not count
}

// NewSums returns room for the sums of a. kind is that of a, or TriUpper if only the upper triangle or
// trapezoid of a Full matrix counts.
func NewSums[T Element](a *Matrix[T], kind Kind) *Sums[T] {
	s := &Sums[T]{a, kind, make([]Tile[float64], a.mt*a.nt)}
	outline(s.tiles, func(k int) (rows, cols int) {
		if i, j := k/a.nt, k%a.nt; s.counts(i, j) {
			return 3, max(a.TileDims(i, j))
		}
		return 0, 0
	})
	return s
}

// outline gives each tile the shape that dims returns for it, and zeros.
func outline(tiles []Tile[float64], dims func(k int) (rows, cols int)) {
	size := 0
	for k := range tiles {
		t := &tiles[k]
		t.Rows, t.Cols = dims(k)
		t.Stride = Count(t.Cols, 8) * 8
		size += t.Rows * t.Stride
	}
	all := make([]float64, size)
	for k := range tiles {
		n := tiles[k].Rows * tiles[k].Stride
		tiles[k].Data, all = all[:n:n], all[n:]
	}
}

// counts reports whether tile (i, j) counts in the sums.
func (s *Sums[T]) counts(i, j int) bool { return s.a.Stored(i, j) && (s.kind != TriUpper || i <= j) }

// Tile returns the room for the sums of tile (i, j), which op "asum" overwrites, and the parameter of the
// op. It returns nil for a tile that does not count.
func (s *Sums[T]) Tile(i, j int) (*Tile[float64], *op.Asum) {
	if !s.counts(i, j) {
		return nil, nil
	}
	uplo, symmetric := s.kind.part(i, j)
	return &s.tiles[i*s.a.nt+j], &op.Asum{Uplo: uplo, Symmetric: symmetric}
}

// add adds rows r to end−1 of t, which is tile (i, j).
func (s *Sums[T]) add(t *Tile[T], i, j, r, end int) {
	uplo, symmetric := s.kind.part(i, j)
	op.AddMagnitudes(uplo, symmetric, t, r, end, &s.tiles[i*s.a.nt+j])
}

// Norm1 returns the 1-norm, the largest sum of a column. It is NaN if there is a NaN, else +Inf
// if there is an infinity or a sum is out of range.
func (s *Sums[T]) Norm1() float64 { return largest(s.Columns()) }

// NormInf returns the ∞-norm, the largest sum of a row, with the rules of Norm1.
func (s *Sums[T]) NormInf() float64 { return largest(s.Rows()) }

// Max returns the largest magnitude, unless there is a NaN.
func (s *Sums[T]) Max() (top float64) {
	for k := range s.tiles {
		if t := &s.tiles[k]; t.Cols > 0 {
			top = max(top, t.At(2, 0))
		}
	}
	return top
}

// Stats returns the [Stats] of the matrix. It reads the tiles whose sums are not finite, so the matrix must
// not have changed since.
func (s *Sums[T]) Stats() Stats {
	stats := s.stats()
	if stats.Norm-stats.Norm != 0 {
		stats.Row, stats.Col, stats.NonFinite = s.NonFinite()
	}
	return stats
}

// stats is Stats for a matrix of finite elements.
func (s *Sums[T]) stats() Stats {
	columns := s.Columns()
	return Stats{Norm: largest(columns), Columns: columns, Max: s.Max()}
}

// NonFinite returns the first element, by rows, that is infinite or NaN; ok is false if there is
// none. It reads the tiles whose sums are not finite, so the matrix must not have changed since.
func (s *Sums[T]) NonFinite() (row, col int, ok bool) {
	var first nonFinite
	for i, j := range s.a.StoredTiles() {
		if !s.finite(i, j) {
			searchTile(&first, s.a, s.a.here(i*s.a.nt+j), i, j)
		}
	}
	return first.row, first.col, first.found
}

// finite reports whether the sums of tile (i, j) are finite. If not, either an element is not, or a sum
// has overflowed.
func (s *Sums[T]) finite(i, j int) bool {
	t, total := &s.tiles[i*s.a.nt+j], 0.0
	for k := range t.Cols {
		total += t.Data[k]
	}
	return total-total == 0
}

// nonFinite is the first element of a matrix that is infinite or NaN, by rows.
type nonFinite struct {
	found    bool
	row, col int
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
			if p > q && a.kind.Symmetric() {
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

// Columns returns the sum of each column.
func (s *Sums[T]) Columns() []float64 {
	a, sums := s.a, make([]float64, s.a.cols)
	for i, j := range a.StoredTiles() {
		if s.counts(i, j) {
			r, c := a.TileDims(i, j)
			t := &s.tiles[i*a.nt+j]
			addTo(sums[j*a.nb:], t.Row(0)[:c])
			if i != j && s.kind.Symmetric() { // and the mirror image
				addTo(sums[i*a.nb:], t.Row(1)[:r])
			}
		}
	}
	return sums
}

// Rows returns the sum of each row.
func (s *Sums[T]) Rows() []float64 {
	if s.kind.Symmetric() {
		return s.Columns()
	}
	a, sums := s.a, make([]float64, s.a.rows)
	for i, j := range a.StoredTiles() {
		if s.counts(i, j) {
			r, _ := a.TileDims(i, j)
			addTo(sums[i*a.nb:], s.tiles[i*a.nt+j].Row(1)[:r])
		}
	}
	return sums
}

// addTo adds x to the first elements of sums.
func addTo(sums, x []float64) {
	sums = sums[:len(x)]
	for k, v := range x {
		sums[k] += v
	}
}

// largest returns the largest of x, 0 if there is none, NaN if there is a NaN.
func largest(x []float64) (top float64) {
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

// Stats holds facts about a matrix that a conversion computes on the way. They do
// not depend on the number of workers.
type Stats struct {
	// Norm is the 1-norm, the largest column sum of magnitudes, of the matrix
	// that was made: both halves of a symmetric one count. It is summed in
	// float64 without scaling, as LAPACK's xLANGE does: if the sum of a column
	// of finite float64 overflows, it is +Inf while NonFinite is false. With
	// an infinite or NaN element it is +Inf or NaN.
	Norm float64
	// Columns holds the sums of the columns, of which Norm is the largest.
	Columns []float64
	// Max is the largest magnitude, unless there is a NaN.
	Max float64
	// NonFinite says that some element is infinite or NaN.
	NonFinite bool
	// Row and Col are the first such element in row-major order. In a
	// symmetric matrix Row ≤ Col, whichever half is stored.
	Row, Col int
}
