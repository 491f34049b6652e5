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
	Ops      tileOps
	Err      error           // of the first submission that failed
	Column   []graph.Operand // operands of the next task, while an algorithm collects them
	Matrices uint32          // numbers given to keys

	failure **graph.Failure // points to the Program's field
	known   map[part][]graph.Datum
	views   []extent // the matrices in the caller's memory
	named   int      // letters given to matrices
	spec    graph.Spec
	args    []graph.Operand // operands of the task that is being submitted
	n       atomic.Int64
	Room    *kernels.PackingRoom // for packed operands
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

// tileOps holds the ops of the tile algorithms. They are looked up once for each Program.
type tileOps struct {
	Gemm, Syrk, Trsm, Trmm, Potrf, Chud, Chudm *versions.Op

	Getrf, Getrfnp, Laswp, Lapmt, Tntleaf, Tntnode, Tntroot *versions.Op

	Geqrt, Unmqr, Tsqrt, Tsmqr, Ttqrt, Ttmqr, Larft *versions.Op

	Sy2sbqr, Sy2sbmm, Sb2st, Stedc, Laed0, Laed3, Laed4, Ormsb2st, Ormsy2sb *versions.Op

	Lacpy, Laset, Lasym, Recut, Plrnt, Asum, Lange, Lag2s, Lag2d *versions.Op
}

// New returns a Tasks that submits to job, with the given ops. Each task gets the failure policy that
// *failure holds when it is submitted.
func New[T tiles.Element](job exec.Job, from kernels.Ops[T], failure **graph.Failure) *Tasks[T] {
	o := from.Op
	return &Tasks[T]{Job: job, failure: failure, known: make(map[part][]graph.Datum), Ops: tileOps{
		Gemm: o("gemm"), Syrk: o("syrk"), Trsm: o("trsm"), Trmm: o("trmm"), Potrf: o("potrf"), Chud: o("chud"), Chudm: o("chudm"),
		Getrf: o("getrf"), Getrfnp: o("getrfnp"), Laswp: o("laswp"), Lapmt: o("lapmt"),
		Tntleaf: o("tntleaf"), Tntnode: o("tntnode"), Tntroot: o("tntroot"),
		Geqrt: o("geqrt"), Unmqr: o("unmqr"), Tsqrt: o("tsqrt"), Tsmqr: o("tsmqr"), Ttqrt: o("ttqrt"), Ttmqr: o("ttmqr"), Larft: o("larft"),
		Sy2sbqr: o("sy2sbqr"), Sy2sbmm: o("sy2sbmm"), Sb2st: o("sb2st"), Stedc: o("stedc"),
		Laed0: o("laed0"), Laed3: o("laed3"), Laed4: o("laed4"),
		Ormsb2st: o("ormsb2st"), Ormsy2sb: o("ormsy2sb"),
		Lacpy: o("lacpy"), Laset: o("laset"), Lasym: o("lasym"), Recut: o("recut"), Plrnt: o("plrnt"),
		Asum: o("asum"), Lange: o("lange"), Lag2s: o("lag2s"), Lag2d: o("lag2d"),
	}}
}

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
