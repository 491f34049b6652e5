package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	runtime exec.Runtime
	known   known
	store   *store
	meter   meter

	mu   sync.Mutex // a leaf
	jobs map[uint64]*work
}

// work is a job as far as a node executes it: a job of the node's own runtime. It lives
// from the first message of the job to the driver's word that it is over.
type work struct {
	*executor
	number uint64
	job    exec.Job
	ctx    context.Context
	cancel context.CancelCauseFunc
	report func(end) // tells the driver of the end of a task
	tasks  sync.WaitGroup
	ends   sync.Once
	ended  bool // no task begins any more; executor.mu guards it
}

// newExecutor returns what executes the tasks of one driver. Tokens are as many as the
// node may fetch values at once.
func newExecutor(o *Options, k known, tokens chan struct{}) *executor {
	workers := len(o.Runtime.Workers())
	return &executor{runtime: o.Runtime, known: k, store: newStore(o.Transport, tokens, workers), meter: meter{workers: workers}, jobs: map[uint64]*work{}}
}

// work returns the work for a job, which begins if the node knows nothing of it yet.
func (x *executor) work(ctx context.Context, job uint64, report func(end)) *work {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.jobs[job]
	if w == nil {
		w = &work{executor: x, number: job, report: report}
		w.ctx, w.cancel = context.WithCancelCause(ctx)
		w.job = x.runtime.NewJob(w.ctx)
		x.jobs[job] = w
	}
	return w
}

// tell returns what the driver is told of tasks that have ended, and of the node.
func (x *executor) tell(job uint64, ends []end) ended {
	m := ended{Job: job, Ends: ends, Peak: x.store.most()}
	m.Busy, m.Starving = x.meter.times()
	return m
}

// over ends the work for a job, and nothing of the job is kept. It may be a set of data as
// well, for which there is no work.
func (x *executor) over(job uint64) {
	x.mu.Lock()
	w := x.jobs[job]
	x.mu.Unlock()
	if w != nil {
		w.over(context.Canceled)
	}
	x.store.forget(job)
}

// over ends the work: what has not started is cancelled, and what runs ends. It may be
// called more than once.
func (w *work) over(cause error) {
	w.ends.Do(func() { // others wait
		w.mu.Lock()
		w.ended = true
		w.mu.Unlock()
		w.cancel(cause)
		w.tasks.Wait()
		_ = w.job.Wait() // the driver has been told of each task's end
		w.mu.Lock()
		delete(w.jobs, w.number)
		w.mu.Unlock()
	})
}

// close ends all work, and then drops all that is there: tasks of one job may use what is
// another one's.
func (x *executor) close(cause error) {
	x.mu.Lock()
	all := slices.Collect(maps.Values(x.jobs))
	x.mu.Unlock()
	for _, w := range all {
		w.over(cause)
	}
	x.store.close()
}

// run executes a task and reports its end, unless the work has ended. It waits for nothing.
func (w *work) run(t *task) {
	w.mu.Lock()
	ended := w.ended
	if !ended {
		w.tasks.Add(1)
	}
	w.mu.Unlock()
	if ended {
		return
	}
	e, err := w.prepare(t)
	if err != nil {
		w.end(t, err)
		return
	}
	w.meter.change(1, 0)
	// The last operand to come starts the task. Until all were asked for, none is the
	// last one.
	e.missing.Store(int32(len(e.data)) + 1)
	for i := range e.data {
		o := &e.data[i].operand
		reads, writes := o.Mode&graph.In != 0, o.Mode&graph.Out != 0
		got := func(err error) { e.got(o.Ref, err) }
		if o.home != nil {
			e.data[i].Value = o.home.value
			w.store.bring(o.Ref, o.home, o.From, reads, true, got)
			continue
		}
		reads = reads && !o.Zero
		e.data[i].Value = w.store.want(o, reads, writes, func() (any, error) { return w.known.value(o.Type, o.Shape) }, got)
	}
	e.arrived()
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
	return e, check(&e.spec)
}

// check returns what is wrong with the operands of a task.
func check(s *graph.Spec) (err error) {
	defer func() {
		if p := recover(); p != nil {
			bad, ok := p.(graph.Error)
			if !ok {
				panic(p)
			}
			err = bad
		}
	}()
	s.Check()
	return nil
}

// got takes an operand that is there, or has failed to come.
func (e *execution) got(r transport.Ref, err error) {
	if unfit := (*valueError)(nil); errors.As(err, &unfit) {
		e.failed.CompareAndSwap(nil, &err)
	} else if err != nil {
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
	if p := e.failed.Load(); p != nil {
		e.w.meter.change(-1, 0)
		e.w.end(e.task, *p)
		return
	}
	if len(e.absent.Missing) > 0 {
		e.w.meter.change(-1, 0)
		e.absent.ID = e.task.ID
		e.w.report(e.absent)
		e.w.tasks.Done()
		return
	}
	e.w.meter.change(-1, 1)
	for _, x := range made {
		e.w.store.writes(x.operand.Ref)
	}
	if len(made) == 0 {
		go e.alone()
		return
	}
	e.derive()
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

// derive has the task share with others what versions make of its operands.
func (e *execution) derive() {
	op, ok := e.spec.Op.(*versions.Op)
	if !ok || op.Derive == nil || slices.ContainsFunc(e.task.Operands, func(o operand) bool { return o.home != nil }) {
		return
	}
	args := make([]any, len(e.spec.Operands))
	for i, o := range e.spec.Operands {
		args[i] = o.Datum.Value
	}
	e.spec.Local = op.Derive(args, func(operand, role int, fresh func() versions.Derived) versions.Derived {
		return e.w.store.derive(e.task.Operands[operand].Ref, role, fresh)
	})
}

// alone executes a task that writes nothing, so that nothing says when it has ended: as
// a job of its own.
func (e *execution) alone() {
	j := e.w.runtime.NewJob(e.w.ctx)
	_, err := j.Submit(&e.spec)
	if err == nil {
		err = j.Wait()
	}
	e.w.meter.change(0, -1)
	e.w.end(e.task, err)
}

// ended makes what the task has written the next versions, also if it has failed: its
// policy may be that this does not matter.
func (e *execution) ended(made []*datumOf, err error) {
	for _, x := range made {
		e.w.store.written(x.operand.Ref)
	}
	e.w.meter.change(0, -1)
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
