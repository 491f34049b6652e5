package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// fetches is how many values a node fetches at once. Not measured.
const fetches = 8

// executor executes the tasks that a node is given, on the node's own runtime. It knows
// nothing of their order: a task that comes is ready, but for operands that the node has
// to fetch.
//
//	run ─► prepare ─► want each operand ─► all are there ─► the node's runtime ─► end
//	                     │                                      │
//	                     └─► one cannot be had: the driver      └─► what it has written is
//	                         gives the task to another node         published first
type executor struct {
	through transport.Transport
	runtime exec.Runtime
	known   known
	tokens  chan struct{}

	mu   sync.Mutex // a leaf
	jobs map[uint64]*work
}

// work is a job as far as a node executes it: a job of the node's own runtime, and the
// values that tasks of it have here. It lives from the first message of the job to the
// driver's word that it is over.
type work struct {
	*executor
	store  *store
	job    exec.Job
	ctx    context.Context
	cancel context.CancelCauseFunc
	report func(end) // tells the driver of the end of a task
	tasks  sync.WaitGroup
}

func newExecutor(o *Options, k known) *executor {
	return &executor{through: o.Transport, runtime: o.Runtime, known: k, tokens: make(chan struct{}, fetches), jobs: map[uint64]*work{}}
}

// work returns the work for a job, which begins if the node knows nothing of it yet.
func (x *executor) work(ctx context.Context, job uint64, report func(end)) *work {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.jobs[job]
	if w == nil {
		w = &work{executor: x, report: report}
		w.ctx, w.cancel = context.WithCancelCause(ctx)
		w.job, w.store = x.runtime.NewJob(w.ctx), newStore(w.ctx, x.through, x.tokens)
		x.jobs[job] = w
	}
	return w
}

// over ends the work for a job: what has not started is cancelled, what runs ends, and
// nothing of the job is kept.
func (x *executor) over(job uint64, cause error) {
	x.mu.Lock()
	w := x.jobs[job]
	delete(x.jobs, job)
	x.mu.Unlock()
	if w == nil {
		return
	}
	w.cancel(cause)
	w.tasks.Wait()
	_ = w.job.Wait() // the driver has been told of each task's end
	w.store.close()
}

// close ends all work.
func (x *executor) close(cause error) {
	x.mu.Lock()
	var all []uint64
	for job := range x.jobs {
		all = append(all, job)
	}
	x.mu.Unlock()
	for _, job := range all {
		x.over(job, cause)
	}
}

// run executes a task and reports its end. It waits for nothing.
func (w *work) run(t *task) {
	w.tasks.Add(1)
	e, err := w.prepare(t)
	if err != nil {
		w.end(t, err)
		return
	}
	// The last operand to come starts the task. Until all were asked for, none is the
	// last one.
	e.missing.Store(int32(len(e.data)) + 1)
	for i := range e.data {
		o := e.data[i].operand
		e.data[i].Value = w.store.want(o.Ref, o.Mode&graph.In != 0, o.From, func() (any, error) { return w.known.value(o.Type, o.Shape) }, func(err error) { e.got(o.Ref, err) })
	}
	e.arrived()
}

func bytesOf(v any) int64 {
	if v, ok := v.(versions.Value); ok {
		return v.Bytes()
	}
	return 0
}

// execution is a task on its way.
type execution struct {
	w       *work
	task    *task
	spec    graph.Spec
	data    []datumOf    // each once; tasks of the runtime point into it
	missing atomic.Int32 // operands that are not there, and then results that are not
	failed  atomic.Pointer[error]

	mu     sync.Mutex // a leaf
	absent end        // what could not be fetched
}

// datumOf is an operand as a datum of the node's own job. The order of tasks is the
// driver's to keep: no two tasks of the node share a datum.
type datumOf struct {
	graph.Datum
	operand operand // with the modes of all that name the datum
}

// prepare makes the task's spec for the node's runtime. The error says what the node does
// not know of it: an op, or its parameter. The driver's own tasks keep what cannot be
// sent: a parameter with pointers, packed operands, constraints.
func (w *work) prepare(t *task) (e *execution, err error) {
	e = &execution{w: w, task: t}
	e.spec = graph.Spec{Priority: t.Priority}
	if s := t.spec; s != nil { // the driver's own
		e.spec.Op, e.spec.Params, e.spec.Local, e.spec.Constraints = s.Op, s.Params, s.Local, s.Constraints
	} else {
		op := w.known.ops[t.Op]
		if op == nil {
			return nil, fmt.Errorf("op %s is not known here", t.Op)
		}
		params, err := versions.DecodeParams(op, t.Params)
		if err != nil {
			return nil, err
		}
		e.spec.Op, e.spec.Params = op, params
	}
	// It has no successors here: what follows a failure is the driver's to decide.
	e.spec.Failure = &graph.Failure{Retries: t.Retries, Timeout: t.Timeout, Then: graph.CancelSuccessors}
	e.data = make([]datumOf, 0, len(t.Operands)) // its elements stay where they are
	for _, o := range t.Operands {
		k := 0
		for k < len(e.data) && e.data[k].operand.Ref != o.Ref {
			k++
		}
		if k == len(e.data) {
			e.data = append(e.data, datumOf{operand: o})
			e.data[k].Key = graph.Key{Matrix: o.Ref.Matrix, I: o.Ref.I, J: o.Ref.J}
		}
		x := &e.data[k]
		x.operand.Mode |= o.Mode
		if len(x.operand.From) == 0 {
			x.operand.From = o.From
		}
		e.spec.Operands = append(e.spec.Operands, graph.Operand{Datum: &x.Datum, Mode: o.Mode})
	}
	return e, nil
}

// got takes an operand that is there, or has failed to come.
func (e *execution) got(r transport.Ref, err error) {
	if err != nil {
		e.mu.Lock()
		e.absent.Missing, e.absent.Why = append(e.absent.Missing, r), err.Error()
		e.mu.Unlock()
	}
	e.arrived()
}

// arrived counts an operand, and starts the task when all are there.
func (e *execution) arrived() {
	if e.missing.Add(-1) > 0 {
		return
	}
	var made []*datumOf
	for i := range e.data {
		x := &e.data[i]
		x.Bytes = bytesOf(x.Value)
		if x.operand.Mode&graph.Out != 0 {
			made = append(made, x)
		}
	}
	if len(e.absent.Missing) > 0 {
		e.absent.ID = e.task.ID
		e.w.report(e.absent)
		e.w.tasks.Done()
		return
	}
	for _, x := range made {
		e.w.store.writes(x.operand.Ref)
	}
	if len(made) == 0 {
		go e.alone()
		return
	}
	if _, err := e.w.job.Submit(&e.spec); err != nil {
		e.ended(made, err)
		return
	}
	// A task may hand on an operand before it ends: it has ended when all are there.
	e.missing.Store(int32(len(made)))
	for _, x := range made {
		e.w.job.Notify(&x.Datum, func(err error) {
			if err != nil {
				e.failed.CompareAndSwap(nil, &err)
			}
			if e.missing.Add(-1) > 0 {
				return
			}
			if p := e.failed.Load(); p != nil {
				err = *p
			}
			e.ended(made, err)
		})
	}
}

// alone executes a task that writes nothing, so that nothing says when it has ended: as
// a job of its own.
func (e *execution) alone() {
	j := e.w.runtime.NewJob(e.w.ctx)
	_, err := j.Submit(&e.spec)
	if err == nil {
		err = j.Wait()
	}
	e.w.end(e.task, err)
}

// ended makes what the task has written the next versions, also if it has failed: its
// policy may be that this does not matter.
func (e *execution) ended(made []*datumOf, err error) {
	for _, x := range made {
		e.w.store.written(x.operand.Ref)
	}
	e.w.end(e.task, err)
}

// end reports the end of a task. Its values are where others can fetch them.
func (w *work) end(t *task, err error) {
	x := end{ID: t.ID}
	if err != nil {
		x.Fault = newFault(err, w.known.errs)
	}
	w.report(x)
	w.tasks.Done()
}
