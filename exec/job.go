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
// Two sides work on it at once. The submitter (submit.go) holds the lock submit. Workers (this
// file) end tasks and take no lock of the job for it. The two sides meet in three places. The graph
// synchronizes submission and endings itself. endings counts the tasks that workers have ended,
// which opens the window for the submitter. outcome says whether further tasks may run.
//
//	idle ── Submit: enlist ──► tasks in flight ── Wait finds all ended: delist ──► idle
//
// While tasks are in flight, the job is on the runtime's list of jobs and its context is watched.
type job struct {
	sched *scheduler
	jobs  *jobs
	id    uint64
	ctx   context.Context
	ended <-chan struct{} // ctx.Done()
	// stopWatching ends the watch on ctx.
	stopWatching func() bool

	outcome graph.Outcome

	_      [64]byte // workers read what comes before for each task; Submit writes what follows
	submit struct {
		sync.Mutex // held before every other lock
		count      int64
		ended      int64 // tasks that had ended when Submit last looked
		enlisted   bool
		active     bool           // nobody has waited since the last Submit: counts in scheduler.submitting
		one        [1]*graph.Task // scratch for a task that is ready at once
		graph      graph.Graph
	}

	used      atomic.Bool  // devices may hold some of its data
	submitted atomic.Int64 // submit.count for the watchdog, if there is one

	stories *Stories
	budget  versions.Budget // for exploring versions

	// Both are set only for the children of a task: the parent's job, and a function that calls f,
	// which waits for children, while it lends the parent's cores to other workers.
	adopter *job
	lending func(f func())

	endings endings
}

// newJob returns a job without tasks.
func newJob(s *scheduler, among *jobs, ctx context.Context) *job {
	if ctx == nil {
		ctx = context.Background()
	}
	j := &job{sched: s, jobs: among, id: among.last.Add(1), ctx: ctx, ended: ctx.Done()}
	// The budget for exploring versions grows with the time since the job began.
	began := time.Now()
	j.budget.Elapsed = func() float64 { return time.Since(began).Seconds() }
	j.submit.graph.Owner = j
	j.submit.graph.Failed = j.callbackFailed
	j.submit.graph.Pool = &among.tasks
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

// Err implements [Job]. A task's failure takes precedence over the end of the context, whichever
// came first.
func (j *job) Err() error { return j.outcome.Why().Cause() }

// Ignored implements [Job].
func (j *job) Ignored() int {
	return j.outcome.Ignored()
}

// Copies implements [Job].
func (j *job) Copies() graph.Copies { return j.submit.graph.Copies() }

// Completed implements [Job].
func (j *job) Completed() int { return int(j.endings.done.Load()) }

// cancelled returns why t must not run, nil if it may run: data that it reads could not be made, an
// earlier task has failed, or the job's context has ended.
func (j *job) cancelled(t *graph.Task) *graph.Fault {
	f := j.outcome.Bars(t)
	if f != nil || j.ended == nil {
		return f
	}
	select {
	case <-j.ended: // the AfterFunc may run late when all cores are busy
		j.outcome.Abort(context.Cause(j.ctx))
		return j.outcome.Bars(t)
	default:
		return nil
	}
}

// fail records that t has failed for good, applies its failure policy (graph.Failure) and ends it.
// Under graph.Ignore t counts as done. Otherwise the tasks that need its results are cancelled, and
// under graph.Fail all later tasks too. fail appends the tasks that become ready to freed.
func (j *job) fail(w *site, t *graph.Task, version string, err error, freed []*graph.Task) []*graph.Task {
	action := graph.Fail
	if t.Failure() != nil {
		action = t.Failure().Then
	}
	if action == graph.Ignore {
		j.outcome.Ignore()
		j.addStep(t, graph.Failed, w.info.ID, version, err)
		return j.end(w, t, graph.Done, nil, freed)
	}
	// The fault marks every version that t was to write, so that its readers report t's failure.
	te := &TaskError{Task: t.ID(), Op: t.Op.OpName(), Version: version, Worker: w.info.ID, Attempts: int(t.Attempt) + 1,
		Err: err}
	if version == "" { // none could be chosen, so none was run
		te.Worker, te.Attempts = -1, int(t.Attempt)
	}
	f := &graph.Fault{Task: t.ID(), Err: te}
	// A version that heeds its context returns the context's error. Then the end of the context is
	// the job's error, as for a task that has not started.
	end := j.ctx.Err()
	late := end != nil && (errors.Is(err, end) || errors.Is(err, context.Cause(j.ctx)))
	if late {
		j.outcome.Abort(context.Cause(j.ctx))
	}
	// So it is if only the end of the context prevented another attempt.
	if retriable(t, err) && j.outcome.Cancelled() {
		late = true
	}
	f = j.outcome.Fail(f, late, action == graph.Fail)
	j.addStep(t, graph.Failed, w.info.ID, version, err)
	return j.end(w, t, graph.Failed, f, freed)
}

// callbackFailed records a panic in a function of the program that the graph calls: one that combines
// copies or makes a value. The fault carries the number of the first task that needed the value.
func (j *job) callbackFailed(what string, f *graph.Fault) {
	f.Err = &TaskError{Task: f.Task, Op: what, Worker: -1, Err: f.Err}
	j.outcome.Fail(f, false, false)
}

// end takes t, which was executed at w, out of the graph. It appends the tasks that become ready to
// freed, and the caller hands them to the scheduler. Readers of what t was to write get the fault
// f. The caller holds no lock.
func (j *job) end(w *site, t *graph.Task, state graph.State, f *graph.Fault, freed []*graph.Task) []*graph.Task {
	if j.stories != nil && state != graph.Failed {
		j.addStep(t, state, -1, "", f.Cause())
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
	// End returns t's memory to the pool: t must not be used from here on.
	n := len(freed)
	freed = j.submit.graph.End(t, state, f, freed)
	if r := freed[n:]; len(r) > 0 {
		freed = append(freed[:n], j.notifyWatches(w, r)...)
	}
	if witness != nil {
		witness.Ended(f.Cause())
	}
	j.endings.add()
	return freed
}

// notifyWatches calls the watches among tasks that have become ready, and returns the other tasks and
// those that become ready by the watches' end. w is the site of the calling worker, or nil for the
// submitter, whose tasks the recorder counts for no worker.
func (j *job) notifyWatches(w *site, ready []*graph.Task) []*graph.Task {
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
	// Ending a watch may make more tasks ready. They are appended and examined in turn.
	for i := 0; i < len(ready); {
		t := ready[i]
		watch := t.Watch()
		if watch == nil {
			if j.stories != nil {
				j.addStep(t, graph.Ready, -1, "", nil)
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

// prepareRetry prepares t, whose attempt at w has failed, for another attempt: it counts the attempt and
// restores what the attempt has changed. It reports false if no attempt is left, the job does not
// go on, or the values cannot be restored.
func (j *job) prepareRetry(w *site, t *graph.Task, version string, err error) bool {
	if !retriable(t, err) || !j.outcome.GoesOn(t.ID()) {
		return false
	}
	j.addStep(t, graph.Ready, w.info.ID, version, err)
	t.Attempt++
	t.SetState(graph.Ready)
	return restore(t, j.sched.devices)
}

// Story implements [Job].
func (j *job) Story(id graph.TaskID) (Story, error) {
	if j.stories == nil {
		return Story{}, &NoStoryError{Task: id}
	}
	return j.stories.Get(id)
}

// addStep adds a step to the story of t, if stories are kept.
func (j *job) addStep(t *graph.Task, state graph.State, worker int, version string, err error) {
	if j.stories != nil {
		j.stories.Add(t.ID(), Step{State: state, Worker: worker, Version: version, Err: err}, time.Time{})
	}
}

// jobs lists the jobs of a runtime that have tasks in flight, for Close and the watchdog, and has
// the memory that one job passes on to the next.
type jobs struct {
	last  atomic.Uint64 // number of the latest job
	tasks graph.Pool    // memory for tasks, passed on from job to job
	live  struct {      // taken before the scheduler's lock, never inside it
		sync.Mutex
		jobs   map[*job]struct{} // with tasks in flight
		closed bool
	}
}

// enlist adds j, which is about to have tasks in flight. The error is ErrClosed.
func (a *jobs) enlist(j *job) error {
	a.live.Lock()
	defer a.live.Unlock()
	if a.live.closed {
		return ErrClosed
	}
	a.live.jobs[j] = struct{}{}
	return nil
}

// delist removes j, whose tasks have all ended.
func (a *jobs) delist(j *job) {
	a.live.Lock()
	delete(a.live.jobs, j)
	a.live.Unlock()
}

// alive returns the jobs that have tasks in flight.
func (a *jobs) alive() []*job {
	a.live.Lock()
	defer a.live.Unlock()
	return slices.Collect(maps.Keys(a.live.jobs))
}
