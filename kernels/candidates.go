package kernels

import (
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Candidates is the rows of a panel that have won a game, a datum of its own.
type Candidates[T Element] struct {
	// Rows are their indices, counted from the top of the panel.
	Rows []int
	// Tile holds them: row i is row Rows[i] of the panel.
	Tile Tile[T]
	// Info is 0, or the column, from 1, in which the last game had no pivot but
	// zero.
	Info int
}

// NewCandidates returns room for the winners of a game of the given number of
// rows of n elements.
func NewCandidates[T Element](rows, n int) *Candidates[T] {
	c := &Candidates[T]{Rows: make([]int, 0, rows)}
	c.Resize(min(rows, n), n)
	c.Resize(0, n)
	return c
}

// Resize makes room for the given number of rows of n elements, in the memory that c
// has if that is enough. What the rows hold is undefined.
func (c *Candidates[T]) Resize(rows, n int) {
	line := 64 / scalar.Size[T]() // a row takes whole cache lines
	ld := max((n+line-1)/line*line, 1)
	c.Rows = slices.Grow(c.Rows[:0], rows)[:rows]
	c.Tile = Tile[T]{Rows: rows, Cols: n, Stride: ld, Data: slices.Grow(c.Tile.Data[:0], rows*ld)[:rows*ld]}
}
