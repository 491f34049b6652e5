package offload

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// together is how many calls are started as one at most: on a device that takes
// a few microseconds to start a call what is left of that is small then. Not
// measured.
const together = 16

// launcher starts calls on a device and concludes those that have ended. It is one
// goroutine's.
//
//	start ─► board ─► gather ─► depart ─► invoke ──► collect ─► finish
//	           │                             │                     │
//	           └─► the task has ended        └─► declined: others  └─► ended, or a
//	               without a call                do it                 candidate again
type launcher struct {
	*Device
	Options
	waiting Candidates
	hangar  hangar

	flying int // calls, or batches of them, started and not ended
	ended  []*versions.Launch
	freed  []*graph.Task
	work   versions.Workspace // what versions need on the host while they enqueue
	group  []*flight          // to be started next
	first  []*flight          // those that are being started, in case they end the goroutine
	call   versions.Call      // of a task that may join the group
}

// start begins t, and with it what can be executed as one with it: only if t itself need not
// wait for a copy, or those whose operands are there would wait with it.
func (l *launcher) start(t *graph.Task) {
	here := l.waiting.Len() > 0 && l.price(t) == 0
	f := l.board(t)
	if f == nil {
		return
	}
	l.group = []*flight{f}
	if here {
		l.gather(f)
	}
	l.depart()
}

// board makes an attempt at t ready to be started. It concludes t at once, and
// returns nil, if it must not run, or cannot.
func (l *launcher) board(t *graph.Task) *flight {
	f, job := l.hangar.flight(t, l.Runtime.NewAttempt), l.Runtime.Uses(t)
	freed, ok := f.Open(t, &l.work, l.freed)
	if !ok {
		l.hangar.land(f)
		l.over(freed)
		return nil
	}
	t.SetState(graph.Running)
	f.Starts(t)
	f.ready(job)
	return f
}

// gather adds to the group of f the candidates that can be executed as one with f: all
// of whose operands are there, or on their way, so that nobody waits for them.
func (l *launcher) gather(f *flight) {
	b := f.launch.Version.Batch
	if _, ok := l.Accelerator.(Batcher); !ok || b == nil || l.Alone || l.waiting.Len() == 0 {
		return
	}
	key := keyOf(b, &f.launch.Call)
	if key == nil {
		return
	}
	joins := func(t *graph.Task) bool {
		return t.Op == f.task.Op && t.Attempt == 0 && l.price(t) == 0 && l.keyOf(b, t) == key
	}
	l.waiting.Take(together-1, joins, func(t *graph.Task) {
		if g := l.board(t); g != nil {
			l.group = append(l.group, g)
		}
	})
}

// keyOf returns the key of t.
func (l *launcher) keyOf(b *versions.Batch, t *graph.Task) any {
	l.call.Params, l.call.Args = t.Params, t.Values(l.call.Args[:0])
	key := keyOf(b, &l.call)
	clear(l.call.Args)
	l.call.Params = nil
	return key
}

// keyOf returns the key of a call; nil if that makes no sense, and is going to say
// so when it runs.
func keyOf(b *versions.Batch, call *versions.Call) (key any) {
	defer func() {
		if recover() != nil {
			key = nil
		}
	}()
	return b.Key(call)
}

// depart starts the group: as one as far as the same version was chosen for all
// of it, and one by one where that does not do.
func (l *launcher) depart() {
	all, n := l.group, 1
	for i := 1; i < len(all); i++ {
		if all[i].launch.Version == all[0].launch.Version {
			all[n], all[i] = all[i], all[n]
			n++
		}
	}
	if n > 1 {
		l.group = all[n:]
		err := l.invoke(all[:n])
		panicked := (*graph.PanicError)(nil)
		switch {
		case err == nil:
			l.away(all[n-1])
		case errors.As(err, &panicked): // and may have begun
			for _, f := range all[:n] {
				l.finish(f, err)
			}
		default:
			l.group = all
		}
	}
	for len(l.group) > 0 {
		f := l.group[:1]
		l.group = l.group[1:]
		if err := l.invoke(f); err != nil {
			l.unstarted(f[0], err)
		} else {
			l.away(f[0])
		}
	}
}

// away notes that flights were started as one of which f is the last. They end together,
// so the end of f stands for that of all.
func (l *launcher) away(f *flight) {
	f.last = true
	l.flying++
}

// invoke starts the calls of flights as one, and turns a panic into an error.
func (l *launcher) invoke(flights []*flight) (err error) {
	l.first = flights
	defer func() {
		if v := recover(); v != nil {
			err = &graph.PanicError{Value: v, Stack: debug.Stack()}
			l.first = nil
		}
	}()
	if len(flights) == 1 {
		err = l.Launch(&flights[0].launch)
	} else {
		var all []*versions.Launch
		for _, f := range flights {
			all = append(all, &f.launch)
		}
		err = l.Accelerator.(Batcher).LaunchBatch(all)
	}
	l.first = nil
	return err
}

// unstarted concludes an attempt whose call the device has not started. If it has
// found out meanwhile that it never can, because there is less memory than it had
// thought, others do the task, and that was no attempt of it.
func (l *launcher) unstarted(f *flight, err error) {
	t := f.task
	if l.Lost() != nil || l.Accepts(t) == nil {
		l.finish(f, err)
		return
	}
	f.Anew(t, f.ends(err))
	l.hangar.land(f)
	l.Runtime.Refuse(t)
}

// collect concludes the calls that have ended; it waits for one at most for the
// given time.
func (l *launcher) collect(wait time.Duration) {
	if l.flying == 0 {
		return
	}
	l.ended = l.Ended(l.ended[:0], wait)
	for i, x := range l.ended {
		l.ended[i] = nil
		f := x.Owner.(*flight)
		if f.last {
			l.flying--
		}
		l.finish(f, x.Err)
	}
}

// finish concludes an attempt that has ended with err. What it frees goes to the runtime at
// once: it may be the next that the device does.
func (l *launcher) finish(f *flight, err error) {
	t, lost, again := f.task, err != nil && l.Lost() != nil, false
	err = f.ends(err)
	freed := l.freed
	if lost {
		freed = l.forsake(f, err, freed)
	} else {
		freed, again = f.Conclude(t, err, freed)
	}
	l.hangar.land(f)
	switch {
	case !again:
		l.over(freed)
	case t.Attempt > 1: // the first retry stays here; later ones go to another worker
		l.Runtime.Refuse(t)
	default:
		l.waiting.Add(t)
	}
}

// forsake sees to a task that was on the device when it was lost: another worker
// begins it anew, unless what it reads is lost as well and was not saved. That is no
// attempt of its own.
func (l *launcher) forsake(f *flight, why error, freed []*graph.Task) []*graph.Task {
	t := f.task
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 && (t.Kept() == nil || !o.Mode.InPlace()) {
			if err := l.Fetch(o.Datum.Value, use(o.Mode)); err != nil {
				return f.Fail(t, err, freed)
			}
		}
	}
	if !f.Restore(t) {
		return f.Fail(t, why, freed)
	}
	f.Anew(t, why)
	return append(freed, t)
}

// over gives the runtime what a task has freed that the worker had taken and that is
// the worker's no more.
func (l *launcher) over(freed []*graph.Task) {
	l.Runtime.Push(freed)
	clear(freed)
	l.freed = freed[:0]
}
