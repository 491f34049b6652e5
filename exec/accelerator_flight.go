package exec

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// flight is an attempt at a task on an accelerator, from before its start until
// it is concluded. The worker in it is what the attempt has of one: number, call,
// choice, recorder.
type flight struct {
	worker
	launch versions.Launch
	uses   []versions.Use
	limit  time.Duration
	cancel context.CancelFunc // of the context with a time-out; nil without
	end    func()             // the watchdog's; nil without
	last   bool               // of those that were started as one
}

// start begins t, and with it what can be executed as one with it.
func (d *device) start(t *graph.Task) {
	here := len(d.ready) > 0 && d.price(t) == 0
	f := d.board(t)
	if f == nil {
		return
	}
	d.group = []*flight{f}
	if here {
		d.gather(f)
	}
	d.depart()
}

// board makes an attempt at t ready to be started. It concludes t at once, and
// returns nil, if it must not run, or cannot.
func (d *device) board(t *graph.Task) *flight {
	j := jobOf(t)
	f := d.flight(t)
	if fault := j.cancelled(t); fault != nil {
		d.land(f)
		d.over(j.end(&f.worker, t, graph.Cancelled, fault, d.freed))
		return nil
	}
	op := t.Op.(*versions.Op)
	f.call.Ctx, f.call.Params, f.call.Local, f.call.Work = j.ctx, t.Params, t.Local(), &d.work
	j.used.Store(true)
	if err := f.prepare(j, op, t); err != nil {
		d.land(f)
		d.over(j.fail(&f.worker, t, "", err, d.freed))
		return nil
	}
	choice := f.choice
	for i := range t.Len() {
		f.uses = append(f.uses, useOf(t.Operand(i).Mode))
	}
	t.SetState(graph.Running)
	j.tell(t, graph.Running, d.info.ID, choice.Version.Name, nil)
	if t.Failure() != nil && t.Failure().Timeout > 0 {
		f.limit = t.Failure().Timeout
		f.call.Ctx, f.cancel = context.WithTimeout(j.ctx, f.limit)
	}
	if f.record != nil {
		f.doing = trace.Running{Job: j.id, Task: uint64(t.ID()), Op: op.OpName(), Version: choice.Version.Name}
		f.doing.Start = f.begin(f.doing, t.Attempt == 0)
	}
	if w := d.rt.dog; w != nil {
		f.end = w.begin(&f.worker, t)
	}
	f.start = time.Now()
	f.launch = versions.Launch{Call: f.call, Version: choice.Version, Uses: f.uses, Job: j.id, Owner: f}
	return f
}

// useOf says in the words of versions what a task does with an operand.
func useOf(m graph.Mode) (u versions.Use) {
	if m&graph.In != 0 {
		u |= versions.Reads
	}
	if m&graph.Out != 0 {
		u |= versions.Writes
	}
	return u
}

// flight returns a flight of t.
func (d *device) flight(t *graph.Task) *flight {
	var f *flight
	if n := len(d.spare); n > 0 {
		f, d.spare = d.spare[n-1], d.spare[:n-1]
	} else {
		f = &flight{worker: worker{rt: d.rt, info: d.info, device: d}}
		if r := d.rt.opt.Recorder; r != nil {
			f.record, f.begin, f.tally = r.Sink(d.info.ID), r.Starter(d.info.ID), r.Tally(d.info.ID)
		}
	}
	f.task = t
	return f
}

// land gives a flight back for another task.
func (d *device) land(f *flight) {
	if f.cancel != nil {
		f.cancel()
	}
	if f.end != nil {
		f.end()
	}
	f.forget()
	f.task, f.cancel, f.end, f.limit, f.last = nil, nil, nil, 0, false
	f.launch, f.choice, f.uses = versions.Launch{}, versions.Choice{}, f.uses[:0]
	d.spare = append(d.spare, f)
}

// invoke starts the calls of flights as one, and turns a panic into an error.
func (d *device) invoke(flights []*flight) (err error) {
	d.first = flights
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
			d.first = nil
		}
	}()
	if len(flights) == 1 {
		err = d.acc.Launch(&flights[0].launch)
	} else {
		var all []*versions.Launch
		for _, f := range flights {
			all = append(all, &f.launch)
		}
		err = d.acc.(Batcher).LaunchBatch(all)
	}
	d.first = nil
	return err
}

// finish concludes an attempt that has ended with err.
func (d *device) finish(f *flight, err error) {
	t, l := f.task, &f.launch
	j, op := jobOf(t), t.Op.(*versions.Op)
	lost := err != nil && d.acc.Lost() != nil
	if f.limit > 0 && l.Busy > f.limit {
		err = &TimeoutError{Limit: f.limit, Took: l.Busy, Err: err}
	}
	if f.record != nil {
		f.event(j, op, err)
	}
	if f.choice.Timed {
		if err == nil {
			d.rt.selector.Record(op, f.choice, d.info.Target, f.choice.Work, l.Busy.Seconds())
		} else {
			d.rt.selector.Abandon(f.choice)
		}
	}
	version := f.choice.Version.Name
	freed := d.freed
	switch {
	case err == nil:
		freed = f.conclude(t, version, nil, freed)
	case lost:
		freed = d.forsake(f, version, err, freed)
	case j.again(&f.worker, t, version, err):
		// The first retry stays here; later ones go to another worker.
		if t.Attempt > 1 {
			d.refuse(t)
			d.land(f)
			return
		}
		d.ready = append(d.ready, candidate{task: t})
		d.land(f)
		return
	default:
		freed = f.conclude(t, version, err, freed)
	}
	d.land(f)
	d.over(freed)
}

// forsake sees to a task that was on an accelerator when it was lost: another
// worker begins it anew, unless what it reads is lost as well and was not saved.
// That is no attempt of its own.
func (d *device) forsake(f *flight, version string, why error, freed []*graph.Task) []*graph.Task {
	t := f.task
	j := jobOf(t)
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 && (t.Kept() == nil || !inPlace(o.Mode)) {
			if err := d.acc.Fetch(o.Datum.Value, useOf(o.Mode)); err != nil {
				return f.conclude(t, version, err, freed)
			}
		}
	}
	if !d.rt.restore(t) {
		return f.conclude(t, version, why, freed)
	}
	j.tell(t, graph.Ready, d.info.ID, version, why)
	if f.tally != nil && t.Attempt == 0 {
		f.tally.Forsaken()
	}
	t.SetState(graph.Ready)
	d.rt.enqueue([]*graph.Task{t})
	return freed
}

// event records the attempt.
func (f *flight) event(j *job, op *versions.Op, err error) {
	t, r := f.task, f.rt.opt.Recorder
	e := trace.Event{Job: j.id, Task: uint64(t.ID()), Op: op.OpName(), Version: f.choice.Version.Name,
		Worker: f.info.ID, Submitted: t.Added(), Ready: t.ReadyAt(), Start: f.doing.Start, Failed: err != nil}
	if b := f.launch.Begin; !b.IsZero() {
		e.Start = max(b.Sub(r.Began()), 0)
	}
	e.End = e.Start + f.launch.Busy
	writes(&e, t)
	f.record(e)
}
