package exec

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// attempt is one attempt at a task, on cores or on a device:
//
//	open ──► begin ──► the version runs ──► finish ──► learn ──► conclude
//	 │                                                             │  │
//	 └─► the task is cancelled, or fails: no version can run       │  └─► ready: once more
//	                                    done, failed or ignored ◄──┘
//
// Without observers begin and finish are left out. Workers on cores and devices differ in how the
// version runs, and in which worker makes the next attempt. The attempt and the fields of its task
// belong to one goroutine at a time. After the version of a parent has returned they belong to no
// goroutine until the last child ends.
type attempt struct {
	rt       *scheduler
	watchdog *watchdog // nil if there is no watchdog
	at       *site
	task     *graph.Task // nil between attempts
	call     versions.Call
	choice   versions.Choice

	// Only begin sets the following fields, that is for an attempt that a recorder, stories, the
	// watchdog, a time-out or a measuring selector observes. With a witness alone only start is set.
	start   time.Time
	limit   time.Duration      // the time-out; 0 if there is none
	cancel  context.CancelFunc // of the context with the time-out
	doing   trace.Running      // the task, for the recorder
	work    float64            // of the call, for the recorder
	watched *StuckTask         // its entry in the watchdog
}

// open begins an attempt at t: it looks up the operands, brings them to the site, saves what a
// further attempt needs, and chooses a version. It reports false if t has ended instead, because it
// is cancelled or has no version here, and appends the tasks that become ready to freed.
func (a *attempt) open(t *graph.Task, work *versions.Workspace, freed []*graph.Task) (_ []*graph.Task, ok bool) {
	j := jobOf(t)
	if f := j.cancelled(t); f != nil {
		return j.end(a.at, t, graph.Cancelled, f, freed), false
	}
	// The context is the job's, unless begin replaces it by one with a time-out.
	a.call.Ctx, a.call.Params, a.call.Local, a.call.Work, a.call.Budget = j.ctx, t.Params, t.Local(), work, &j.budget
	if err := a.choose(t); err != nil {
		return j.fail(a.at, t, "", err, freed), false
	}
	return freed, true
}

// choose does the work of open, and returns why t fails, nil if it does not. Reduction.New, Op.Work and
// Snapshot are code of the program: choose turns their panics into errors.
func (a *attempt) choose(t *graph.Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return errors.New("exec: the op of a task must be a *versions.Op")
	}
	s := a.at
	// The order matters. The graph may make values only now, such as the copies of a reduction.
	// Operands are brought only to a worker that can run the task. They are saved after they have
	// arrived and before the choice, because Op.Work may read them.
	a.call.Args = t.Values(a.call.Args[:0])
	if a.rt.mixedKinds && s.device == nil && a.rt.kinds.unfit(t, s.info.Target) != nil {
		return a.rt.kinds.whyNone(t)
	}
	if a.rt.devices != nil {
		if err := a.fetch(t); err != nil {
			return err
		}
	}
	if saves(t) {
		save(t)
	}
	// For an op with one version here, or with a pinned one, the worker asks the selector only once. A
	// worker has few such ops, so a short list suffices.
	for i := range s.settled {
		if x := &s.settled[i]; x.op == op {
			a.choice = x.choice
			return nil
		}
	}
	c, err := a.rt.selector.Select(op, &a.call, s.info.Target)
	if err != nil {
		return err
	}
	a.choice = c
	if c.Class < 0 { // the choice is the same for every call
		s.settled[s.settle%len(s.settled)] = settled{op, c}
		s.settle++
	}
	return nil
}

// fetch brings the operands of t to the attempt's site.
func (a *attempt) fetch(t *graph.Task) error {
	if a.at.record != nil && a.at.device == nil {
		defer a.recordWait(t)()
	}
	return a.rt.devices.Fetch(t, a.at.device, saves(t))
}

// recordWait records that a worker on cores waits for an operand of t that is only on a device,
// until the returned function is called.
func (a *attempt) recordWait(t *graph.Task) (end func()) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 && a.rt.devices.Away(o.Datum.Value, nil) {
			r := a.rt.opt.Recorder
			x := trace.Wait{Worker: a.at.info.ID, Job: jobOf(t).id, Task: uint64(t.ID()), Start: r.Now()}
			return func() {
				x.End = r.Now()
				r.Wait(x)
			}
		}
	}
	return func() {}
}

// fixed returns the locations that share the attempt's memory, among which values do not move.
func (a *attempt) fixed() graph.Locations {
	if a.at.device != nil {
		return 0
	}
	return a.rt.fixed
}

// memoryNeed returns the memory that the attempt takes, in bytes: the larger of what the version and the
// task declare. A panic in Version.Memory is ignored: the call will report its cause itself.
func (a *attempt) memoryNeed(t *graph.Task) (bytes int64) {
	c, _ := t.Constraints().(*versions.Constraints)
	if c != nil {
		bytes = c.Memory
	}
	defer func() { _ = recover() }()
	return max(bytes, a.choice.Version.Beside(&a.call))
}

// errNotRun is the result of an attempt that has chosen a version and not run it.
var errNotRun = errors.New("exec: not run")

// unobserved reports whether nothing observes the attempt at t: no measuring selector, recorder, story,
// watchdog or time-out.
func (a *attempt) unobserved(t *graph.Task) bool {
	return !a.choice.Timed && !a.rt.observed && (t.Failure() == nil || t.Failure().Timeout == 0)
}

// begin tells all observers that the attempt starts now: its operands are there, and its version
// is called next or sent to the device.
func (a *attempt) begin(t *graph.Task) {
	s, j := a.at, jobOf(t)
	j.addStep(t, graph.Running, s.info.ID, a.choice.Version.Name, nil)
	if f := t.Failure(); f != nil && f.Timeout > 0 {
		a.limit = f.Timeout
	}
	if d := a.watchdog; d != nil {
		a.watched = d.begin(t, a.choice.Version.Name, s.info.ID)
	}
	if s.record == nil {
		a.start = time.Now()
		a.setDeadline(j.ctx)
		return
	}
	// The recorder's clock is read once, so the trace and the selector have the same start.
	a.doing = trace.Running{Job: j.id, Task: uint64(t.ID()), Op: t.Op.OpName(), Version: a.choice.Version.Name}
	a.work = a.workOf(t)
	a.doing.Start = s.running(a.doing, t.Attempt == 0) // without the time spent on recording
	a.start = a.rt.opt.Recorder.Began().Add(a.doing.Start)
	a.setDeadline(j.ctx)
}

// setDeadline gives the call a context that ends when the attempt's time-out is over. The context's
// clock starts at the attempt's start, so an attempt that its context ends has always taken long
// enough.
func (a *attempt) setDeadline(ctx context.Context) {
	if a.limit > 0 {
		a.call.Ctx, a.cancel = context.WithDeadline(ctx, a.start.Add(a.limit))
	}
}

// workOf returns the work of the call, 0 if the op does not define it or its function panics. The
// selector has asked for it only if it had a choice.
func (a *attempt) workOf(t *graph.Task) (work float64) {
	op, ok := t.Op.(*versions.Op)
	switch {
	case !ok || op.Work == nil:
		return 0
	case a.choice.Work > 0:
		return a.choice.Work
	}
	defer func() { _ = recover() }()
	return op.Work(&a.call)
}

// finish tells all observers that the attempt has ended with err after took, and returns the
// attempt's final error.
func (a *attempt) finish(t *graph.Task, took time.Duration, err error) error {
	s := a.at
	// A version that ignores its context is late all the same. The error wraps what it returned.
	if a.limit > 0 && took >= a.limit {
		err = &TimeoutError{Limit: a.limit, Took: took, Err: err}
	}
	if a.watched != nil {
		a.watchdog.end(a.watched)
	}
	if a.cancel != nil {
		a.cancel()
	}
	a.limit, a.cancel, a.watched = 0, nil, nil
	if x := t.Witness(); x != nil {
		a.tellWitness(x, took, err)
	}
	if s.record != nil {
		// By its own clock, a device may have begun before the recorder did.
		start := max(a.start.Sub(a.rt.opt.Recorder.Began()), 0)
		e := trace.EventOf(jobOf(t).id, t)
		e.Version, e.Worker, e.Start, e.End = a.choice.Version.Name, s.info.ID, start, start+took
		e.Failed = err != nil && err != ErrUnfinished
		s.record(e)
		if err == nil {
			s.tally.Worked(a.work)
		}
	}
	return err
}

// tellWitness tells the task's witness that the attempt has ended.
func (a *attempt) tellWitness(x graph.Witness, took time.Duration, err error) {
	x.Attempted(graph.Attempt{Worker: a.at.info.ID, Version: a.choice.Version.Name, Start: a.start, Took: took,
		Err: err})
}

// learn tells the selector how long the version has taken, or that it has failed. A failure says
// nothing about the speed of the version; but if the selector has counted the attempt as a trial, it
// takes that back. learn is called once for each timed choice.
func (a *attempt) learn(took time.Duration, err error) {
	switch {
	case !a.choice.Timed:
	case err == nil:
		a.rt.selector.Record(a.choice, took.Seconds())
	default:
		a.rt.selector.Abandon(a.choice)
	}
}

// conclude ends t, whose attempt has ended with err, and appends the tasks that become ready to
// freed. If t has another attempt instead, conclude makes it ready and reports again.
//
// If children end the task, conclude runs on the goroutine that has ended the last child.
func (a *attempt) conclude(t *graph.Task, err error, freed []*graph.Task) (_ []*graph.Task, again bool) {
	j := jobOf(t)
	if err == nil {
		// With several memories, policies and devices ask where a value was used last.
		if a.rt.severalMemories {
			t.Used(a.at.info.Location, a.fixed())
		}
		return j.end(a.at, t, graph.Done, nil, freed), false
	}
	version := a.choice.Version.Name
	if j.prepareRetry(a.at, t, version, err) {
		return freed, true
	}
	return j.fail(a.at, t, version, err, freed), false
}

// forget drops references to the last task, so that an idle worker keeps no data alive.
func (a *attempt) forget() {
	clear(a.call.Args[:cap(a.call.Args)])
	a.call.Ctx, a.call.Params, a.call.Local, a.call.Budget = nil, nil, nil, nil
}
