package exec

import (
	"context"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Submit implements [Job]. The task goes into the graph and, if it is ready, to the scheduler.
func (j *job) Submit(s *graph.Spec) (graph.TaskID, error) {
	id, _, err := j.add(s, false)
	return id, err
}

// add submits a task. If here is set and the task is ready, add returns it as mine instead of
// handing it to the scheduler: the caller executes it.
func (j *job) add(s *graph.Spec, here bool) (_ graph.TaskID, mine *graph.Task, _ error) {
	j.submit.Lock()
	defer j.submit.Unlock()
	if err := j.admit(); err != nil {
		return 0, nil, err
	}
	// A wrong spec is found before anything has changed.
	s.Check()
	if err := j.checkRunnable(s); err != nil {
		return 0, nil, err
	}
	t, ready := j.submit.graph.Add(s)
	id := t.ID()
	j.noteAdded(t, ready)
	if ready && here {
		j.stopSubmitting()
		return id, t, nil
	}
	if ready {
		j.enqueue(t)
	}
	return id, nil, nil
}

// checkRunnable returns why no worker can ever run a task with the spec s, nil if one can. It panics if
// a task with s cannot be retried although s says so. The caller holds submit.
func (j *job) checkRunnable(s *graph.Spec) error {
	if err := j.sched.kinds.admits(s); err != nil {
		return err
	}
	checkRestorable(s, j.adopter != nil)
	if j.stories != nil {
		j.stories.Submitted(graph.TaskID(j.submit.count+1), s)
	}
	return nil
}

// noteAdded counts t, which has been added to the graph, and marks the job as active: see
// scheduler.worthLingering. The caller holds submit.
func (j *job) noteAdded(t *graph.Task, ready bool) {
	j.submit.count++
	if !j.submit.active {
		j.submit.active = true
		j.sched.submitting.Add(1)
	}
	if j.sched.opt.Watchdog != nil {
		j.submitted.Store(j.submit.count)
	}
	if r := j.sched.opt.Recorder; r != nil {
		r.CountSubmitted(1)
		if ready {
			r.CountReady(1)
		}
	}
	if ready {
		j.addStep(t, graph.Ready, -1, "", nil)
	}
}

// enqueue hands t, which is ready as it is submitted, to the scheduler. The caller holds submit.
func (j *job) enqueue(t *graph.Task) {
	j.submit.one[0] = t
	j.sched.enqueue(j.submit.one[:])
}

// stopSubmitting notes that the submitter is about to wait for tasks. The caller holds submit.
func (j *job) stopSubmitting() {
	if j.submit.active {
		j.submit.active = false
		j.sched.submitting.Add(-1)
	}
}

// admit waits until the window has room for another task. The error says why the job takes no more
// tasks: it has failed or is cancelled, or the runtime is closed. The caller holds submit.
func (j *job) admit() error {
	if err := j.checkOpen(); err != nil {
		return err
	}
	window := int64(j.sched.opt.Window)
	if j.submit.count-j.submit.ended < window {
		return nil
	}
	// Workers write done all the time, so reading it is a cache miss: it is read only when needed.
	if j.submit.ended = j.endings.done.Load(); j.submit.count-j.submit.ended >= window {
		// Waking the submitter costs a thread switch. So it sleeps until a quarter of the window is
		// free.
		resume := recordPause(j.sched.opt.Recorder, j.id)
		goal := j.submit.count - window + (window+3)/4
		j.await(func() { j.endings.wait(goal) })
		resume()
		if !j.outcome.GoesOn(graph.TaskID(j.submit.count + 1)) {
			return j.Err()
		}
	}
	return nil
}

// checkOpen returns the job's error if the job takes no more tasks. It enlists the job if no task of
// it is in flight. The caller holds submit.
func (j *job) checkOpen() error {
	if !j.outcome.GoesOn(graph.TaskID(j.submit.count + 1)) {
		return j.Err()
	}
	if !j.submit.enlisted {
		return j.enlist()
	}
	return nil
}

// enlist puts the job on the runtime's list and watches the job's context until Wait finds that all
// tasks have ended. The error, the context's or ErrClosed, becomes the job's. The caller holds
// submit.
func (j *job) enlist() error {
	if err := j.ctx.Err(); err != nil {
		j.outcome.Abort(context.Cause(j.ctx))
		return j.Err()
	}
	if err := j.jobs.enlist(j); err != nil {
		j.outcome.Abort(err)
		return j.Err()
	}
	j.submit.enlisted = true
	j.stopWatching = context.AfterFunc(j.ctx, func() { j.outcome.Abort(context.Cause(j.ctx)) })
	return nil
}

// Wait implements [Job]. When all tasks have ended it fetches values from devices and returns the
// graph's memory to the runtime's pool. If several goroutines wait, one of them does so.
func (j *job) Wait() error {
	j.submit.Lock()
	if j.submit.graph.Open() {
		j.submit.graph.Seal()
	}
	// If all have ended already, a parent need not lend its cores.
	over := j.endings.done.Load() == j.submit.count
	j.stopSubmitting()
	j.submit.Unlock()
	if !over {
		j.await(j.drain)
	}
	j.submit.Lock()
	defer j.submit.Unlock()
	j.flush()
	// Another goroutine may have submitted more since: then the job stays enlisted.
	if j.submit.enlisted && j.endings.done.Load() == j.submit.count {
		if j.adopter != nil && j.Err() == nil {
			// The latest values of renamed data are in new memory: copy them to the parent's
			// values.
			j.submit.graph.PutBack(func(value, latest any) { value.(versions.Value).Restore(latest.(versions.Value)) })
		}
		j.submit.enlisted = false
		j.stopWatching()
		j.jobs.delist(j)
		j.submit.graph.Release()
	}
	return j.Err()
}

// await calls f, which waits for tasks of the job. A parent's cores are lent to others meanwhile.
func (j *job) await(f func()) {
	if j.lending != nil {
		j.lending(f)
	} else {
		f()
	}
}

// drain waits for every task submitted so far to have ended in any way.
func (j *job) drain() {
	j.submit.Lock()
	n := j.submit.count
	j.submit.Unlock()
	j.endings.wait(n)
}

// WaitOn implements [Job].
func (j *job) WaitOn(d *graph.Datum) (err error) {
	got := make(chan error, 1)
	j.Notify(d, func(err error) { got <- err })
	// Notify calls done at once if the version is there, else a worker calls it.
	select {
	case err = <-got:
	default:
		j.await(func() { err = <-got })
	}
	return err
}

// Notify implements [Job].
func (j *job) Notify(d *graph.Datum, done func(error)) {
	j.watch(d, func(f *graph.Fault) {
		if f == nil {
			f = j.sched.devices.Bring(d) // before a later task can write it
		}
		done(f.Cause())
	})
}

// watch calls done when the latest version of d has been made, or with the fault that prevents it.
// It adds a task that reads d and is never executed. done runs under submit or on a worker, and
// must not wait.
func (j *job) watch(d *graph.Datum, done func(*graph.Fault)) {
	j.submit.Lock()
	defer j.submit.Unlock()
	t, ready := j.submit.graph.AddWatch(d, &graph.Watch{Done: done})
	if ready {
		freed := j.notifyWatches(nil, []*graph.Task{t})
		j.sched.enqueue(freed)
	}
}

// flush copies the values that tasks of j have left on devices to the host, and frees them there. A
// device's error becomes the job's. The caller holds submit; flush first waits for tasks that other
// goroutines have submitted.
func (j *job) flush() {
	if !j.used.Load() {
		return
	}
	if j.endings.done.Load() < j.submit.count {
		j.await(func() { j.endings.wait(j.submit.count) })
	}
	j.used.Store(false)
	for _, d := range j.sched.devices {
		if err := d.Flush(j.id); err != nil {
			j.outcome.Abort(err)
		}
	}
}

// onDrained arranges that the worker that ends the last task submitted so far calls f. It returns
// false, without a call of f, if all have ended. No task may be submitted after it.
func (j *job) onDrained(f func()) bool {
	j.submit.Lock()
	j.submit.graph.Seal()
	j.stopSubmitting()
	goal := j.submit.count
	j.submit.Unlock()
	return j.endings.at(goal, f)
}

// cancel implements [childJob].
func (j *job) cancel(err error) { j.outcome.Abort(err) }

// release implements [childJob].
func (j *job) release() {}

// whenDone implements [childJob].
func (j *job) whenDone(f func(error)) bool { return j.onDrained(func() { f(j.Wait()) }) }

// close ends all jobs with ErrClosed and waits for their tasks. It reports whether they were closed
// before.
func (a *jobs) close() (again bool) {
	a.live.Lock()
	again = a.live.closed
	a.live.closed = true
	a.live.Unlock()
	// The list does not grow any more. All jobs are aborted before the first wait, since tasks of
	// one job may wait for tasks of another.
	all := a.alive()
	for _, j := range all {
		j.outcome.Abort(ErrClosed)
	}
	for _, j := range all {
		j.drain()
		j.submit.Lock()
		j.flush()
		j.submit.Unlock()
	}
	return again
}
