package scalapack

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/internal/problems"
)

// Desc is ScaLAPACK's descriptor of a dense matrix, as DESCINIT makes it. It has the memory layout of
// INTEGER DESC(9): nine integers of Fortran in this order.
type Desc struct {
	Type       int32 // DTYPE_: 1, a dense matrix
	Context    int32 // CTXT_: of the BLACS; negative on a process that is not in the grid
	M, N       int32 // rows and columns of the whole matrix
	MB, NB     int32 // rows and columns of a block
	RSrc, CSrc int32 // the row and the column of the grid that have the first block
	LLD        int32 // distance between columns of the local array, in elements
}

// Grid is a P×Q grid of the BLACS. Process (p, q) has number p·Q+q, or p+q·P if ByColumns is set. These are
// the numbers that BLACS_GRIDINIT assigns with ORDER 'R' and 'C'.
type Grid struct {
	P, Q      int
	ByColumns bool
}

// DescError lists everything that is wrong with a descriptor, a grid, or a local array that does not fit its
// descriptor.
type DescError struct {
	Array  string // name of the array; empty for a grid
	Reason string
}

func (e *DescError) Error() string {
	if e.Array == "" {
		return "scalapack: " + e.Reason
	}
	return "scalapack: array " + e.Array + ": " + e.Reason
}

// check returns a *DescError if P or Q is less than 1, or P·Q is too large.
func (g Grid) check() error {
	if g.P < 1 || g.Q < 1 || g.P > 1<<20/g.Q {
		return &DescError{Reason: fmt.Sprintf("a grid of %d×%d processes", g.P, g.Q)}
	}
	return nil
}

// process returns the number of process (p, q).
func (g Grid) process(p, q int) int {
	if g.ByColumns {
		return p + q*g.P
	}
	return p*g.Q + q
}

// place returns the row and the column of a process in the grid. ok is false if the grid does not have it.
func (g Grid) place(rank int) (p, q int, ok bool) {
	switch {
	case rank < 0 || rank >= g.P*g.Q:
		return 0, 0, false
	case g.ByColumns:
		return rank % g.P, rank / g.P, true
	}
	return rank / g.Q, rank % g.Q, true
}

// Local returns the numbers of rows and columns in the local array of process (p, q), as NUMROC.
func (d *Desc) Local(g Grid, p, q int) (rows, cols int) {
	return d.rows(g).share(p), d.cols(g).share(q)
}

// rows and cols say how the rows and columns are divided among the rows and columns of the grid.
func (d *Desc) rows(g Grid) cut { return cut{int(d.M), int(d.MB), int(d.RSrc), g.P} }
func (d *Desc) cols(g Grid) cut { return cut{int(d.N), int(d.NB), int(d.CSrc), g.Q} }

// check returns a *DescError that lists everything that is wrong with d, or nil. there says that the process
// is in the grid: in row p and column q, with a local array of the given number of elements.
func (d *Desc) check(name string, g Grid, p, q int, there bool, elements int) error {
	var bad problems.List
	bad.Check(d.Type == 1, "DTYPE_ is %d, want 1, of a dense matrix", d.Type)
	bad.Check(!there || d.Context >= 0, "CTXT_ is %d, as of a process that is not in the grid", d.Context)
	bad.Check(d.M >= 0, "M_ is %d, want at least 0", d.M)
	bad.Check(d.N >= 0, "N_ is %d, want at least 0", d.N)
	bad.Check(d.MB >= 1, "MB_ is %d, want at least 1", d.MB)
	bad.Check(d.NB >= 1, "NB_ is %d, want at least 1", d.NB)
	bad.Check(d.RSrc >= 0 && int(d.RSrc) < g.P, "RSRC_ is %d, and the grid has %d rows", d.RSrc, g.P)
	bad.Check(d.CSrc >= 0 && int(d.CSrc) < g.Q, "CSRC_ is %d, and the grid has %d columns", d.CSrc, g.Q)
	if bad == nil && there {
		rows, cols := d.Local(g, p, q)
		bad.Check(int(d.LLD) >= max(1, rows), "LLD_ is %d, want at least %d", d.LLD, max(1, rows))
		if bad == nil && rows > 0 && cols > 0 {
			n := int64(d.LLD)*int64(cols-1) + int64(rows)
			bad.Check(int64(elements) >= n, "the local array has %d elements, want at least %d", elements, n)
		}
	}
	if bad != nil {
		return &DescError{name, strings.Join(bad, "; ")}
	}
	return nil
}

// cut divides n rows of a matrix in blocks among the rows of a grid, round by round from source on; or
// columns likewise.
type cut struct{ n, block, source, processes int }

// share returns the number of rows that row k of the grid has.
func (c cut) share(k int) int {
	blocks := c.n / c.block
	ahead := (c.processes + k - c.source) % c.processes // how many come before k in a round
	have := blocks / c.processes * c.block
	switch extra := blocks % c.processes; {
	case ahead < extra:
		have += c.block
	case ahead == extra:
		have += c.n % c.block
	}
	return have
}

// run is n consecutive rows that a process has: from row lo of a tile on, and from row local of its array on.
// Likewise columns.
type run struct{ lo, local, n int }

// runs returns the runs of rows first to first+n−1 that row k of the grid has, in order, and the number of
// their rows.
func (c cut) runs(first, n, k int) (all []run, have int) {
	for i := first; i < first+n; {
		b := i / c.block
		end := min((b+1)*c.block, first+n)
		if (c.source+b)%c.processes == k {
			all = append(all, run{i - first, b/c.processes*c.block + i%c.block, end - i})
			have += end - i
		}
		i = end
	}
	return all, have
}
