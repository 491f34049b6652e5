package blocked

import (
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Program submits the tasks of tile algorithms to a job. Several algorithms
// may follow one another in one Program without waiting: the graph orders
// what must be ordered. A Program is not safe for concurrent use.
//
// The first error of a submission, which is the job's, stays: nothing is submitted
// after it, and the algorithms return it. Otherwise the caller learns of errors
// from the job's Wait, before which it must neither read nor write the matrices.
type Program[T Element] struct {
	// Failure is the failure policy of the tasks submitted from now on; nil means the
	// usual one. With retries, what a task updates in place is copied first.
	Failure *graph.Failure

	job  exec.Job
	ops  kernels.Ops[T]
	data map[*Matrix[T]]*operand[T]
	// sliced is the data of Slices and Reflectors.
	sliced map[any][]graph.Datum

	pivots    map[*Pivots][]graph.Datum
	rotations map[*Rotations[T]]*rotation[T]

	spec   graph.Spec
	args   []graph.Operand // of the task that is submitted
	column []graph.Operand // of the task that is put together
	n      int
	err    error // of the first submission that failed

	room *kernels.PackingRoom // for packed operands
}

// NewProgram returns a Program that submits to job, with the ops given.
func NewProgram[T Element](job exec.Job, ops kernels.Ops[T]) *Program[T] {
	return &Program[T]{job: job, ops: ops, data: make(map[*Matrix[T]]*operand[T])}
}

// Len returns the number of tasks submitted.
func (p *Program[T]) Len() int { return p.n }

// Wait waits until the tile (i, j) of a is as the tasks submitted so far leave
// it. It returns the error that keeps it from being so, if any.
func (p *Program[T]) Wait(a *Matrix[T], i, j int) error {
	return p.job.WaitOn(p.operand(a).tile(i, j))
}

// operand is a Matrix as data of tasks.
type operand[T Element] struct {
	*Matrix[T]
	data []graph.Datum
}

// operand returns a as data. The same Matrix gives the same data, so that
// dependencies carry over from algorithm to algorithm.
func (p *Program[T]) operand(a *Matrix[T]) *operand[T] {
	o := p.data[a]
	if o != nil {
		return o
	}
	var zero T
	name := "matrix"
	if len(p.data) < 26 {
		name = string(rune('A' + len(p.data)))
	}
	o = &operand[T]{Matrix: a, data: make([]graph.Datum, len(a.tiles))}
	for k := range o.data {
		t := &a.tiles[k]
		d := &o.data[k]
		d.Value, d.Bytes = t, int64(t.Rows)*int64(t.Cols)*int64(unsafe.Sizeof(zero))
		d.Name, d.I, d.J = name, int32(k/max(1, a.nt)), int32(k%max(1, a.nt))
	}
	p.data[a] = o
	return o
}

// tile returns tile (i, j) as a datum.
func (o *operand[T]) tile(i, j int) *graph.Datum {
	o.Tile(i, j) // panics unless it is stored
	return &o.data[i*o.nt+j]
}

func in(d *graph.Datum) graph.Operand    { return graph.Operand{Datum: d, Mode: graph.In} }
func out(d *graph.Datum) graph.Operand   { return graph.Operand{Datum: d, Mode: graph.Out} }
func inout(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }

// submit submits one task with any number of operands, unless a submission has
// failed. What holds the operands is used again, so that a task costs no
// allocation.
func (p *Program[T]) submit(op *versions.Op, params any, priority int64, operands ...graph.Operand) {
	p.submitLocal(nil, op, params, priority, operands...)
}

// submitLocal is submit for a task that shares local with others, if that is not nil.
func (p *Program[T]) submitLocal(local any, op *versions.Op, params any, priority int64, operands ...graph.Operand) {
	if p.err != nil {
		return
	}
	p.args = append(p.args[:0], operands...)
	p.spec = graph.Spec{Op: op, Params: params, Priority: priority, Operands: p.args, Failure: p.Failure, Local: local}
	if _, p.err = p.job.Submit(&p.spec); p.err == nil {
		p.n++
	}
}

// empty returns a tile without elements: the operand of a product over
// nothing, which scales only.
func empty[T Element](rows, cols int) *graph.Datum {
	return &graph.Datum{Name: "empty", Value: &Tile[T]{Rows: rows, Cols: cols, Stride: max(1, cols)}}
}
