package submit

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Tasks submits the tasks of algorithms to a job, and keeps the data of matrices. It is the inside of a
// blocked.Program.
type Tasks[T tiles.Element] struct {
	Job      exec.Job
	Err      error                // of the first submission that failed
	Operands []graph.Operand      // memory in which an algorithm collects the operands of its next task
	Room     *kernels.PackingRoom // for packed operands

	ops      kernels.Ops[T]
	failure  **graph.Failure // points to the Program's field
	known    map[part][]graph.Datum
	extents  []extent // of the matrices in the caller's memory
	matrices uint32   // numbers given to matrices in keys
	named    int      // letters given to matrices
	spec     graph.Spec
	args     []graph.Operand // operands of the task that is being submitted
	n        atomic.Int64
}

// part identifies data that a Program makes only once: those of a matrix, of pivots, or of
// rotations, and their name.
type part struct {
	of   any
	name string
}

// extent is the range of the caller's memory that a matrix occupies: rows of width
// bytes, stride bytes apart.
type extent struct {
	of            any // the Matrix or the Slices
	first, end    uintptr
	width, stride uintptr
	written       bool // tasks may write it
}

// New returns a Tasks that submits to job, with the given ops. Each task gets the failure policy that
// *failure holds when it is submitted.
func New[T tiles.Element](job exec.Job, from kernels.Ops[T], failure **graph.Failure) *Tasks[T] {
	return &Tasks[T]{Job: job, ops: from, failure: failure, known: make(map[part][]graph.Datum)}
}

// Op returns the op with that name, or nil if there is none.
func (p *Tasks[T]) Op(name string) *versions.Op { return p.ops.Op(name) }

// Len returns the number of tasks submitted so far. Another goroutine may call it.
func (p *Tasks[T]) Len() int { return int(p.n.Load()) }

// Submit submits one task, unless a submission has failed. It reuses the memory for
// the operands, so that a task costs no allocation. It panics with ErrOp if op is nil.
func (p *Tasks[T]) Submit(op *versions.Op, params any, priority int64, operands ...graph.Operand) {
	p.SubmitLocal(nil, op, params, priority, operands...)
}

// SubmitLocal is Submit for a task that shares local with other tasks, if local is not nil.
func (p *Tasks[T]) SubmitLocal(local any, op *versions.Op, params any, priority int64, operands ...graph.Operand) {
	if p.Err != nil {
		return
	}
	if op == nil {
		panic(tiles.ErrOp)
	}
	p.args = append(p.args[:0], operands...)
	p.spec = graph.Spec{Op: op, Params: params, Priority: priority, Operands: p.args, Failure: *p.failure, Local: local}
	if _, p.Err = p.Job.Submit(&p.spec); p.Err == nil {
		p.n.Add(1)
	}
}
