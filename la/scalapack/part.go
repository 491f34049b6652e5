package scalapack

import (
	"fmt"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// whole is the fields that the descriptors of a matrix have in common, and the grid.
type whole struct {
	M, N, MB, NB, RSrc, CSrc int32
	P, Q                     int
}

func (d *Desc) whole(g Grid) whole { return whole{d.M, d.N, d.MB, d.NB, d.RSrc, d.CSrc, g.P, g.Q} }

func (w *whole) cuts() (rows, cols cut) {
	return cut{int(w.M), int(w.MB), int(w.RSrc), w.P}, cut{int(w.N), int(w.NB), int(w.CSrc), w.Q}
}

// part is the parameter of all ops. It describes the part of a tile that process (Row, Col) of the grid has.
// The first element of the tile is element (I, J) of the matrix.
type part struct {
	Array      string
	Whole      whole
	I, J       int
	Rows, Cols int // of the tile
	Row, Col   int
	Kind       uint8 // of the matrix of tiles
}

// Validate returns an error if a field is out of range.
func (x *part) Validate() error {
	bad := func(fields string) error {
		return &versions.ParamsError{Op: packing, Field: fields, Reason: "is out of range"}
	}
	w := &x.Whole
	g := Grid{P: w.P, Q: w.Q}
	if g.check() != nil || w.M < 0 || w.N < 0 || w.MB < 1 || w.NB < 1 || w.RSrc < 0 || int(w.RSrc) >= w.P || w.CSrc < 0 || int(w.CSrc) >= w.Q {
		return bad("Whole")
	}
	switch {
	case x.I < 0 || x.Rows < 0 || x.I > int(w.M)-x.Rows || x.J < 0 || x.Cols < 0 || x.J > int(w.N)-x.Cols:
		return bad("I, J, Rows, Cols")
	case x.Row < 0 || x.Row >= w.P || x.Col < 0 || x.Col >= w.Q:
		return bad("Row, Col")
	case x.Kind > uint8(blocked.TriUpper):
		return bad("Kind")
	}
	return nil
}

// runs returns the rows and columns of the tile that process (row, col) has, and their numbers m and n.
func (x *part) runs(row, col int) (rows, cols []run, m, n int) {
	r, c := x.Whole.cuts()
	rows, m = r.runs(x.I, x.Rows, row)
	cols, n = c.runs(x.J, x.Cols, col)
	return rows, cols, m, n
}

// Names of ops. The number of the process follows the first two.
const (
	packing    = "scalapackpack"   // the part of a process: a tile (out) from its array
	unpacking  = "scalapackunpack" // its array from a part (in)
	assembling = "scalapackjoin"   // a tile (out) from its parts (in), by rows of the grid
	cutting    = "scalapackcut"    // a part (out) from its tile (in)
)

// newOp returns an op of a process, or of all processes if process is -1. If run is nil, this process cannot
// execute the op.
func newOp(name string, process int, typ string, run func(*versions.Call) error) *versions.Op {
	if process >= 0 {
		name = fmt.Sprintf("%s%d", name, process)
	}
	op := &versions.Op{
		Name: name, Type: typ, NewParams: func() any { return new(part) },
		Work: func(c *versions.Call) float64 { return float64(c.Args[0].(versions.Value).Bytes()) },
	}
	if run != nil {
		op.Versions = []versions.Version{{Name: "copy", Run: run}}
	}
	return op
}

// common returns the ops that every process has.
var common = sync.OnceValue(func() []*versions.Op {
	return []*versions.Op{
		newOp(assembling, -1, "f32", assemble[float32]), newOp(assembling, -1, "f64", assemble[float64]),
		newOp(cutting, -1, "f32", cutOut[float32]), newOp(cutting, -1, "f64", cutOut[float64]),
	}
})

// shaped returns a *versions.ParamsError if t is not m×n.
func shaped[T kernels.Element](t *kernels.Tile[T], m, n int) error {
	if t.Rows != m || t.Cols != n {
		return &versions.ParamsError{Op: packing, Field: "Rows, Cols", Reason: fmt.Sprintf("has a part of %d×%d, and its tile is %d×%d", m, n, t.Rows, t.Cols)}
	}
	return nil
}

// each calls f for each block of a part. The block has m×n elements. It begins at row i and column j of the
// part, and at row local and column column of the local array.
func each(rows, cols []run, f func(i, j, local, column, m, n int)) {
	i := 0
	for _, r := range rows {
		j := 0
		for _, c := range cols {
			f(i, j, r.local, c.local, r.n, c.n)
			j += c.n
		}
		i += r.n
	}
}

// parts calls f for each piece of a row of a part. The piece has n elements. It begins at row and col of the
// tile, and at row i and column j of the part.
func parts(rows, cols []run, f func(row, col, i, j, n int)) {
	i := 0
	for _, r := range rows {
		for k := range r.n {
			j := 0
			for _, c := range cols {
				f(r.lo+k, c.lo, i, j, c.n)
				j += c.n
			}
			i++
		}
	}
}

// assemble overwrites a tile with its parts. The operands are the tile, and the parts of all processes that
// have one, by rows of the grid.
func assemble[T kernels.Element](call *versions.Call) error {
	x, t := call.Params.(*part), call.Args[0].(*kernels.Tile[T])
	if err := shaped(t, x.Rows, x.Cols); err != nil {
		return err
	}
	next := 1
	for p := range x.Whole.P {
		for q := range x.Whole.Q {
			rows, cols, m, n := x.runs(p, q)
			if m == 0 || n == 0 {
				continue
			}
			if next == len(call.Args) {
				return shaped(t, 0, 0)
			}
			from := call.Args[next].(*kernels.Tile[T])
			next++
			if err := shaped(from, m, n); err != nil {
				return err
			}
			parts(rows, cols, func(row, col, i, j, n int) {
				copy(t.Data[row*t.Stride+col:][:n], from.Data[i*from.Stride+j:][:n])
			})
		}
	}
	return nil
}

// cutOut overwrites a part, the first operand, with the elements of a tile that belong to it.
func cutOut[T kernels.Element](call *versions.Call) error {
	x, to, t := call.Params.(*part), call.Args[0].(*kernels.Tile[T]), call.Args[1].(*kernels.Tile[T])
	rows, cols, m, n := x.runs(x.Row, x.Col)
	if err := shaped(to, m, n); err != nil {
		return err
	}
	if err := shaped(t, x.Rows, x.Cols); err != nil {
		return err
	}
	parts(rows, cols, func(row, col, i, j, n int) {
		copy(to.Data[i*to.Stride+j:][:n], t.Data[row*t.Stride+col:][:n])
	})
	return nil
}
