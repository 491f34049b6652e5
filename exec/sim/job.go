package sim

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
)

// begin makes the job ready for its first task.
func (j *job) begin(w *world, ctx context.Context, by *parent, c *clock) {
	if ctx == nil {
		ctx = context.Background()
	}
	w.jobs++
	j.w, j.ctx, j.id, j.by, j.clock = w, ctx, w.jobs, by, c
	j.graph.Owner, j.graph.Pool = j, &w.tasks
	j.graph.Failed = func(what string, f *graph.Fault) {
		w.fail(&exec.TaskError{Task: f.Task, Op: what, Worker: -1, Err: f.Err})
	}
	if w.rec != nil {
		w.rec.follow(j)
	}
}

// admit waits, if the window is full, until a quarter of it is free.
func (j *job) admit() error {
	w := j.w
	if window := w.opt.Window; j.count-j.done >= window {
		goal, began := j.count-window+(window+3)/4, w.now
		if j.by == nil {
			w.paused, w.pause = true, began
		}
		j.await(func() bool { return j.done >= goal })
		if j.by == nil {
			w.paused, w.full = false, w.full+w.now-began
		}
		if w.rec != nil {
			w.rec.pauses = append(w.rec.pauses, trace.Pause{Job: j.id, Start: duration(began), End: duration(w.now)})
		}
	}
	return j.Err()
}

// await handles events until condition() holds.
func (j *job) await(condition func() bool) {
	if j.by != nil {
		for !condition() && j.Err() == nil {
			j.by.pause(condition)
		}
		return
	}
	for !condition() && j.Err() == nil && j.w.step() {
	}
}

// until waits for the time at.
func (j *job) until(at float64) {
	if j.by == nil {
		j.w.until(at)
	} else if at > j.w.now {
		j.w.calendar.schedule(at, j.by, 0)
		j.await(func() bool { return j.w.now >= at })
	}
}

// changed resumes the parent's body if its condition holds now.
func (j *job) changed() {
	if j.by != nil {
		j.by.wake()
	}
}

// finish waits until all tasks have ended.
func (j *job) finish() {
	if j.graph.Open() {
		j.graph.Seal()
	}
	j.await(func() bool { return j.done == j.count })
	if j.done == j.count {
		j.graph.Release()
	}
}

// end ends a task, and appends the tasks that become ready to freed.
func (j *job) end(t *graph.Task, freed []*graph.Task) []*graph.Task {
	witness := t.Witness()
	freed = j.graph.End(t, graph.Done, nil, freed)
	j.done++
	if witness != nil {
		witness.Ended(nil)
	}
	j.changed()
	return j.arrived(freed)
}

// arrived calls the watches among ready tasks, and returns the other tasks and those that the
// watches' ends make ready.
func (j *job) arrived(ready []*graph.Task) []*graph.Task {
	for i := 0; i < len(ready); {
		t := ready[i]
		w := t.Watch()
		if w == nil {
			if j.w.rec != nil {
				t.SetReadyAt(duration(j.w.now))
			}
			i++
			continue
		}
		w.Done(t.Tainted())
		ready = append(ready[:i], ready[i+1:]...)
		ready = j.graph.End(t, graph.Done, nil, ready)
	}
	return ready
}

// WaitOn implements [exec.Job].
func (j *job) WaitOn(d *graph.Datum) (err error) {
	got := false
	j.Notify(d, func(e error) {
		got, err = true, e
		j.changed()
	})
	j.await(func() bool { return got })
	return errors.Join(err, j.Err())
}

// Notify implements [exec.Job].
func (j *job) Notify(d *graph.Datum, done func(error)) {
	t, ready := j.graph.AddWatch(d, &graph.Watch{Done: func(f *graph.Fault) { done(f.Cause()) }})
	if ready {
		if freed := j.arrived([]*graph.Task{t}); len(freed) > 0 {
			j.ready(freed)
		}
	}
}

// Err implements [exec.Job].
func (j *job) Err() error {
	switch {
	case j.ctx.Err() != nil:
		return context.Cause(j.ctx)
	case j.w.closed:
		return exec.ErrClosed
	}
	return j.w.err
}

// Completed implements [exec.Job].
func (j *job) Completed() int { return j.done }

// Ignored implements [exec.Job].
func (j *job) Ignored() int { return 0 }

// Copies implements [exec.Job].
func (j *job) Copies() graph.Copies { return j.graph.Copies() }

// Story implements [exec.Job].
func (j *job) Story(id graph.TaskID) (exec.Story, error) {
	return exec.Story{}, &exec.NoStoryError{Task: id}
}
