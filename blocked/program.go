package blocked

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Program submits the tasks of tile algorithms to a job. Several algorithms
// may follow one another in one Program without waiting: the graph orders
// what must be ordered. A Program is not safe for concurrent use.
//
// What the graph orders is tiles, not memory. So a matrix that a Program writes
// must not share memory with another one that it uses, as two views of one array
// do: the algorithms panic with [ErrOverlap] where they first meet such a pair.
// Matrices that are only read may overlap, and a view may lie beside another one
// in the same rows. A triangle counts as the whole square.
//
// The first error of a submission, which is the job's, stays: nothing is submitted
// after it, and the algorithms return it. Otherwise the caller learns of errors
// from the job's Wait, before which it must neither read nor write the matrices.
type Program[T Element] struct {
	// Failure is the failure policy of the tasks submitted from now on; nil means the
	// usual one. With retries, what a task updates in place is copied first.
	Failure *graph.Failure

	job exec.Job
	ops tileOps

	known    map[part][]graph.Datum
	views    []extent // of the matrices in the caller's memory
	matrices uint32   // numbers given to keys
	named    int      // letters given to matrices

	spec   graph.Spec
	args   []graph.Operand // of the task that is submitted
	column []graph.Operand // of the task that is put together
	n      atomic.Int64
	err    error // of the first submission that failed

	room *kernels.PackingRoom // for packed operands
}

// tileOps is the ops that the algorithms of this package submit, looked up once a Program.
type tileOps struct {
	gemm, syrk, trsm, trmm, potrf *versions.Op

	getrf, getrfnp, laswp, lapmt, tntleaf, tntnode, tntroot *versions.Op

	geqrt, unmqr, tsqrt, tsmqr, ttqrt, ttmqr, larft *versions.Op

	lacpy, laset, lasym, recut, plrnt, asum, lange, lag2s, lag2d *versions.Op
}

// NewProgram returns a Program that submits to job, with the ops given.
func NewProgram[T Element](job exec.Job, from kernels.Ops[T]) *Program[T] {
	o := from.Op
	return &Program[T]{job: job, known: make(map[part][]graph.Datum), ops: tileOps{
		gemm: o("gemm"), syrk: o("syrk"), trsm: o("trsm"), trmm: o("trmm"), potrf: o("potrf"),
		getrf: o("getrf"), getrfnp: o("getrfnp"), laswp: o("laswp"), lapmt: o("lapmt"),
		tntleaf: o("tntleaf"), tntnode: o("tntnode"), tntroot: o("tntroot"),
		geqrt: o("geqrt"), unmqr: o("unmqr"), tsqrt: o("tsqrt"), tsmqr: o("tsmqr"), ttqrt: o("ttqrt"), ttmqr: o("ttmqr"), larft: o("larft"),
		lacpy: o("lacpy"), laset: o("laset"), lasym: o("lasym"), recut: o("recut"), plrnt: o("plrnt"),
		asum: o("asum"), lange: o("lange"), lag2s: o("lag2s"), lag2d: o("lag2d"),
	}}
}

// Len returns the number of tasks submitted so far, also to another goroutine.
func (p *Program[T]) Len() int { return int(p.n.Load()) }

// Wait waits until the tile (i, j) of a is as the tasks submitted so far leave
// it. It returns the error that keeps it from being so, if any.
func (p *Program[T]) Wait(a *Matrix[T], i, j int) error {
	return p.job.WaitOn(p.reads(a).tile(i, j))
}

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
	if op == nil {
		panic(ErrOp)
	}
	p.args = append(p.args[:0], operands...)
	p.spec = graph.Spec{Op: op, Params: params, Priority: priority, Operands: p.args, Failure: p.Failure, Local: local}
	if _, p.err = p.job.Submit(&p.spec); p.err == nil {
		p.n.Add(1)
	}
}

// empty returns a tile without elements: the operand of a product over
// nothing, which scales only.
func (p *Program[T]) empty(rows, cols int) *graph.Datum {
	return p.datum("empty", &Tile[T]{Rows: rows, Cols: cols, Stride: max(1, cols)})
}
