package tiles

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/internal/problems"
)

// Layout says which process owns which tile of a Matrix.
//
// Owner returns the number, from 0, of the process that owns tile (i, j). It
// is asked only for tiles that exist and are stored, and must always give the
// same answer.
type Layout interface {
	Owner(i, j int) int
}

// LayoutFunc is a Layout given by a function of the tile's row and column.
type LayoutFunc func(i, j int) int

// Owner returns f(i, j).
func (f LayoutFunc) Owner(i, j int) int { return f(i, j) }

// BlockCyclic is ScaLAPACK's two-dimensional block-cyclic layout over a P×Q
// grid of processes, numbered by rows: tile (i, j) belongs to grid row
// (RowSource+i) mod P and grid column (ColSource+j) mod Q (INDXG2P), which is
// process
//
//	((RowSource+i) mod P)·Q + (ColSource+j) mod Q.
//
// For P = 2, Q = 3 and sources 0:
//
//	0 1 2 0 1 …
//	3 4 5 3 4 …
//	0 1 2 0 1 …
//
// P = 0 or Q = 0 means 1, so the zero value gives every tile to process 0.
type BlockCyclic struct {
	P, Q                 int // rows and columns of the process grid
	RowSource, ColSource int // grid row and column that own tile (0, 0)
}

// Processes returns the number of processes of the grid.
func (b BlockCyclic) Processes() int { return max(1, b.P) * max(1, b.Q) }

// Owner returns the process that owns tile (i, j).
func (b BlockCyclic) Owner(i, j int) int {
	p, q := max(1, b.P), max(1, b.Q)
	return (b.RowSource+i)%p*q + (b.ColSource+j)%q
}

// Validate returns a *LayoutError that names everything wrong with b: a
// negative dimension of the grid, or a source outside it.
func (b BlockCyclic) Validate() error {
	var bad problems.List
	bad.Check(b.P >= 0 && b.Q >= 0, "process grid of %d×%d", b.P, b.Q)
	p, q := max(1, b.P), max(1, b.Q)
	bad.Check(b.RowSource >= 0 && b.RowSource < p, "source row %d of %d", b.RowSource, p)
	bad.Check(b.ColSource >= 0 && b.ColSource < q, "source column %d of %d", b.ColSource, q)
	if bad == nil {
		return nil
	}
	return &LayoutError{Row: -1, Col: -1, Owner: -1, Reason: "block-cyclic: " + strings.Join(bad, ", ")}
}

// LayoutError reports a Layout that does not fit the processes there are.
type LayoutError struct {
	Row, Col int    // the tile, or -1 if the layout itself is wrong
	Owner    int    // the owner it was given, or -1
	Reason   string // what is wrong
}

func (e *LayoutError) Error() string {
	if e.Row < 0 {
		return "blocked: layout: " + e.Reason
	}
	return fmt.Sprintf("blocked: layout: tile (%d, %d) given to process %d: %s", e.Row, e.Col, e.Owner, e.Reason)
}
