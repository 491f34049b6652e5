package scalapack

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Load overwrites a with the matrix that the processes share, and waits until that is done. a has the same
// shape. If a is not Full, Load overwrites only the tiles that a stores; its diagonal tiles also get the
// elements of the other triangle. If rt is a cluster.Driver, a may be distributed or not, and its tiles may
// have any owners and any size. On one machine the grid has one process.
//
// No process may write its array during Load. If a is distributed, none may write it before a is closed,
// unless cluster.Options.Copies keeps second copies: if a node is lost, its tiles are read from the arrays
// again. If a process is lost, so is its array.
//
// The error is that of the job: an *exec.TaskError around an *[ArrayError] if a process does not share the
// array, or a *cluster.NoNodeError if a process is no node. Load panics with blocked.ErrShape if the shapes
// differ.
func (x *Array[T]) Load(ctx context.Context, rt exec.Runtime, a *blocked.Matrix[T]) error {
	m, err := newMove(ctx, rt, x, a)
	if err != nil {
		return err
	}
	for i, j := range a.StoredTiles() {
		tile := m.program.Operand(a, i, j, graph.Out)
		of := m.parts(i, j)
		if len(of) == 1 {
			m.submit(x.process.op(packing, m.process(of[0]), m.typ), of[0], tile)
			continue
		}
		all := []graph.Operand{tile}
		for k, part := range of {
			d := &m.data[i*m.nt+j][k]
			m.submit(x.process.op(packing, m.process(part), m.typ), part, graph.Operand{Datum: d, Mode: graph.Out})
			all = append(all, graph.Operand{Datum: d, Mode: graph.In})
		}
		m.submit(m.common(assembling), of[0], all...)
	}
	return m.wait()
}

// Store overwrites the matrix that the processes share with a, and waits until that is done. a has the same
// shape. If a is symmetric or triangular, Store writes only the triangle that a stores, and leaves the rest of
// the arrays unchanged. After an error the arrays are undefined.
//
// Errors and panics are those of [Array.Load].
func (x *Array[T]) Store(ctx context.Context, rt exec.Runtime, a *blocked.Matrix[T]) error {
	m, err := newMove(ctx, rt, x, a)
	if err != nil {
		return err
	}
	for i, j := range a.StoredTiles() {
		tile := m.program.Operand(a, i, j, graph.In)
		of := m.parts(i, j)
		for k, part := range of {
			from := tile
			if len(of) > 1 {
				d := &m.data[i*m.nt+j][k]
				m.submit(m.common(cutting), part, graph.Operand{Datum: d, Mode: graph.Out}, tile)
				from = graph.Operand{Datum: d, Mode: graph.In}
			}
			m.submit(x.process.op(unpacking, m.process(part), m.typ), part, from)
		}
	}
	return m.wait()
}

// move is a Load or a Store under way.
type move[T kernels.Element] struct {
	array   *Array[T]
	a       *blocked.Matrix[T]
	nt      int
	typ     string
	job     exec.Job
	program *blocked.Program[T]
	data    [][]graph.Datum // by tile, row by row: its parts if there are several
	kept    exec.Kept       // the parts on nodes; nil if there are none
	err     error           // of the first submission that failed
}

// newMove begins a job for a Load or a Store, and makes the data for parts of tiles. It panics with ErrShape if
// the shapes differ.
func newMove[T kernels.Element](ctx context.Context, rt exec.Runtime, x *Array[T], a *blocked.Matrix[T]) (*move[T], error) {
	if rows, cols := a.Dims(); rows != int(x.desc.M) || cols != int(x.desc.N) {
		panic(blocked.ErrShape)
	}
	m := &move[T]{array: x, a: a, typ: "f64"}
	if _, ok := any(x).(*Array[float32]); ok {
		m.typ = "f32"
	}
	mt, nt := a.Tiles()
	m.nt = nt
	keeper, several := rt.(exec.Keeper)
	var values []versions.Shaped
	tiles := make([][]versions.Value, mt*nt)
	for i, j := range a.StoredTiles() {
		of := m.parts(i, j)
		if len(of) == 1 {
			continue
		}
		for _, part := range of {
			_, _, rows, cols := part.runs(part.Row, part.Col)
			t := &kernels.Tile[T]{Rows: rows, Cols: cols, Stride: cols}
			if !several {
				t.Data = make([]T, rows*cols)
			}
			values, tiles[i*nt+j] = append(values, t), append(tiles[i*nt+j], t)
		}
	}
	if several && values != nil {
		var err error
		if m.kept, err = keeper.Keep(values); err != nil {
			return nil, err
		}
	}
	m.job = rt.NewJob(ctx)
	m.program = blocked.NewProgram(m.job, kernels.Ops[T]{})
	m.data = make([][]graph.Datum, mt*nt)
	for i, j := range a.StoredTiles() {
		if all := tiles[i*nt+j]; all != nil {
			m.data[i*nt+j] = m.program.Data("part", a.Owner(i, j), all...)
		}
	}
	return m, nil
}

// parts returns the parts of tile (i, j), one for each process that has elements of it, by rows of the grid.
func (m *move[T]) parts(i, j int) (all []*part) {
	g, nb := m.array.process.grid, m.a.NB()
	rows, cols := m.a.TileDims(i, j)
	x := part{Array: m.array.name, Whole: m.array.desc.whole(g), I: i * nb, J: j * nb, Rows: rows, Cols: cols, Kind: uint8(m.a.Kind())}
	r, c := x.Whole.cuts()
	for p := range g.P {
		if _, n := r.runs(x.I, rows, p); n == 0 {
			continue
		}
		for q := range g.Q {
			if _, n := c.runs(x.J, cols, q); n > 0 {
				y := x
				y.Row, y.Col = p, q
				all = append(all, &y)
			}
		}
	}
	return all
}

// process returns the number of the process that has part x.
func (m *move[T]) process(x *part) int { return m.array.process.grid.process(x.Row, x.Col) }

// common returns an op that every process has.
func (m *move[T]) common(name string) *versions.Op {
	for _, op := range common() {
		if op.Name == name && op.Type == m.typ {
			return op
		}
	}
	return nil
}

// submit submits a task, unless an earlier submission failed.
func (m *move[T]) submit(op *versions.Op, x *part, operands ...graph.Operand) {
	if m.err == nil {
		_, m.err = m.job.Submit(&graph.Spec{Op: op, Params: x, Operands: operands})
	}
}

// wait waits for the tasks, and makes the nodes forget the parts. It returns the error of the job, or else that
// of the first submission that failed.
func (m *move[T]) wait() error {
	err := m.job.Wait()
	if err == nil {
		err = m.err
	}
	if m.kept != nil {
		m.kept.Release()
	}
	return err
}
