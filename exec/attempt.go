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

// attempt is one attempt at a task, wherever it is made:
//
//	open ──► starts ──► the version runs ──► ends ──► learn ──► conclude
//	 │                                                            │  │
//	 └─► the task is cancelled, or fails: no version can run      │  └─► ready: once more
//	                                   done, failed or ignored ◄──┘
//
// Workers on cores and accelerators differ in how the version runs, and in who makes
// the next attempt. An attempt belongs to one goroutine at a time, and so do its
// task's fields; between its children's beginning and end that is nobody.
type attempt struct {
	rt     *scheduler
	dog    *dog // nil if there is no watchdog
	at     *site
	task   *graph.Task // nil between attempts
	call   versions.Call
	choice versions.Choice

	// What follows is set by starts only, so never for an attempt that nobody looks
	// at: without recorder, stories, watchdog, time-out and measurement. A witness alone
	// has only start set.
	start   time.Time
	limit   time.Duration      // the time-out; 0 if there is none
	cancel  context.CancelFunc // of the context with a time-out
	doing   trace.Running      // the task, for the recorder
	work    float64            // of the call, for the recorder
	watched *StuckTask         // what the watchdog knows of it
}

// open begins an attempt at t: it looks up the operands, brings them to where the
// attempt is made, saves what another attempt needs, and chooses a version. It reports
// false if t has ended instead, because it is cancelled, or has no version here, and
// appends to freed what that has freed.
func (a *attempt) open(t *graph.Task, work *versions.Workspace, freed []*graph.Task) (_ []*graph.Task, ok bool) {
	j := jobOf(t)
	if f := j.cancelled(t); f != nil {
		return j.end(a.at, t, graph.Cancelled, f, freed), false
	}
	// The context is the job's, unless starts puts one with a time-out in its place.
	a.call.Ctx, a.call.Params, a.call.Local, a.call.Work, a.call.Budget = j.ctx, t.Params, t.Local(), work, &j.budget
	if err := a.choose(t); err != nil {
		return j.fail(a.at, t, "", err, freed), false
	}
	return freed, true
}

// choose does what open does but for the end of the task. All call code that is not
// ours, Reduction.New, Op.Work and Snapshot, whose panics become errors.
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
	// The order matters. The values are those that the graph has for this task, a copy
	// for a reduction say, and may be made only now. Only a worker that can run the task
	// has them brought to it. They are saved when they are here, and before a version
	// is chosen: Op.Work may look at them.
	a.call.Args = t.Values(a.call.Args[:0])
	if a.rt.picky && s.device == nil && a.rt.kinds.unfit(t, s.info.Target) != nil {
		return a.rt.kinds.nobody(t)
	}
	if a.rt.devices != nil {
		if err := a.fetch(t); err != nil {
			return err
		}
	}
	if saves(t) {
		save(t)
	}
	// Where an op has one version here, or one that a static selector takes always, the
	// selector is asked once. The sites of a worker are few enough for a list.
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
	if c.Class < 0 { // the same for every call
		s.settled[s.settle%len(s.settled)] = settled{op, c}
		s.settle++
	}
	return nil
}

// fetch brings the operands of t to where the attempt is made.
func (a *attempt) fetch(t *graph.Task) error {
	if a.at.record != nil && a.at.device == nil {
		defer a.recordWait(t)()
	}
	return a.rt.devices.Fetch(t, a.at.device, saves(t))
}

// recordWait records, if an operand of t is on a device only, that a worker on cores
// waits for it until the function that it returns is called.
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

// fixed returns the locations of the memory that the attempt sees, within which values
// do not move.
func (a *attempt) fixed() graph.Locations {
	if a.at.device != nil {
		return 0
	}
	return a.rt.fixed
}

// needs returns the memory that the attempt takes, in bytes: what the version says, or
// what the task says if that is more. A call that makes no sense is going to say so when
// it runs.
func (a *attempt) needs(t *graph.Task) (bytes int64) {
	c, _ := t.Constraints().(*versions.Constraints)
	if c != nil {
		bytes = c.Memory
	}
	defer func() { _ = recover() }()
	return max(bytes, a.choice.Version.Beside(&a.call))
}

// errNotRun stands for an attempt that has chosen a version and not run it.
var errNotRun = errors.New("exec: not run")

// unseen reports whether nobody wants to know when the attempt at t starts and ends: no
// selector that measures, no recorder, story or watchdog, and no time-out.
func (a *attempt) unseen(t *graph.Task) bool {
	return !a.choice.Timed && !a.rt.observed && (t.Failure() == nil || t.Failure().Timeout == 0)
}

// starts tells everybody who wants to know that the attempt starts now: its operands are
// there, and its version is called next, or sent to the device.
func (a *attempt) starts(t *graph.Task) {
	s, j := a.at, jobOf(t)
	j.tell(t, graph.Running, s.info.ID, a.choice.Version.Name, nil)
	if f := t.Failure(); f != nil && f.Timeout > 0 {
		a.limit = f.Timeout
	}
	if d := a.dog; d != nil {
		a.watched = d.begin(t, a.choice.Version.Name, s.info.ID)
	}
	if s.record == nil {
		a.start = time.Now()
		a.limited(j.ctx)
		return
	}
	// The recorder reads the clock once for all: the start in the trace is the start
	// that the selector learns from.
	a.doing = trace.Running{Job: j.id, Task: uint64(t.ID()), Op: t.Op.OpName(), Version: a.choice.Version.Name}
	a.work = a.worth(t)
	a.doing.Start = s.running(a.doing, t.Attempt == 0) // without the time that this has waited
	a.start = a.rt.opt.Recorder.Began().Add(a.doing.Start)
	a.limited(j.ctx)
}

// limited has the call's context end when the attempt is late, by the time at which it has started: an
// attempt that its context has ended has taken as long as it may.
func (a *attempt) limited(ctx context.Context) {
	if a.limit > 0 {
		a.call.Ctx, a.cancel = context.WithDeadline(ctx, a.start.Add(a.limit))
	}
}

// worth returns the work of the call, 0 if the op does not say it. The selector asks for
// it only where there is a choice. Work is not our code: where it panics, nothing is counted.
func (a *attempt) worth(t *graph.Task) (work float64) {
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

// ends tells them that it has ended, with err, after the time that it took, and
// returns the error that counts.
func (a *attempt) ends(t *graph.Task, took time.Duration, err error) error {
	s := a.at
	// A version that does not heed its context is late all the same. What it returned
	// is inside the error.
	if a.limit > 0 && took >= a.limit {
		err = &TimeoutError{Limit: a.limit, Took: took, Err: err}
	}
	if a.watched != nil {
		a.dog.end(a.watched)
	}
	if a.cancel != nil {
		a.cancel()
	}
	a.limit, a.cancel, a.watched = 0, nil, nil
	if x := t.Witness(); x != nil {
		a.witnessed(x, took, err)
	}
	if s.record != nil {
		// A device may have begun before the recorder did, by its own clock.
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

// witnessed tells the witness of a task that the attempt has ended.
func (a *attempt) witnessed(x graph.Witness, took time.Duration, err error) {
	x.Attempted(graph.Attempt{Worker: a.at.info.ID, Version: a.choice.Version.Name, Start: a.start, Took: took, Err: err})
}

// learn tells the selector how long the version has taken, or that it has failed: a
// failure says nothing of the version's speed, but the selector may have taken this
// attempt for a trial of it, and takes that back. Each choice that is timed is learned
// once.
func (a *attempt) learn(took time.Duration, err error) {
	switch {
	case !a.choice.Timed:
	case err == nil:
		a.rt.selector.Record(a.choice, took.Seconds())
	default:
		a.rt.selector.Abandon(a.choice)
	}
}

// conclude ends t, whose attempt has ended with err, and appends what that has freed
// to freed; or it reports that there is to be another attempt, which t is ready for.
//
// Where children end the task it runs on the goroutine that has ended the last one.
func (a *attempt) conclude(t *graph.Task, err error, freed []*graph.Task) (_ []*graph.Task, again bool) {
	j := jobOf(t)
	if err == nil {
		// Where there are several memories, policies and devices ask where a value was
		// used last.
		if a.rt.far {
			t.Used(a.at.info.Location, a.fixed())
		}
		return j.end(a.at, t, graph.Done, nil, freed), false
	}
	version := a.choice.Version.Name
	if j.again(a.at, t, version, err) {
		return freed, true
	}
	return j.fail(a.at, t, version, err, freed), false
}

// forget drops what the attempt still knows of its task, so that a worker without a task
// keeps no data alive.
func (a *attempt) forget() {
	clear(a.call.Args[:cap(a.call.Args)])
	a.call.Ctx, a.call.Params, a.call.Local, a.call.Budget = nil, nil, nil, nil
}
