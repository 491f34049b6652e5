package cpu

import (
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// Band is a square band matrix in row-major memory: element (i, j) is Data[i*(Lower+Upper+1)+Lower+j-i], for
// -Lower ≤ j-i ≤ Upper. Elements outside of the matrix, in the corners of the band, have memory that is not used.
//
//	⎡a b      ⎤        ⎡* a b⎤
//	⎢c d e    ⎥   as   ⎢c d e⎥   with Lower = Upper = 1
//	⎢  f g h  ⎥        ⎢f g h⎥
//	⎣    i j k⎦        ⎣i j k⎦ …
//
// A block of the band is a dense matrix whose rows are one element less apart than those of the band. So the routines
// of dense matrices factor it where it is, if the band has room for their zeros: see [GbtrfRoom] and [PbtrfRoom].
type Band[T Element] struct {
	N, Lower, Upper int
	Data            []T
}

// ld returns how far the rows of a dense block are apart.
func (b *Band[T]) ld() int { return b.Lower + b.Upper }

// at returns the memory from element (i, j) on.
func (b *Band[T]) at(i, j int) []T { return b.Data[i*b.ld()+b.Lower+j:] }

// row returns elements first to end−1 of row i.
func (b *Band[T]) row(i, first, end int) []T { return b.at(i, first)[: end-first : end-first] }

// check panics unless the band has at least so many diagonals below and above the main one, and all its memory.
func (b *Band[T]) check(lower, upper int) {
	switch {
	case b.N < 0 || lower < 0 || upper < 0:
		panic(ErrDim)
	case b.Lower < lower || b.Upper < upper:
		panic(ErrStride)
	case len(b.Data) < b.N*(b.Lower+b.Upper+1):
		panic(ErrShort)
	}
}

const (
	// bandNarrow is the number of diagonals beside the main one up to which a band is factored row by row: calls of
	// routines for blocks would take longer than the arithmetic.
	bandNarrow = 32
	// bandPanel is the largest number of columns that are factored before the rest of the matrix is updated.
	bandPanel = 64
	// bandColumns is the number of columns of the rest that one part updates.
	bandColumns = 192
	// bandFew is the number of right-hand sides up to which a solution goes from row to row.
	bandFew = 1
)

// bandPanelOf returns the number of columns of a panel for a band with k diagonals on one side. A panel's zeros cost
// about as large a part of the work as it is of k.
func bandPanelOf(k int) int {
	if k <= bandNarrow {
		return 1
	}
	return min(max(8, roundUp(k/6, 8)), bandPanel)
}

// Bands factors band matrices, and solves with the factors.
type Bands[T Element] struct {
	condensed[T]
	lu *LU[T]
}

// NewBands returns the routines for bands by a set of routines and a crew. If crew is nil, the caller's goroutine does
// all the work. The bits of results do not depend on the crew.
func NewBands[T Element](r Routines[T], lu *LU[T], crew Crew[T]) *Bands[T] {
	return &Bands[T]{condensed: newCondensed(r, crew), lu: lu}
}

// axpy computes y += alpha·x for vectors that may be very short.
func (t *Bands[T]) axpy(alpha T, x, y []T) { shortAxpy(&t.vectors, alpha, x, y) }

// shortest is the number of elements from which the call of a vector kernel pays.
const shortest = 12

// shortAxpy computes y += alpha·x for vectors that may be very short.
func shortAxpy[T Element](v *isa.Vectors[T], alpha T, x, y []T) {
	if len(x) >= shortest {
		axpyWith(v, alpha, x, y)
		return
	}
	y = y[:len(x)]
	for i, s := range x {
		y[i] += alpha * s
	}
}

// dot returns Σ x·y for vectors that may be very short.
func (t *Bands[T]) dot(x, y []T) (s T) {
	if len(x) >= shortest {
		return dotWith(&t.vectors, x, y[:len(x)])
	}
	y = y[:len(x)]
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// columns calls f for each block of bandColumns of n columns, as parts of the crew, with scratch for the routines on
// matrices of the given dimension. Where there is one block only, the caller does it with work.
func (t *Bands[T]) columns(n, dim int, work []T, f func(first, n int, work []T)) {
	parts := (n + bandColumns - 1) / bandColumns
	if parts <= 1 {
		f(0, n, work)
		return
	}
	t.crew(parts, t.Work(dim), func(part, _ int, work []T) {
		first := part * bandColumns
		f(first, min(bandColumns, n-first), work)
	})
}
