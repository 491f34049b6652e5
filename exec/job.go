package exec

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// job is a [Job] of a Local runtime.
//
// Two sides work on it at once: the submitter, under submit, and the workers, which take no
// lock of the job's to end a task. They meet in three places. The graph says itself what
// each side may do. Endings counts what workers have ended, which opens the window for
// the submitter. Outcome says how far the job may go on.
//
// A job has tasks in flight between its first Submit and the Wait that finds all of them
// ended; it is on the list of the runtime's jobs meanwhile, and its context is watched.
// After that it may begin anew.
type job struct {
	sched *scheduler
	among *jobs
	id    uint64
	ctx   context.Context
	ended <-chan struct{} // ctx.Done()
	// stopWatching ends the watch on ctx.
	stopWatching func() bool

	outcome graph.Outcome

	_      [64]byte // what workers read for each task comes before, what Submit writes after
	submit struct {
		sync.Mutex // held before every other lock
		count      int64
		ended      int64 // of these, as far as Submit has seen
		enlisted   bool
		active     bool           // since Submit nobody has waited: counts in scheduler.submitting
		one        [1]*graph.Task // room for a task that is ready at once
		graph      graph.Graph
	}

	used      atomic.Bool  // devices may have some of its data
	submitted atomic.Int64 // submit.count for the watchdog, if there is one

	stories *Stories
	budget  versions.Budget // for exploring versions

	// These are set for the children of a task: its job, and what calls a function that
	// waits for children, and lends the cores of the parent to others meanwhile.
	adopter *job
	lending func(f func())

	backlog backlog

	endings endings
}

// newJob returns a job without tasks.
func newJob(s *scheduler, among *jobs, ctx context.Context) *job {
	if ctx == nil {
		ctx = context.Background()
	}
	j := &job{sched: s, among: among, id: among.last.Add(1), ctx: ctx, ended: ctx.Done()}
	// What exploring may cost goes by how long the job has been at work.
	began := time.Now()
	j.budget.Elapsed = func() float64 { return time.Since(began).Seconds() }
	j.submit.graph.Owner = j
	j.submit.graph.Failed = j.broken
	j.submit.graph.Pool = &among.tasks
	j.backlog.graph, j.backlog.done = &j.submit.graph, &j.endings.done
	j.endings.init()
	if n := s.opt.Stories; n > 0 {
		j.stories = NewStories(n)
		j.submit.graph.Observer = j.stories
	}
	if r := s.opt.Recorder; r != nil {
		j.submit.graph.Clock = r.Now
		if r.Dependencies {
			j.submit.graph.Log = r.Follow(j.id)
		}
	}
	return j
}

// jobOf returns the job of a task.
func jobOf(t *graph.Task) *job { return t.Graph().Owner.(*job) }

// Submit implements [Job]. A task goes one of two ways: into the graph, and to the
// scheduler if it is ready, or into the backlog, while one worker executes all tasks.
func (j *job) Submit(s *graph.Spec) (graph.TaskID, error) {
	id, _, err := j.add(s, false)
	return id, err
}

// add submits a task. Here says that the caller is about to execute it or to wait for it:
// if it is ready, it is returned and not handed to the scheduler.
func (j *job) add(s *graph.Spec, here bool) (_ graph.TaskID, mine *graph.Task, _ error) {
	j.submit.Lock()
	defer j.submit.Unlock()
	if err := j.admit(); err != nil {
		return 0, nil, err
	}
	// Whatever is wrong with the spec is found before anything has changed.
	s.Check()
	if err := j.accept(s); err != nil {
		return 0, nil, err
	}
	// Children never wait in a backlog: their parent may be the worker that reads it.
	if j.adopter == nil && !here && j.sched.postpone(&j.backlog, s) {
		j.counted()
		return graph.TaskID(j.submit.count), nil, nil
	}
	j.sched.settle(&j.backlog)
	// A task that does not fit a backlog comes after all that is in it: the order of
	// submission is what dependencies follow from.
	t, ready := j.submit.graph.Add(s)
	id := t.ID()
	j.joined(t, ready)
	if ready && here {
		j.rests()
		return id, t, nil
	}
	if ready {
		j.enqueue(t)
	}
	return id, nil, nil
}

// accept returns why no worker can ever run a task with the spec s, nil if one can. It panics if
// a task with s cannot be retried although s says so. The caller holds submit.
func (j *job) accept(s *graph.Spec) error {
	if err := j.sched.kinds.admits(s); err != nil {
		return err
	}
	checkRestorable(s, j.adopter != nil)
	if j.stories != nil {
		j.stories.Submitted(graph.TaskID(j.submit.count+1), s)
	}
	return nil
}

// joined notes that t has been added to the graph. The caller holds submit.
func (j *job) joined(t *graph.Task, ready bool) {
	j.counted()
	j.backlog.base++
	if r := j.sched.opt.Recorder; r != nil {
		r.CountSubmitted(1)
		if ready {
			r.CountReady(1)
		}
	}
	if ready {
		j.tell(t, graph.Ready, -1, "", nil)
	}
}

// enqueue hands a task to the scheduler that is ready as it is submitted. The caller holds submit.
func (j *job) enqueue(t *graph.Task) {
	j.submit.one[0] = t
	j.sched.enqueue(j.submit.one[:])
}

// counted counts a task that has been submitted, and notes that more may come as long as
// nobody waits: see scheduler.worthLingering. The caller holds submit.
func (j *job) counted() {
	j.submit.count++
	if !j.submit.active {
		j.submit.active = true
		j.sched.submitting.Add(1)
	}
	if j.sched.opt.Watchdog != nil {
		j.submitted.Store(j.submit.count)
	}
}

// rests notes that the submitter is about to wait for tasks. The caller holds submit.
func (j *job) rests() {
	if j.submit.active {
		j.submit.active = false
		j.sched.submitting.Add(-1)
	}
}

// admit waits for room in the window, and returns why nothing more is taken, if that is
// so: the job has failed or is cancelled, or the runtime is closed. The caller holds
// submit.
func (j *job) admit() error {
	if err := j.goesOn(); err != nil {
		return err
	}
	window := int64(j.sched.opt.Window)
	if j.submit.count-j.submit.ended < window {
		return nil
	}
	// Workers write done all the time: to look at it costs a cache miss.
	if j.submit.ended = j.endings.done.Load(); j.submit.count-j.submit.ended >= window {
		// Waking the submitter for every task that ends would cost a thread
		// switch each: let a quarter of the window run empty first.
		resume := recordPause(j.sched.opt.Recorder, j.id)
		goal := j.submit.count - window + (window+3)/4
		j.idle(func() { j.endings.wait(goal) })
		resume()
		if !j.outcome.GoesOn(graph.TaskID(j.submit.count + 1)) {
			return j.Err()
		}
	}
	return nil
}

// goesOn returns why nothing more is taken, if that is so, and enlists the job if it has no tasks
// in flight. The caller holds submit.
func (j *job) goesOn() error {
	if !j.outcome.GoesOn(graph.TaskID(j.submit.count + 1)) {
		return j.Err()
	}
	if !j.submit.enlisted {
		return j.enlist()
	}
	return nil
}

// enlist tells the runtime that the job is about to have tasks in flight, and
// watches the context from now on, until Wait finds that all have ended. The error is the
// context's, or ErrClosed, and the job's from now on. The caller holds submit.
func (j *job) enlist() error {
	if err := j.ctx.Err(); err != nil {
		j.outcome.Abort(context.Cause(j.ctx))
		return j.Err()
	}
	if err := j.among.enlist(j); err != nil {
		j.outcome.Abort(err)
		return j.Err()
	}
	j.submit.enlisted = true
	j.stopWatching = context.AfterFunc(j.ctx, func() { j.outcome.Abort(context.Cause(j.ctx)) })
	return nil
}

// Wait implements [Job]. When all tasks have ended it tidies up: values come back from
// devices, and the graph's memory goes to the next job. Of several goroutines that wait
// one does so.
func (j *job) Wait() error {
	j.submit.Lock()
	if j.submit.graph.Open() {
		j.sched.settle(&j.backlog)
		j.submit.graph.Seal()
	}
	// Often all have ended already, and a parent need not lend its cores then.
	over := j.endings.done.Load() == j.submit.count
	j.rests()
	j.submit.Unlock()
	if !over {
		j.idle(j.drain)
	}
	j.submit.Lock()
	defer j.submit.Unlock()
	j.flush()
	// Somebody else may have submitted more since: then the job stays as it is.
	if j.submit.enlisted && j.endings.done.Load() == j.submit.count {
		if j.adopter != nil && j.Err() == nil {
			// What children have made in new memory, of data that are renamed, comes to
			// where their parent has it.
			j.submit.graph.PutBack(func(value, latest any) { value.(versions.Value).Restore(latest.(versions.Value)) })
		}
		j.submit.enlisted = false
		j.stopWatching()
		j.among.delist(j)
		j.sched.takeRing(&j.backlog)
		j.submit.graph.Release()
	}
	return j.Err()
}

// idle calls f, which waits for tasks of the job.
func (j *job) idle(f func()) {
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
	// Done is called at once if the version is there, and by a worker otherwise.
	select {
	case err = <-got:
	default:
		j.idle(func() { err = <-got })
	}
	return err
}

// Notify implements [Job].
func (j *job) Notify(d *graph.Datum, done func(error)) {
	j.watch(d, func(f *graph.Fault) {
		if f == nil {
			f = j.sched.devices.Bring(d) // before a later task can write it
		}
		if f != nil {
			done(f.Err)
		} else {
			done(nil)
		}
	})
}

// watch has done called when the latest version of d is there, or cannot be made: then
// with the reason. A watch is a task that reads d and is never executed. Done is called
// under submit or by a worker, and must not wait.
func (j *job) watch(d *graph.Datum, done func(*graph.Fault)) {
	j.submit.Lock()
	defer j.submit.Unlock()
	j.sched.settle(&j.backlog)
	t, ready := j.submit.graph.AddWatch(d, &graph.Watch{Done: done})
	if ready {
		freed := j.arrived(nil, []*graph.Task{t})
		j.sched.enqueue(freed)
	}
}

// flush has the host have everything that tasks of j have left on devices, and keeps
// nothing of it there. An error is the job's. The caller holds submit: what others have
// submitted meanwhile ends first.
func (j *job) flush() {
	if !j.used.Load() {
		return
	}
	if j.endings.done.Load() < j.submit.count {
		j.idle(func() { j.endings.wait(j.submit.count) })
	}
	j.used.Store(false)
	for _, d := range j.sched.devices {
		if err := d.Flush(j.id); err != nil {
			j.outcome.Abort(err)
		}
	}
}

// Err implements [Job]. Of a failure and the end of the context the failure counts,
// whichever came first.
func (j *job) Err() error {
	if f := j.outcome.Why(); f != nil {
		return f.Err
	}
	return nil
}

// Ignored implements [Job].
func (j *job) Ignored() int {
	return j.outcome.Ignored()
}

// Copies implements [Job].
func (j *job) Copies() graph.Copies { return j.submit.graph.Copies() }

// Completed implements [Job].
func (j *job) Completed() int { return int(j.endings.done.Load()) }

// cancelled returns why t must not run, nil if it may: what it would read was not made, a
// task before it has failed, or the job's context has ended.
func (j *job) cancelled(t *graph.Task) *graph.Fault {
	f := j.outcome.Bars(t)
	if f != nil || j.ended == nil {
		return f
	}
	select {
	case <-j.ended: // the watch may come late when all cores are busy
		j.outcome.Abort(context.Cause(j.ctx))
		return j.outcome.Bars(t)
	default:
		return nil
	}
}

// fail records that t has failed for good and does what its policy says (graph.Failure):
// it counts as done, or those that need what it writes are cancelled, and under
// graph.Fail all later ones. It appends what that has freed to freed.
func (j *job) fail(w *site, t *graph.Task, version string, err error, freed []*graph.Task) []*graph.Task {
	action := graph.Fail
	if t.Failure() != nil {
		action = t.Failure().Then
	}
	if action == graph.Ignore {
		j.outcome.Ignore()
		j.tell(t, graph.Failed, w.info.ID, version, err)
		return j.end(w, t, graph.Done, nil, freed)
	}
	// The fault goes with every version that t was to write, so that a reader of one
	// knows whose failure it is.
	te := &TaskError{Task: t.ID(), Op: t.Op.OpName(), Version: version, Worker: w.info.ID, Attempts: int(t.Attempt) + 1, Err: err}
	if version == "" { // none could be chosen, so none was run
		te.Worker, te.Attempts = -1, int(t.Attempt)
	}
	f := &graph.Fault{Task: t.ID(), Err: te}
	// A task that heeds its context fails with the context's end: that is the
	// job's error then, as it is if the task has not started.
	end := j.ctx.Err()
	late := end != nil && (errors.Is(err, end) || errors.Is(err, context.Cause(j.ctx)))
	if late {
		j.outcome.Abort(context.Cause(j.ctx))
	}
	// And so it is if the end has kept the task from another attempt.
	if retriable(t, err) && j.outcome.Cancelled() {
		late = true
	}
	f = j.outcome.Fail(f, late, action == graph.Fail)
	j.tell(t, graph.Failed, w.info.ID, version, err)
	return j.end(w, t, graph.Failed, f, freed)
}

// broken records that a function of the program that the graph calls has
// panicked, one that combines copies or makes a value. No task has failed, but what was
// to be made is not there: the number is that of the task that needed it first.
func (j *job) broken(what string, f *graph.Fault) {
	f.Err = &TaskError{Task: f.Task, Op: what, Worker: -1, Err: f.Err}
	j.outcome.Fail(f, false, false)
}

// end takes t, which was executed at w, out of the graph and appends what it has freed
// to freed: tasks that waited for it alone, which the caller has to hand to the
// scheduler. F is the fault that those get who read what t was to write. No lock is held.
func (j *job) end(w *site, t *graph.Task, state graph.State, f *graph.Fault, freed []*graph.Task) []*graph.Task {
	if j.stories != nil && state != graph.Failed {
		var err error
		if f != nil {
			err = f.Err
		}
		j.tell(t, state, -1, "", err)
	}
	if w.tally != nil {
		w.tally.Ended(t.State() == graph.Running || t.Attempt > 0)
	}
	witness := t.Witness()
	if witness != nil && j.sched.devices != nil {
		for i := range t.Len() {
			if o := t.Operand(i); o.Mode&graph.Out != 0 && f == nil {
				f = j.sched.devices.Bring(o.Datum)
			}
		}
	}
	// From here on t may be used again for another task.
	n := len(freed)
	freed = j.submit.graph.End(t, state, f, freed)
	if r := freed[n:]; len(r) > 0 {
		freed = append(freed[:n], j.arrived(w, r)...)
	}
	if witness != nil {
		var err error
		if f != nil {
			err = f.Err
		}
		witness.Ended(err)
	}
	j.endings.add()
	return freed
}

// arrived notifies the watches among tasks that have become ready and returns
// the others, with what the watches' ends have freed. It is called at w, if that is
// not nil; otherwise by the submitter, and then the recorder counts for nobody.
func (j *job) arrived(w *site, ready []*graph.Task) []*graph.Task {
	if r := j.sched.opt.Recorder; r != nil && len(ready) > 0 {
		now, tasks := r.Now(), 0
		for _, t := range ready {
			t.SetReadyAt(now)
			if t.Watch() == nil {
				tasks++
			}
		}
		if w != nil {
			w.tally.Ready(tasks)
		} else {
			r.CountReady(tasks)
		}
	}
	// The end of a watch may make others ready, which are appended and come in turn.
	for i := 0; i < len(ready); {
		t := ready[i]
		watch := t.Watch()
		if watch == nil {
			if j.stories != nil {
				j.tell(t, graph.Ready, -1, "", nil)
			}
			i++
			continue
		}
		watch.Done(t.Tainted())
		ready = append(ready[:i], ready[i+1:]...)
		ready = j.submit.graph.End(t, graph.Done, nil, ready)
	}
	return ready
}

// again decides whether t, whose attempt at w has failed, is to be run again, and
// prepares it: it counts the attempt and puts back what that has changed. If that fails,
// as a value that cannot be restored would, there is no other attempt.
func (j *job) again(w *site, t *graph.Task, version string, err error) bool {
	if !retriable(t, err) || !j.outcome.GoesOn(t.ID()) {
		return false
	}
	j.tell(t, graph.Ready, w.info.ID, version, err)
	t.Attempt++
	t.SetState(graph.Ready)
	return restore(t, j.sched.devices)
}

// drained has f called when all tasks submitted so far have ended, by the worker that
// ends the last one. It returns false, and f is not called, if they have. Nothing is
// submitted after it.
func (j *job) drained(f func()) bool {
	j.submit.Lock()
	j.submit.graph.Seal()
	j.rests()
	goal := j.submit.count
	j.submit.Unlock()
	return j.endings.at(goal, f)
}

// cancel implements [brood].
func (j *job) cancel(err error) { j.outcome.Abort(err) }

// over implements [brood].
func (j *job) over() {}

// left implements [brood]. When all have ended, Wait tidies up.
func (j *job) left(f func(error)) bool { return j.drained(func() { f(j.Wait()) }) }

// Story implements [Job].
func (j *job) Story(id graph.TaskID) (Story, error) {
	if j.stories == nil {
		return Story{}, &NoStoryError{Task: id}
	}
	return j.stories.Get(id)
}

// tell adds a step to the story of t, if stories are kept.
func (j *job) tell(t *graph.Task, state graph.State, worker int, version string, err error) {
	if j.stories != nil {
		j.stories.Add(t.ID(), Step{State: state, Worker: worker, Version: version, Err: err}, time.Time{})
	}
}

// jobs are the jobs of a runtime: those with tasks in flight, which Close has to end and
// the watchdog looks at, and what one job leaves for the next.
type jobs struct {
	last  atomic.Uint64 // the number of the latest one
	tasks graph.Pool    // memory for tasks, passed on from job to job
	live  struct {      // taken before the scheduler's lock, never inside it
		sync.Mutex
		jobs   map[*job]struct{} // with tasks in flight
		closed bool
	}
}

// enlist notes that j has tasks in flight.
func (a *jobs) enlist(j *job) error {
	a.live.Lock()
	defer a.live.Unlock()
	if a.live.closed {
		return ErrClosed
	}
	a.live.jobs[j] = struct{}{}
	return nil
}

// delist notes that j has none any more.
func (a *jobs) delist(j *job) {
	a.live.Lock()
	delete(a.live.jobs, j)
	a.live.Unlock()
}

// alive returns those with tasks in flight.
func (a *jobs) alive() []*job {
	a.live.Lock()
	defer a.live.Unlock()
	return slices.Collect(maps.Keys(a.live.jobs))
}

// close ends all jobs with ErrClosed, and reports whether that has been done before.
func (a *jobs) close() (again bool) {
	a.live.Lock()
	again = a.live.closed
	a.live.closed = true
	a.live.Unlock()
	// Nobody is added to the list any more. All are told before the first is waited for:
	// tasks of one may wait for those of another.
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
