package exec

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// Worker describes a worker of a runtime.
type Worker struct {
	ID     int
	CPUs   []int            // cores that it is pinned to; nil if it floats
	Node   int              // NUMA node of its cores; 0 if it floats
	Note   string           // why it floats although it should not, if so
	Target *versions.Target // what it offers to versions; read-only
	// Accelerator is the name of the accelerator whose worker it is; empty for
	// workers on cores.
	Accelerator string
}

// worker executes tasks one at a time.
type worker struct {
	rt     *Local
	info   Worker
	slot   *slot
	heir   *worker           // that is to have the slot, when this one is at its end
	wake   chan struct{}     // capacity 1: one token for each time it is roused
	record func(trace.Event) // these are nil without a recorder
	begin  func(trace.Running, bool) time.Duration
	tally  *trace.Tally

	call  versions.Call
	work  versions.Workspace
	part  versions.Workspace // for parts of a gang's task
	gang  *gang              // that the worker has joined
	lead  *gang              // of the task that it executes
	crew  crew               // that helps with the task that it executes
	spent time.Duration      // on that task, beyond the time that it took
	helps bool               // it is at a part of another worker's task
	freed []*graph.Task

	device *device // whose call it is, for a flight

	nested *job // of the children of the task that it executes

	doing   trace.Running // that task, if there is a recorder
	watched *StuckTask    // what the watchdog knows of that task, if there is one

	// What is being executed, for the case that the task ends the goroutine.
	task   *graph.Task
	choice versions.Choice
	start  time.Time

	settled [4]settled // some ops whose version is the same for all calls
	settle  int        // how many have been put there

	pace pace
}

// settled is an op with the choice that the selector makes for every call on a
// target.
type settled struct {
	op     *versions.Op
	choice versions.Choice
}

// loop is the goroutine of a worker.
func (w *worker) loop() {
	release := func() {}
	if w.info.CPUs != nil {
		// A worker that cannot be pinned, because the mask of the process has
		// changed since the machine was read, runs unpinned rather than not
		// at all. After a Goexit the thread ends with the goroutine, which
		// does not come to release it: nobody inherits the pinning.
		release, _ = topo.Lock(w.info.CPUs...)
	}
	defer w.survive()
	w.freed = w.freed[:0]
	for {
		t := w.rt.exchange(w, w.freed)
		if t == nil && w.gang == nil && w.heir == nil {
			w.forget()
			t = w.rt.await(w)
			w.begins()
		}
		w.freed = w.freed[:0]
		switch {
		case t != nil:
			w.freed = w.execute(t, w.freed)
		case w.gang != nil:
			w.gang.serve(w)
			w.gang = nil
		default:
			w.forget()
			w.work, w.part = versions.Workspace{}, versions.Workspace{}
			w.rt.resign(w)
			release()
			if w.heir != nil {
				w.heir.wake <- struct{}{}
			}
			w.rt.running.Done()
			return
		}
	}
}

// forget drops what w still knows of its last task: a worker without one keeps
// no data alive.
func (w *worker) forget() {
	clear(w.call.Args[:cap(w.call.Args)])
	w.call.Ctx, w.call.Params, w.call.Local = nil, nil, nil
}

// survive continues the worker on a new goroutine when a task, or its part in
// a gang's, has ended the old one by runtime.Goexit.
func (w *worker) survive() {
	if w.gang != nil || w.helps {
		w.gang, w.helps = nil, false
		w.freed = w.freed[:0]
		go w.loop()
		return
	}
	t := w.task
	if t == nil {
		return
	}
	w.dismiss()
	if w.choice.Timed {
		w.rt.selector.Abandon(w.choice)
	}
	err := &PanicError{Stack: debug.Stack()}
	w.disown(err)
	w.task = nil
	if jobOf(t).again(w, t, w.choice.Version.Name, err) {
		w.freed = w.freed[:0]
		w.rt.enqueue([]*graph.Task{t})
		go w.loop()
		return
	}
	freed := w.conclude(t, w.choice.Version.Name, err, w.freed[:0])
	w.rt.enqueue(freed)
	go w.loop()
}

// execute runs t, or cancels it if it must not run, and appends the tasks
// that it has freed to freed.
func (w *worker) execute(t *graph.Task, freed []*graph.Task) []*graph.Task {
	j := jobOf(t)
	if f := j.cancelled(t); f != nil {
		return j.end(w, t, graph.Cancelled, f, freed)
	}
	op, ok := t.Op.(*versions.Op)
	if !ok {
		err := errors.New("exec: the op of a task must be a *versions.Op")
		return j.fail(w, t, "", err, freed)
	}
	if w.rt.devices != nil && w.rt.passOn(t, op) {
		return freed
	}
	for {
		w.call.Ctx = j.ctx
		w.call.Params, w.call.Local = t.Params, t.Local()
		w.call.Work = &w.work
		if err := w.prepare(j, op, t); err != nil {
			return j.fail(w, t, "", err, freed)
		}
		later, err := w.attempt(j, op, t)
		if later {
			return freed
		}
		if err == nil || !j.again(w, t, w.choice.Version.Name, err) {
			return w.conclude(t, w.choice.Version.Name, err, freed)
		}
		// The first retry stays here; later ones go to another worker.
		if t.Attempt > 1 && w.rt.hosts > 1 {
			w.rt.redirect(t, w)
			return freed
		}
	}
}

// prepare looks up the operands, chooses a version and saves what a retry will
// need. All call code that is not ours, Reduction.New, Op.Work and Snapshot,
// whose panics become errors.
func (w *worker) prepare(j *job, op *versions.Op, t *graph.Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	w.call.Args = t.Values(w.call.Args[:0])
	if w.rt.devices != nil {
		if err := w.fetch(t, op); err != nil {
			return err
		}
	}
	if saves(t) {
		save(t)
	}
	for i := range w.settled {
		if s := &w.settled[i]; s.op == op {
			w.choice = s.choice
			return nil
		}
	}
	c, err := w.rt.selector.Select(op, &w.call, w.info.Target)
	if err != nil {
		return err
	}
	w.choice = c
	if c.Class < 0 {
		w.settled[w.settle%len(w.settled)] = settled{op, c}
		w.settle++
	}
	return nil
}

// attempt runs the chosen version once. Later means that children of the task
// will end it.
func (w *worker) attempt(j *job, op *versions.Op, t *graph.Task) (later bool, err error) {
	t.SetState(graph.Running)
	limit := time.Duration(0)
	if t.Failure() != nil {
		limit = t.Failure().Timeout
	}
	if !w.choice.Timed && w.record == nil && limit == 0 && j.stories == nil {
		if w.pace.left--; w.pace.left < 0 && w.rt.lonely {
			return w.family(t, w.timed(t), false)
		}
		return w.family(t, w.invoke(t), false)
	}
	j.tell(t, graph.Running, w.info.ID, w.choice.Version.Name, nil)
	if limit > 0 {
		var cancel context.CancelFunc
		w.call.Ctx, cancel = context.WithTimeout(j.ctx, limit)
		defer cancel()
	}
	var at time.Duration
	if w.record != nil {
		w.doing = trace.Running{Job: j.id, Task: uint64(t.ID()), Op: op.OpName(), Version: w.choice.Version.Name}
		at = w.begin(w.doing, t.Attempt == 0)
		w.doing.Start = at // without the time that begin has waited
		w.start = w.rt.opt.Recorder.Began().Add(at)
	} else {
		w.start = time.Now()
	}
	err = w.invoke(t)
	took := time.Since(w.start)
	if limit > 0 && w.nested != nil { // the context of the children ends with this call
		_, err = w.family(t, err, true)
		took = time.Since(w.start)
	}
	if limit > 0 && took > limit {
		err = &TimeoutError{Limit: limit, Took: took, Err: err}
	}
	if w.record != nil {
		e := trace.Event{Job: j.id, Task: uint64(t.ID()), Op: op.OpName(), Version: w.choice.Version.Name,
			Worker: w.info.ID, Submitted: t.Added(), Ready: t.ReadyAt(), Start: at, End: at + took, Failed: err != nil}
		writes(&e, t)
		w.record(e)
	}
	if w.nested != nil {
		if later, err = w.family(t, err, false); later {
			return true, nil // and timed at the end
		}
		took = time.Since(w.start)
	}
	if w.choice.Timed {
		if err == nil {
			w.rt.selector.Record(op, w.choice, w.info.Target, w.choice.Work, (took + w.spent).Seconds())
		} else {
			w.rt.selector.Abandon(w.choice)
		}
	}
	return false, err
}

// dismiss disbands the gang that w leads, if any.
func (w *worker) dismiss() {
	if w.lead != nil {
		w.rt.disband(w.lead)
		w.lead = nil
	} else if w.call.Gang != nil {
		w.spent = w.crew.spent()
	}
	w.call.Gang = nil
}

// invoke calls the version and turns a panic into an error.
func (w *worker) invoke(t *graph.Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
			w.task = nil
		}
	}()
	w.task, w.spent = t, 0
	if v := w.choice.Version; v.Constraints.Units > 1 || v.Share != nil || v.Help != nil && w.rt.hosts > 1 {
		w.rt.lead(w, v)
		defer w.dismiss()
	}
	if d := w.rt.dog; d != nil {
		defer d.begin(w, t)()
	}
	err = w.choice.Version.Run(&w.call)
	w.task = nil
	return err
}

// conclude records how t has ended after its last attempt.
//
// It may run on another worker's goroutine than w's, for a task that its
// children end.
func (w *worker) conclude(t *graph.Task, version string, err error, freed []*graph.Task) []*graph.Task {
	j := jobOf(t)
	if err != nil {
		return j.fail(w, t, version, err, freed)
	}
	t.SetHomes(w.info.ID)
	return j.end(w, t, graph.Done, nil, freed)
}
