package exec

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// job is a [Job] of a Local runtime.
type job struct {
	rt   *Local
	id   uint64
	ctx  context.Context
	over <-chan struct{} // ctx.Done()
	// stopWatching ends the watch on ctx.
	stopWatching func() bool

	// last is the number of the last task that may start: the smallest one
	// that failed, or 0 when everything is to be cancelled.
	last atomic.Uint64

	_      [64]byte // what workers read for each task comes before, what Submit writes after
	submit struct {
		sync.Mutex // held before every other lock
		count      int64
		ended      int64 // of these, as far as Submit has seen
		enlisted   bool
		active     bool // since Submit nobody has waited: counts in Local.submitting
		one        [1]*graph.Task
		graph      graph.Graph
	}

	outcome struct {
		sync.Mutex              // a leaf
		fault      *graph.Fault // the smallest failure, or why all was cancelled
		aborted    *graph.Fault
		ignored    int
	}

	adopter   *job         // of the task whose children these are, if they are
	used      atomic.Bool  // accelerators may have some of its data
	submitted atomic.Int64 // submit.count for the watchdog, if there is one

	stories *stories
	budget  versions.Budget // for exploring versions
	parent  *worker         // that executes the task whose children these are, if they are

	backlog backlog

	_    [64]byte
	done atomic.Int64 // tasks ended
	goal atomic.Int64 // when done reaches it, somebody wants to know
	_    [48]byte
	news struct {
		sync.Mutex // a leaf
		sync.Cond
		drained   func() // called once when done reaches drainGoal
		drainGoal int64
	}
}

func newJob(l *Local, ctx context.Context) *job {
	if ctx == nil {
		ctx = context.Background()
	}
	j := &job{rt: l, id: l.jobs.Add(1), ctx: ctx, over: ctx.Done()}
	began := time.Now()
	j.budget.Elapsed = func() float64 { return time.Since(began).Seconds() }
	j.news.L = &j.news.Mutex
	j.submit.graph.Owner = j
	j.submit.graph.Failed = j.broken
	j.submit.graph.Pool = &l.tasks
	j.last.Store(math.MaxUint64)
	j.goal.Store(math.MaxInt64)
	if n := l.opt.Stories; n > 0 {
		j.stories = newStories(n)
		j.submit.graph.Observer = j.stories
	}
	if r := l.opt.Recorder; r != nil {
		j.submit.graph.Clock = r.Now
		if r.Dependencies {
			j.submit.graph.Log = edgeLog(r, j.id)
		}
	}
	return j
}

// jobOf returns the job of a task.
func jobOf(t *graph.Task) *job { return t.Graph().Owner.(*job) }

// Submit implements [Job].
func (j *job) Submit(s *graph.Spec) (graph.TaskID, error) {
	j.submit.Lock()
	defer j.submit.Unlock()
	if err := j.admit(); err != nil {
		return 0, err
	}
	s.Check()
	if err := j.checkConstraints(s); err != nil {
		return 0, err
	}
	j.checkRestorable(s)
	if j.stories != nil {
		j.stories.submitted(graph.TaskID(j.submit.count+1), s)
	}
	if j.parent == nil && j.postpone(s) {
		j.counted()
		return graph.TaskID(j.submit.count), nil
	}
	j.settle()
	t, ready := j.submit.graph.Add(s)
	j.counted()
	j.backlog.base++
	id := t.ID()
	if r := j.rt.opt.Recorder; r != nil {
		r.CountSubmitted(1)
	}
	if ready {
		if r := j.rt.opt.Recorder; r != nil {
			r.CountReady(1)
		}
		j.tell(t, graph.Ready, -1, "", nil)
		j.submit.one[0] = t
		j.rt.enqueue(j.submit.one[:])
	}
	return id, nil
}

// counted counts a task that has been submitted. The caller holds submit.
func (j *job) counted() {
	j.submit.count++
	if !j.submit.active {
		j.submit.active = true
		j.rt.submitting.Add(1)
	}
	if j.rt.dog != nil {
		j.submitted.Store(j.submit.count)
	}
}

// rests notes that who submits is about to wait for tasks. The caller holds submit.
func (j *job) rests() {
	if j.submit.active {
		j.submit.active = false
		j.rt.submitting.Add(-1)
	}
}

// admit waits for room in the window. The caller holds submit.
func (j *job) admit() error {
	if j.last.Load() <= uint64(j.submit.count) {
		return j.Err()
	}
	if !j.submit.enlisted {
		if err := j.enlist(); err != nil {
			return err
		}
	}
	window := int64(j.rt.opt.Window)
	if j.submit.count-j.submit.ended < window {
		return nil
	}
	// Workers write done all the time: to look at it costs a cache miss.
	if j.submit.ended = j.done.Load(); j.submit.count-j.submit.ended >= window {
		// Waking the submitter for every task that ends would cost a thread
		// switch each: let a quarter of the window run empty first.
		resume := j.rt.pause(j.id)
		goal := j.submit.count - window + (window+3)/4
		j.idle(func() { j.waitDone(goal) })
		resume()
		if j.last.Load() <= uint64(j.submit.count) {
			return j.Err()
		}
	}
	return nil
}

// enlist tells the runtime that the job is about to have tasks in flight, and
// watches the context from now on. The caller holds submit.
func (j *job) enlist() error {
	if err := j.ctx.Err(); err != nil {
		j.abort(context.Cause(j.ctx))
		return j.Err()
	}
	if err := j.rt.enlist(j); err != nil {
		j.abort(err)
		return j.Err()
	}
	j.submit.enlisted = true
	j.stopWatching = context.AfterFunc(j.ctx, func() { j.abort(context.Cause(j.ctx)) })
	return nil
}

// Wait implements [Job].
func (j *job) Wait() error {
	j.submit.Lock()
	if j.submit.graph.Open() {
		j.settle()
		j.submit.graph.Seal()
	}
	over := j.done.Load() == j.submit.count
	j.rests()
	j.submit.Unlock()
	if !over {
		j.idle(j.drain)
	}
	j.submit.Lock()
	defer j.submit.Unlock()
	j.flush()
	if j.submit.enlisted && j.done.Load() == j.submit.count {
		if j.parent != nil && j.Err() == nil {
			j.putBack()
		}
		j.submit.enlisted = false
		j.stopWatching()
		j.rt.delist(j)
		j.giveBack()
		j.submit.graph.Release()
	}
	return j.Err()
}

// idle calls f, which waits for tasks of the job. The parent of children lends
// its cores to them meanwhile.
func (j *job) idle(f func()) {
	w := j.parent
	if w == nil {
		f()
		return
	}
	if d := w.rt.dog; d != nil {
		defer d.excuse(w)()
	}
	w.yield(f)
}

// drain waits for every task submitted so far.
func (j *job) drain() {
	j.submit.Lock()
	n := j.submit.count
	j.submit.Unlock()
	j.waitDone(n)
}

// WaitOn implements [Job].
func (j *job) WaitOn(d *graph.Datum) error {
	got := make(chan *graph.Fault, 1)
	j.watch(d, func(f *graph.Fault) {
		if f == nil {
			f = j.rt.bring(d) // before a later task can write it
		}
		got <- f
	})
	var f *graph.Fault
	select {
	case f = <-got:
	default:
		j.idle(func() { f = <-got })
	}
	if f != nil {
		return f.Err
	}
	return nil
}

// watch has done called when the latest version of d is there, or cannot be
// made.
func (j *job) watch(d *graph.Datum, done func(*graph.Fault)) {
	j.submit.Lock()
	defer j.submit.Unlock()
	j.settle()
	t, ready := j.submit.graph.AddWatch(d, &graph.Watch{Done: done})
	if ready {
		freed := j.arrived(nil, []*graph.Task{t})
		j.rt.enqueue(freed)
	}
}

// Err implements [Job].
func (j *job) Err() error {
	j.outcome.Lock()
	defer j.outcome.Unlock()
	switch {
	case j.outcome.fault != nil:
		return j.outcome.fault.Err
	case j.outcome.aborted != nil:
		return j.outcome.aborted.Err
	}
	return nil
}

// Ignored implements [Job].
func (j *job) Ignored() int {
	j.outcome.Lock()
	defer j.outcome.Unlock()
	return j.outcome.ignored
}

// Copies implements [Job].
func (j *job) Copies() graph.Copies { return j.submit.graph.Copies() }

// Completed implements [Job].
func (j *job) Completed() int { return int(j.done.Load()) }

// waitDone waits until goal tasks have ended.
func (j *job) waitDone(goal int64) {
	if j.done.Load() >= goal {
		return
	}
	j.news.Lock()
	for {
		// Several may wait, for unlike goals: the smallest stands.
		if goal < j.goal.Load() {
			j.goal.Store(goal)
		}
		if j.done.Load() >= goal {
			break
		}
		j.news.Wait()
	}
	j.news.Unlock()
}

// ended counts a task that has ended.
func (j *job) ended() {
	if j.done.Add(1) < j.goal.Load() {
		return
	}
	j.news.Lock()
	j.goal.Store(math.MaxInt64) // whoever still waits sets it again
	drained := j.news.drained
	if drained != nil {
		// The goal first: who ends a task after this look at done sees it.
		j.goal.Store(j.news.drainGoal)
		if j.done.Load() < j.news.drainGoal {
			drained = nil
		} else {
			j.news.drained = nil
		}
	}
	j.news.Broadcast()
	j.news.Unlock()
	if drained != nil {
		drained()
	}
}

// abort cancels what has not started.
func (j *job) abort(cause error) {
	j.outcome.Lock()
	if j.outcome.aborted == nil {
		j.outcome.aborted = &graph.Fault{Err: cause}
	}
	j.last.Store(0)
	j.outcome.Unlock()
}

// cancelled returns why t must not run, nil if it may.
func (j *job) cancelled(t *graph.Task) *graph.Fault {
	if f := t.Tainted(); f != nil {
		// The fault may be that of an earlier job on the same data.
		j.outcome.Lock()
		if j.outcome.fault == nil {
			j.outcome.fault = f
		}
		j.outcome.Unlock()
		return f
	}
	if uint64(t.ID()) <= j.last.Load() {
		if j.over == nil {
			return nil
		}
		select {
		case <-j.over: // the watch may come late when all cores are busy
			j.abort(context.Cause(j.ctx))
		default:
			return nil
		}
	}
	j.outcome.Lock()
	defer j.outcome.Unlock()
	if j.outcome.fault != nil {
		return j.outcome.fault
	}
	return j.outcome.aborted
}

// fail records that t has failed for good and does what its policy says.
func (j *job) fail(w *site, t *graph.Task, version string, err error, freed []*graph.Task) []*graph.Task {
	action := graph.Fail
	if t.Failure() != nil {
		action = t.Failure().Then
	}
	if action == graph.Ignore {
		j.outcome.Lock()
		j.outcome.ignored++
		j.outcome.Unlock()
		j.tell(t, graph.Failed, w.info.ID, version, err)
		return j.end(w, t, graph.Done, nil, freed)
	}
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
		j.abort(context.Cause(j.ctx))
	}
	// And so it is if the end has kept the task from another attempt.
	if retriable(t, err) && j.last.Load() == 0 {
		late = true
	}
	j.outcome.Lock()
	if late {
		f = j.outcome.aborted
	}
	if !late && (j.outcome.fault == nil || f.Task < j.outcome.fault.Task) {
		j.outcome.fault = f
	}
	if id := uint64(t.ID()); action == graph.Fail && id < j.last.Load() {
		j.last.Store(id)
	}
	j.outcome.Unlock()
	j.tell(t, graph.Failed, w.info.ID, version, err)
	return j.end(w, t, graph.Failed, f, freed)
}

// broken records that a function of the program that the graph calls has
// panicked.
func (j *job) broken(what string, f *graph.Fault) {
	f.Err = &TaskError{Task: f.Task, Op: what, Worker: -1, Err: f.Err}
	j.outcome.Lock()
	if j.outcome.fault == nil || f.Task < j.outcome.fault.Task {
		j.outcome.fault = f
	}
	j.outcome.Unlock()
}

// end takes t, which was executed at w, out of the graph and appends what it has freed
// to freed.
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
	n := len(freed)
	freed = j.submit.graph.End(t, state, f, freed)
	if r := freed[n:]; len(r) > 0 {
		freed = append(freed[:n], j.arrived(w, r)...)
	}
	j.ended()
	return freed
}

// arrived notifies the watches among tasks that have become ready and returns
// the others, with what the watches' ends have freed. It is called at w, if that is
// not nil.
func (j *job) arrived(w *site, ready []*graph.Task) []*graph.Task {
	if r := j.rt.opt.Recorder; r != nil && len(ready) > 0 {
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
