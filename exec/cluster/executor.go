package cluster

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
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
	ended      bool                  // no task begins any more; executor.mu guards it
	parser     specParser            // called by run only
	members    map[uint64]*execution // ranks of groups, by task; executor.mu guards it
	grouped    atomic.Bool           // there was a rank of a group

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
	member     *member               // nil if the task is no rank of a group

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
	if w.grouped.Load() {
		w.mu.Lock()
		delete(w.members, x.ID)
		w.mu.Unlock()
	}
	w.unreported.Add(-1)
	w.report(x)
	w.tasks.Done()
}

// noteBelow implements [settler].
func (e *execution) noteBelow(of *end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Version, e.report.Took, e.report.Fault = of.Version, of.Took, of.Fault
	e.report.Worker = e.w.meter.workers // none of this node's: recordings leave it out
}
