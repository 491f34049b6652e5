package exec

import (
	"runtime/debug"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// flight is an attempt at a task on an accelerator, from before its start until it is
// concluded.
type flight struct {
	attempt
	launch versions.Launch
	uses   []versions.Use
	last   bool // of those that were started as one
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
	f := d.flight(t)
	j := jobOf(t)
	j.used.Store(true)
	freed, ok := f.open(t, &d.work, d.freed)
	if !ok {
		d.land(f)
		d.over(freed)
		return nil
	}
	for i := range t.Len() {
		f.uses = append(f.uses, useOf(t.Operand(i).Mode))
	}
	t.SetState(graph.Running)
	f.starts(t)
	f.launch = versions.Launch{Call: f.call, Version: f.choice.Version, Uses: f.uses, Job: j.id, Owner: f}
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
		f = &flight{attempt: attempt{at: &d.site}}
	}
	f.task = t
	return f
}

// land gives a flight back for another task.
func (d *device) land(f *flight) {
	f.forget()
	f.task, f.last = nil, false
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

// ends ends the attempt as [attempt.ends] and learn do, by the times of the
// accelerator.
func (f *flight) ends(err error) error {
	if b := f.launch.Begin; !b.IsZero() {
		f.start = b
	}
	err = f.attempt.ends(f.task, f.launch.Busy, err)
	f.learn(f.task, f.launch.Busy, err)
	return err
}

// finish concludes an attempt that has ended with err.
func (d *device) finish(f *flight, err error) {
	t, lost, again := f.task, err != nil && d.acc.Lost() != nil, false
	err = f.ends(err)
	freed := d.freed
	if lost {
		freed = d.forsake(f, err, freed)
	} else {
		freed, again = f.conclude(t, err, freed)
	}
	d.land(f)
	switch {
	case !again:
		d.over(freed)
	case t.Attempt > 1: // the first retry stays here; later ones go to another worker
		d.refuse(t)
	default:
		d.ready = append(d.ready, candidate{task: t})
	}
}

// forsake sees to a task that was on an accelerator when it was lost: another
// worker begins it anew, unless what it reads is lost as well and was not saved.
// That is no attempt of its own.
func (d *device) forsake(f *flight, why error, freed []*graph.Task) []*graph.Task {
	t, version := f.task, f.choice.Version.Name
	j := jobOf(t)
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 && (t.Kept() == nil || !inPlace(o.Mode)) {
			if err := d.acc.Fetch(o.Datum.Value, useOf(o.Mode)); err != nil {
				return j.fail(&d.site, t, version, err, freed)
			}
		}
	}
	if !d.rt.restore(t) {
		return j.fail(&d.site, t, version, why, freed)
	}
	j.tell(t, graph.Ready, d.info.ID, version, why)
	if d.tally != nil && t.Attempt == 0 {
		d.tally.Forsaken()
	}
	t.SetState(graph.Ready)
	d.rt.enqueue([]*graph.Task{t})
	return freed
}
