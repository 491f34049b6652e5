package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// executor executes tasks on its node's runtime. It knows nothing of their order: a task that comes
// is ready, except for operands that the node has to fetch.
//
//	run ─► prepare ─► want each operand ─► all are there ─► gate ─► the node's runtime ─► end
//	                     │                                              │
//	                     └─► one cannot be fetched: the driver          └─► results are published
//	                         gives the task to another node                 before the end is reported
type executor struct {
	runtime exec.Runtime
	known   known
	store   *store
	meter   meter
	gate    core.Gate[*execution]
	lower   lower // the nodes below an agent; nil on a driver

	mu     sync.Mutex // a leaf
	jobs   map[uint64]*work
	closed bool // no work begins any more
}

// lower is the nodes below an agent: its domain.
type lower interface {
	// children returns a job for children of a task that run on nodes below, and its window; a nil job if there are
	// no such nodes.
	children(ctx context.Context) (exec.Job, int)
	// learn notes that this node has executed a task of an op in a time, or that the task has children.
	learn(op string, parent bool, took time.Duration)
	// admit reports whether a task of an op that writes so many bytes is to be executed below. If so it counts
	// until leave is called.
	admit(op string, writes int64) bool
	leave()
	// delegate returns the way below for tasks of a job, nil if there is none.
	delegate(w *work) delegate
}

// delegate gives tasks of a job to nodes below an agent.
type delegate interface {
	// fits reports whether a node below can execute a task.
	fits(e *execution) bool
	// run gives a task to a node below. At the end it calls the task's settle.
	run(e *execution) error
	// bring fetches the results of the task to this node, and reports whether all have come. If not, the values
	// here are what they were before the task.
	bring(e *execution) bool
	// takeBack notes that nodes below do not have the results of a task.
	takeBack(e *execution)
	// withdrawn notes that a version on this node is about to be overwritten or dropped.
	withdrawn(r transport.Ref)
	// end ends the job on nodes below, which have no tasks of it any more.
	end()
}

// work is a job as far as a node executes it: a job of the node's own runtime. It begins with the
// first message of the job and ends when the driver says so.
type work struct {
	*executor
	number     uint64
	job        exec.Job
	ctx        context.Context
	cancel     context.CancelCauseFunc
	report     func(end)   // tells the driver of the end of a task
	traced     atomic.Bool // the driver wants to know when tasks run …
	story      atomic.Bool // … and which operands came for each
	tasks      sync.WaitGroup
	unreported atomic.Int64 // of these: tasks whose end has not been reported
	endOnce    sync.Once
	ended      bool       // no task begins any more; executor.mu guards it
	parser     specParser // called by run only

	delegating sync.Mutex // held while toBelow is made; taken before the domain's locks
	toBelow    delegate
}

// newExecutor returns an executor for the tasks of one driver.
func newExecutor(o *Options, k known, f *sharedFetches) *executor {
	workers := len(o.Runtime.Workers())
	x := &executor{
		runtime: o.Runtime, known: k, jobs: map[uint64]*work{},
		meter: newMeter(workers), gate: core.NewGate[*execution](workers),
	}
	x.store = newStore(o.Transport, f, workers, k, &x.meter)
	if slices.ContainsFunc(o.Runtime.Workers(), func(w exec.Worker) bool { return w.Accelerator != "" }) {
		x.store.devices = o.Runtime.(exec.Forgetter) // Options.check has seen that it is one
	}
	return x
}

// work returns the work for a job, which begins if the node does not know the job yet. After stop
// the work has ended.
func (x *executor) work(ctx context.Context, job uint64, report func(end)) *work {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.jobs[job]
	switch {
	case w != nil:
	case x.closed:
		w = &work{executor: x, number: job, report: report, ended: true}
	default:
		w = &work{executor: x, number: job, report: report}
		w.ctx, w.cancel = context.WithCancelCause(ctx)
		w.job = x.runtime.NewJob(w.ctx)
		x.jobs[job] = w
	}
	return w
}

// delegated returns the job's delegate, nil if no task was delegated.
func (w *work) delegated() delegate {
	w.delegating.Lock()
	defer w.delegating.Unlock()
	return w.toBelow
}

// run executes tasks and reports their ends, unless the work has ended. It does not wait.
func (w *work) run(tasks []task) {
	w.mu.Lock()
	ended := w.ended
	if !ended {
		w.tasks.Add(len(tasks))
		w.unreported.Add(int64(len(tasks)))
	}
	w.mu.Unlock()
	if ended {
		return
	}
	operands := 0
	for i := range tasks {
		operands += len(tasks[i].Operands)
	}
	// Tasks that come together share an allocation: they end at about the same time.
	all, data := make([]execution, len(tasks)), make([]localDatum, operands)
	for i := range tasks {
		e, n := &all[i], len(tasks[i].Operands)
		e.w, e.task, e.data, data = w, &tasks[i], data[:0:n], data[n:]
		w.start(e)
	}
}

// start asks for the operands of a task. The last operand to come hands the task on.
func (w *work) start(e *execution) {
	if err := w.prepare(e); err != nil {
		w.reportEnd(end{ID: e.task.ID}, err)
		return
	}
	// Count one more, so that no operand is the last one before all have been asked for.
	e.missing.Store(int32(len(e.data)) + 1)
	here := int32(1)
	for i := range e.data {
		x := &e.data[i]
		o := x.operand
		reads, writes := x.mode&graph.In != 0, x.mode&graph.Out != 0
		if o.home != nil {
			x.Value = o.home.value
			w.store.bringHome(o.Ref, o.home, x.from, reads, true, e)
			continue
		}
		value, later, err := w.store.want(o, x.from, reads, writes, e)
		x.Value = value
		if err != nil {
			e.noteFailure(o.Ref, err)
		}
		if !later {
			here++
		}
	}
	e.waits = here <= int32(len(e.data))
	if e.waits {
		e.stageSince.Store(w.meter.change(1, 0))
	}
	e.countArrived(here)
}

// execution is a task on its way through a node.
type execution struct {
	w          *work
	task       *task
	spec       graph.Spec
	failure    graph.Failure
	few        [3]graph.Operand      // memory of spec.Operands
	data       []localDatum          // each datum once; tasks of the runtime point to them, so they do not move
	missing    atomic.Int32          // operands that are not there
	waits      bool                  // some operand was not there at once
	aside      bool                  // its children are on other nodes, or a node below executes it
	below      delegate              // set while a node below executes it
	stays      bool                  // nodes below could not execute it
	wrote      bool                  // other nodes cannot fetch any more what it overwrites
	stageSince atomic.Int64          // when it began to wait for operands, to be ready, or to run
	failed     atomic.Pointer[error] // why an operand can never come

	mu     sync.Mutex // a leaf
	report end        // what the driver will be told
}

// localDatum is an operand as a datum of the node's own job. No two tasks of the node share a
// datum, because the driver keeps the order of tasks.
type localDatum struct {
	graph.Datum
	operand  *operand   // the first one of this datum
	mode     graph.Mode // of all operands of this datum
	from     givers
	released bool // the task has finished with it
}

// prepare makes the spec of the task for the runtime of the node. The error says which op or parameter the
// node does not know. A task that the driver gives to itself keeps what cannot be sent, such as a parameter
// with pointers, or packed operands.
func (w *work) prepare(e *execution) error {
	t := e.task
	e.spec = graph.Spec{Priority: t.Priority, Witness: e}
	if t.Op == core.OpNone {
		for _, o := range t.Operands {
			if o.Mode&graph.In == 0 || o.Mode > graph.InOut || o.Copy == nil && o.Mode != graph.In {
				return errors.New("a task without an op has operands that are no copies, and not for others to fetch")
			}
		}
	} else if s := t.spec; s != nil { // the driver gives it to itself
		e.spec.Op, e.spec.Params, e.spec.Local, e.spec.Constraints = s.Op, s.Params, s.Local, s.Constraints
	} else if err := w.parser.parse(w.known, t, &e.spec); err != nil {
		return err
	}
	// The task has no successors here: the driver decides what follows a failure.
	e.failure = graph.Failure{Retries: t.Retries, Timeout: t.Timeout, Then: graph.CancelSuccessors}
	e.spec.Failure, e.spec.Operands = &e.failure, e.few[:0]
	for i := range t.Operands {
		o := &t.Operands[i]
		k := 0
		for k < len(e.data) && e.data[k].operand.Ref != o.Ref {
			k++
		}
		if k == len(e.data) {
			e.data = e.data[:k+1]
			e.data[k].operand = o
			e.data[k].Key = graph.Key{Matrix: o.Ref.Matrix, I: o.Ref.I, J: o.Ref.J}
		}
		x := &e.data[k]
		x.mode |= o.Mode
		if len(x.from.From) == 0 {
			x.from = o.givers
		}
		e.spec.Operands = append(e.spec.Operands, graph.Operand{Datum: &x.Datum, Mode: o.Mode})
	}
	if t.Op == core.OpNone {
		return nil
	}
	return checkSpec(&e.spec)
}

// got implements [waiter]: an operand is there, or could not be fetched.
func (e *execution) got(c arrival, err error) {
	if err != nil {
		e.noteFailure(c.Ref, err)
	} else if c.From != "" && e.w.story.Load() {
		e.mu.Lock()
		e.report.Fetched = append(e.report.Fetched, c)
		e.mu.Unlock()
	}
	e.countArrived(1)
}

// noteFailure notes why an operand could not be fetched.
func (e *execution) noteFailure(r transport.Ref, err error) {
	if unfit := (*valueError)(nil); errors.As(err, &unfit) {
		e.failed.CompareAndSwap(nil, &err)
		return
	}
	e.mu.Lock()
	e.report.Missing, e.report.Why = append(e.report.Missing, missingFrom(r, err)), err.Error()
	e.mu.Unlock()
}

// countArrived counts operands that have arrived. With the last one the task goes to the gate. A task without
// an op only copies operands, and begins at once: it needs no worker, and tasks of other nodes may wait for
// the copies.
func (e *execution) countArrived(n int32) {
	if e.missing.Add(-n) > 0 {
		return
	}
	waited := 0
	if e.waits {
		waited = 1
	}
	if p := e.failed.Load(); p != nil {
		e.w.meter.change(-waited, 0)
		e.end(*p)
		return
	}
	if len(e.report.Missing) > 0 {
		e.w.meter.change(-waited, 0)
		e.report.ID = e.task.ID
		e.w.reportLast(e.report)
		return
	}
	e.enter(waited)
}

// enter begins a task whose operands are there, delegates it, or makes it wait at the gate. waited is 1 if the
// meter counts the task among those that wait for operands.
func (e *execution) enter(waited int) {
	if e.task.Op == core.OpNone {
		e.stageSince.Store(e.w.meter.change(-waited, 1))
		e.begin()
		return
	}
	x := core.Gated[*execution]{
		Task: e, Priority: e.task.Priority, Job: e.w.number, ID: e.task.ID,
		Width: min(core.WidthOf(e.spec.Op, e.spec.Constraints), e.w.meter.workers),
	}
	if to := e.chooseBelow(); to != nil {
		e.stageSince.Store(e.w.meter.change(-waited, 0))
		e.w.gate.PutAside(x)
		e.delegate(to)
		return
	}
	e.stageSince.Store(e.w.meter.change(-waited, 1))
	if e.w.gate.Enter(x) {
		e.begin()
	}
}

// begin hands the task to the node's runtime.
func (e *execution) begin() {
	for i := range e.data {
		x := &e.data[i]
		x.Bytes = bytesOf(x.Value)
	}
	e.beginWrites()
	if e.task.Op == core.OpNone {
		e.Ended(nil)
		return
	}
	e.shareDerived()
	if err := exec.RunReady(e.w.job, &e.spec); err != nil {
		e.Ended(cmp.Or(context.Cause(e.w.ctx), err)) // err may be the failure of another task
	}
}

// beginWrites ends the versions that the task is about to overwrite.
func (e *execution) beginWrites() {
	for i := range e.data {
		if x := &e.data[i]; x.mode&graph.Out != 0 && !e.wrote {
			e.w.store.beginWrite(x.operand.Ref)
		}
	}
	e.wrote = true
}

// shareDerived gives the task the data that its op derives from operands, such as packed operands. Other tasks
// share them.
func (e *execution) shareDerived() {
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

// Finished implements [graph.Witness]: other nodes can fetch the operand while the task goes on.
func (e *execution) Finished(i int) {
	for k := range e.data {
		x := &e.data[k]
		if x.operand.Ref != e.task.Operands[i].Ref {
			continue
		}
		x.released = true
		if x.mode&graph.Out != 0 {
			e.w.store.endWrite(x.operand.Ref)
		}
	}
	e.w.report(end{ID: e.task.ID, Released: []int{i}})
}

// Ended implements [graph.Witness]. It publishes the versions that the task has written. A failed
// task makes versions, too, because its failure policy may be to go on.
func (e *execution) Ended(err error) {
	for i := range e.data {
		if x := &e.data[i]; x.mode&graph.Out != 0 && !x.released {
			e.w.store.endWrite(x.operand.Ref)
		}
	}
	if d := e.w.lower; d != nil && e.below == nil && err == nil && e.task.Op != core.OpNone {
		e.mu.Lock()
		took := e.report.Took
		e.mu.Unlock()
		d.learn(e.task.Op, false, took)
	}
	e.leaveGate(err)
}

// Children implements [exec.Domain]. A task with children on other nodes only waits. It gives up
// its place at the gate, which even a child of its own may need.
func (e *execution) Children(ctx context.Context) (in exec.Job, window int) {
	if e.w.lower == nil {
		return nil, 0
	}
	e.w.lower.learn(e.task.Op, true, 0)
	if in, window = e.w.lower.children(ctx); in == nil || e.aside {
		return in, window
	}
	e.aside = true
	now := e.w.meter.change(0, -1)
	beginAll(e.w.gate.StepAside(e, nil), now)
	return in, window
}

// leaveGate reports the end of a task that has begun, and lets others begin.
func (e *execution) leaveGate(err error) {
	runs := 1
	if e.aside {
		runs = 0
	}
	now := e.w.meter.change(0, -runs)
	beginAll(e.w.gate.Leave(e, e.w.meter.began.Add(time.Duration(now)), nil), now)
	e.end(err)
}

// beginAll begins tasks on a new goroutine. The caller may be a worker, and a task that overwrites
// a version waits for its readers.
func beginAll(all []*execution, now int64) {
	if len(all) == 0 {
		return
	}
	go func() {
		for _, e := range all {
			e.stageSince.Store(now)
			e.begin()
		}
	}()
}

// setTracing sets what the node reports of each task: attempts with their times if trace or tell is set, and
// the arrival of operands if tell is set.
func (w *work) setTracing(trace, tell bool) {
	w.traced.Store(trace || tell)
	w.story.Store(tell)
}

// Attempted implements [graph.Witness].
func (e *execution) Attempted(a graph.Attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	traced := e.w.traced.Load()
	if x := &e.report; traced && x.Version != "" {
		x.Before = append(x.Before, attempt{Version: x.Version, Took: x.Took, Worker: x.Worker, Began: x.Began})
	}
	e.report.Version, e.report.Took = a.Version, a.Took
	if traced {
		e.report.Worker, e.report.Began = a.Worker, e.w.meter.clock(a.Start)
	}
}

// end reports the end of the task with its attempts.
func (e *execution) end(err error) {
	e.mu.Lock()
	x := e.report
	e.mu.Unlock()
	x.ID = e.task.ID
	e.w.reportEnd(x, err)
}

// reportEnd reports the end of a task. Other nodes can already fetch its results.
func (w *work) reportEnd(x end, err error) {
	if err != nil {
		x.Fault = newFault(err, w.known.errs)
	}
	w.reportLast(x)
}

// reportLast sends the last report about a task.
func (w *work) reportLast(x end) {
	w.unreported.Add(-1)
	w.report(x)
	w.tasks.Done()
}

// chooseBelow returns the job's delegate if nodes below are to execute a task, whose operands are there. The task
// then counts as theirs.
func (e *execution) chooseBelow() delegate {
	d := e.w.lower
	if d == nil || e.stays || e.task.Op == core.OpNone {
		return nil
	}
	var writes int64
	for i := range e.data {
		x := &e.data[i]
		if !e.w.known.canSend(core.FactsOf(x.Value).Kind) {
			return nil
		}
		if x.mode&graph.Out != 0 {
			writes += bytesOf(x.Value)
		}
	}
	if !d.admit(e.task.Op, writes) {
		return nil
	}
	if to := e.w.below(); to != nil && to.fits(e) {
		return to
	}
	d.leave()
	return nil
}

// below returns the job's delegate, nil if no nodes are below this one.
func (w *work) below() delegate {
	w.delegating.Lock()
	defer w.delegating.Unlock()
	if w.toBelow == nil {
		w.toBelow = w.lower.delegate(w)
	}
	return w.toBelow
}

// delegate gives a task that is aside at the gate to nodes below.
func (e *execution) delegate(to delegate) {
	e.below, e.aside = to, true
	if err := to.run(e); err != nil {
		e.settle(false)
	}
}

// delegateMore delegates tasks that wait at the gate, the most urgent first.
func (x *executor) delegateMore() {
	_, waiting := x.gate.Tasks()
	for i := len(waiting) - 1; i >= 0; i-- {
		e := waiting[i]
		to := e.chooseBelow()
		if to == nil {
			continue
		}
		if !x.gate.Divert(e) { // it has begun
			x.lower.leave()
			continue
		}
		e.stageSince.Store(x.meter.change(0, -1))
		e.delegate(to)
	}
}

// noteBelow implements [settler].
func (e *execution) noteBelow(of *end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Version, e.report.Took, e.report.Fault = of.Version, of.Took, of.Fault
	e.report.Worker = e.w.meter.workers // none of this node's: recordings leave it out
}

// settle implements [settler]. A task that no node below has executed runs on this node.
func (e *execution) settle(done bool) {
	e.mu.Lock()
	failed := e.report.Fault != nil
	e.mu.Unlock()
	done = done && (failed || e.below.bring(e))
	if !done || failed {
		e.below.takeBack(e)
	}
	e.w.lower.leave()
	x := e.w.executor
	if done {
		e.Ended(nil) // with its fault, if it has failed
	} else {
		beginAll(x.gate.Leave(e, time.Now(), nil), x.meter.clock(time.Now()))
		e.stays, e.aside, e.below = true, false, nil
		e.enter(0)
	}
	x.delegateMore()
}
