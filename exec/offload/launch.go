package offload

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// maxBatch is the largest number of calls started as one: those that the device keeps ahead.
const maxBatch = Ahead

// launcher starts calls on a device and concludes those that have ended. One goroutine uses it.
//
//	start ─► board ─► gather ─► depart ─► invoke ──► collect ─► finish
//	           │                             │                     │
//	           └─► the task has ended        └─► declined: another └─► ended, or a
//	               without a call                worker does it        candidate again
type launcher struct {
	*Device
	Options
	waiting Candidates
	flights flightPool

	flying int // calls, or batches, started and not ended
	ended  []*versions.Launch
	freed  []*graph.Task
	work   versions.Workspace // the versions' host memory while they enqueue
	group  []*flight          // flights to start next
	first  []*flight          // flights being started, in case they end the goroutine
	call   versions.Call      // scratch of keyOf
}

// start starts t, and with it candidates that can be executed in one batch. It gathers them only if
// t's operands are there: otherwise they would wait for t's copies.
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

// board opens an attempt at t. If t must not or cannot run, board concludes it and returns nil.
func (l *launcher) board(t *graph.Task) *flight {
	f, job := l.flights.get(t, l.Runtime.NewAttempt), l.Runtime.Uses(t)
	freed, ok := f.Open(t, &l.work, l.freed)
	if !ok {
		l.flights.put(f)
		l.release(freed)
		return nil
	}
	t.SetState(graph.Running)
	f.Starts(t)
	f.prepare(job)
	return f
}

// gather adds the candidates that can be executed in one batch with f to the group. Their operands
// are on the device, or on their way, so that no call waits for them.
func (l *launcher) gather(f *flight) {
	b := f.launch.Version.Batch
	if _, ok := l.Accelerator.(Batcher); !ok || b == nil || l.Alone || l.waiting.Len() == 0 {
		return
	}
	key := batchKey(b, &f.launch.Call)
	if key == nil {
		return
	}
	joins := func(t *graph.Task) bool {
		return t.Op == f.task.Op && t.Attempt == 0 && l.price(t) == 0 && l.keyOf(b, t) == key
	}
	l.waiting.Take(maxBatch-1, joins, func(t *graph.Task) {
		if g := l.board(t); g != nil {
			l.group = append(l.group, g)
		}
	})
}

// keyOf returns the batch key of t.
func (l *launcher) keyOf(b *versions.Batch, t *graph.Task) any {
	l.call.Params, l.call.Args = t.Params, t.Values(l.call.Args[:0])
	key := batchKey(b, &l.call)
	clear(l.call.Args)
	l.call.Params = nil
	return key
}

// batchKey returns the key of a call; nil if the call is invalid, which it will report when it
// runs.
func batchKey(b *versions.Batch, call *versions.Call) (key any) {
	defer func() {
		if recover() != nil {
			key = nil
		}
	}()
	return b.Key(call)
}

// depart starts the group: flights of the first one's version in one batch, the others one by one,
// and all one by one if the device declines the batch.
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
			l.started(all[n-1])
		case errors.As(err, &panicked): // some may have begun
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
			l.started(f[0])
		}
	}
}

// started counts a batch whose last flight is f. The flights of a batch end together, so the end of
// f stands for all.
func (l *launcher) started(f *flight) {
	f.last = true
	l.flying++
}

// invoke starts the calls of flights in one batch, and turns a panic into an error.
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

// unstarted concludes an attempt whose call the device has not started. If the device turns out to
// be unable to run it, because it has less memory than expected, another worker runs the task, and
// this does not count as an attempt.
func (l *launcher) unstarted(f *flight, err error) {
	t := f.task
	if l.Lost() != nil || l.Accepts(t) == nil {
		l.finish(f, err)
		return
	}
	f.Anew(t, f.finish(err))
	l.flights.put(f)
	l.Runtime.Refuse(t)
}

// collect concludes the calls that have ended. It waits for the first at most for the given time.
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

// finish concludes an attempt that has ended with err. Freed tasks go to the runtime at once: the
// device may run them next.
func (l *launcher) finish(f *flight, err error) {
	t, lost, again := f.task, err != nil && l.Lost() != nil, false
	err = f.finish(err)
	freed := l.freed
	if lost {
		freed = l.forsake(f, err, freed)
	} else {
		freed, again = f.Conclude(t, err, freed)
	}
	l.flights.put(f)
	switch {
	case !again:
		l.release(freed)
	case t.Attempt > 1: // the first retry stays here; later ones go to another worker
		l.Runtime.Refuse(t)
	default:
		l.waiting.Add(t)
	}
}

// forsake hands on a task that was on the device when it was lost: another worker begins it anew,
// which is no further attempt. If an input that was not saved is lost as well, the task fails.
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

// release gives the runtime the tasks that an ended task of this worker has freed.
func (l *launcher) release(freed []*graph.Task) {
	l.Runtime.Push(freed)
	clear(freed)
	l.freed = freed[:0]
}
