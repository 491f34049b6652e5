package exec

import (
	"runtime/debug"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// worker executes tasks on cores, one at a time. Others know it by its seat, versions by
// the parent that it is to their call.
//
// It is one goroutine, with a thread of its own that is pinned to its cores. A task that
// waits inside keeps that goroutine; a substitute, a worker with the same slot, executes
// other tasks on the cores until the first one wants them back.
type worker struct {
	seat
	parent                 // the task that it executes
	all    *sync.WaitGroup // all workers of the runtime

	work  versions.Workspace
	team  *team         // that it has joined
	lead  *team         // of the task that it executes
	spent time.Duration // on that task, beyond the time that it took
	freed []*graph.Task

	delays *topo.Delays // of its thread, while that is pinned
}

// newWorker returns a worker for a slot, one of those that running counts.
func newWorker(s *scheduler, d *dog, at site, in *slot, running *sync.WaitGroup) *worker {
	w := &worker{seat: seat{site: at, slot: in, wake: make(chan struct{}, 1)}, all: running}
	w.rt, w.dog, w.at = s, d, &w.site
	w.parent.seat, w.yields, w.call.Task = &w.seat, w.yield, &w.parent
	return w
}

// loop is the goroutine of a worker: it asks the scheduler for something to do, and waits
// there if there is nothing, until the runtime is closed or somebody else gets the slot.
func (w *worker) loop() {
	release := func() {}
	if w.info.CPUs != nil {
		// A worker that cannot be pinned, because the mask of the process has
		// changed since the machine was read, runs unpinned rather than not
		// at all. After a Goexit the thread ends with the goroutine, which
		// does not come to release it: nobody inherits the pinning.
		release, _ = topo.Lock(w.info.CPUs...)
		w.delays = topo.ThreadDelays()
	}
	defer w.survive()
	w.freed = w.freed[:0]
	for {
		x := w.rt.exchange(&w.seat, w.freed)
		if !x.found() {
			w.forget()
			x = w.rt.await(&w.seat)
			if w.rt.lonely {
				w.pace.begins(&w.rt.opt.tempo)
			}
		}
		w.freed = w.freed[:0]
		switch {
		case x.task != nil:
			w.freed = w.execute(x.task, w.freed)
		case x.team != nil:
			w.team = x.team
			w.team.serve(&w.seat)
			w.team = nil
		default: // the end; a substitute lives for moments, and its scratch memory may be large
			w.forget()
			w.work, w.part = versions.Workspace{}, versions.Workspace{}
			w.rt.solo.resign(&w.seat)
			release()
			x.heir.rouse()
			w.all.Done()
			return
		}
	}
}

// survive continues the worker on a new goroutine when a task, or its part in
// a team's, has ended the old one by runtime.Goexit. That cannot be recovered from, only
// noticed: w.task is still set. The task has failed, and is concluded as any other.
func (w *worker) survive() {
	w.delays.Close()
	w.delays = nil
	switch {
	case w.team != nil:
		w.team = nil
	case w.task == nil:
		return
	default:
		w.rt.enqueue(w.fell())
	}
	w.freed = w.freed[:0]
	go w.loop()
}

// fell concludes the task that has ended its goroutine, and returns what that has freed.
func (w *worker) fell() []*graph.Task {
	t := w.task
	w.task = nil
	w.dismiss()
	var err error = &PanicError{Stack: debug.Stack()}
	if !w.unseen(t) {
		err = w.ends(t, time.Since(w.start), err)
	}
	w.disown(err)
	w.learn(0, err)
	freed, again := w.conclude(t, err, w.freed[:0])
	if again {
		freed = append(freed, t)
	}
	return freed
}

// execute runs t, or cancels it if it must not run, and appends the tasks
// that it has freed to freed.
//
//	passOn ─► open ─► reserve ─► run ─► conclude ─► ended
//	   │       │         │        │        └─► again: here, or at the next worker
//	   │       │         │        ├─► later: the last child concludes it
//	   │       │         │        └─► gaveWay: it goes on when the policy says so
//	   │       │         └─► later: it waits for memory
//	   │       └─► ended: it is cancelled, or no version can run here
//	   └─► another worker has it
func (w *worker) execute(t *graph.Task, freed []*graph.Task) []*graph.Task {
	// Under a policy that does not sort by kind, a worker may get what it cannot run.
	if w.rt.picky && w.rt.passOn(t, w.info.ID) {
		return freed
	}
	for {
		freed, ok := w.open(t, &w.work, freed)
		if !ok {
			return freed
		}
		// Few tasks say what memory they need: the others do not ask.
		if v := w.choice.Version; v.Constraints.Memory > 0 || v.Memory != nil || t.Constraints() != nil {
			later, err := w.rt.reserve(&w.seat, t, w.needs(t))
			if later || err != nil {
				w.learn(0, errNotRun)
			}
			if later {
				return freed
			}
			if err != nil {
				return jobOf(t).fail(w.attempt.at, t, "", err, freed)
			}
		}
		later, err := w.run(t)
		if later {
			return freed
		}
		if err == ErrUnfinished {
			w.gaveWay(t)
			return freed
		}
		freed, again := w.conclude(t, err, freed)
		if !again {
			return freed
		}
		// The first retry stays here; later ones go to another worker.
		if t.Attempt > 1 && w.rt.hosts > 1 {
			w.rt.redirect(t, w.info.ID)
			return freed
		}
	}
}

// gaveWay puts t, whose turn has ended and which is to go on, among the ready tasks again.
func (w *worker) gaveWay(t *graph.Task) {
	j := jobOf(t)
	j.tell(t, graph.Ready, w.info.ID, w.choice.Version.Name, nil)
	t.SetState(graph.Ready)
	if w.tally != nil {
		w.tally.Forsaken()
		t.SetReadyAt(w.rt.opt.Recorder.Now())
	}
	w.rt.push([]*graph.Task{t}, dispatch.GaveWay)
}

// run runs the chosen version once. Later means that children of the task will end
// it. Observers of attempts are told of the call and not of the children. The selector
// learns how long both have taken, because that is what the choice of the version costs.
func (w *worker) run(t *graph.Task) (later bool, err error) {
	t.SetState(graph.Running)
	// Without anybody who wants to know, the clock is read once in a stretch of tasks.
	if w.unseen(t) {
		x := t.Witness()
		if x != nil {
			w.start = time.Now()
		}
		if w.pace.left--; w.pace.left < 0 && w.rt.lonely {
			err = w.timed(t)
		} else {
			err = w.invoke(t)
		}
		if x != nil {
			w.witnessed(x, time.Since(w.start), err)
		}
		return w.family(t, err, false)
	}
	late, faults := w.held()
	w.starts(t)
	err = w.invoke(t)
	if w.limit > 0 { // the context of the children ends with this call
		_, err = w.family(t, err, true)
	}
	err = w.ends(t, time.Since(w.start), err)
	if later, err = w.family(t, err, false); !later { // else it is learned at the end
		took := time.Since(w.start)
		lateNow, faultsNow := w.held()
		// What another program has had of the core says nothing of the version, and what
		// memory costs that is touched for the first time little of its next run.
		if faultsNow > faults {
			w.choice = w.choice.WarmUp()
		}
		w.learn(max(took-(lateNow-late), 0)+w.spent, err)
	}
	return later, err
}

// held returns how long others have had the worker's core while it had something to do, and
// how many page faults its thread has had, if that matters.
func (w *worker) held() (late time.Duration, faults int64) {
	if !w.choice.Timed {
		return 0, 0
	}
	return w.delays.Now(), w.delays.Faults()
}

// invoke calls the version and turns a panic into an error: the process and the worker go
// on.
func (w *worker) invoke(t *graph.Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
			w.task = nil
		}
	}()
	// As long as task is set a Goexit is the task's: see survive.
	w.task, w.spent = t, 0
	if v := w.choice.Version; v.Constraints.Units > 1 || v.Help != nil && w.rt.hosts > 1 {
		w.forms(v)
		defer w.dismiss()
	}
	err = w.choice.Version.Run(&w.call)
	w.task = nil
	return err
}

// timed is invoke for the last task of a stretch: see [pace].
func (w *worker) timed(t *graph.Task) error {
	start := time.Since(epoch)
	err := w.invoke(t)
	if w.pace.judges(&w.rt.opt.tempo, start, time.Since(epoch), w.rt.solo.one.Load() == &w.seat) {
		w.rt.solo.resign(&w.seat)
	}
	return err
}

// forms makes w the leader of a team for its call of v, if that has several units: those
// that the version asks for or, for this call, says it could share; and if it asks for
// none, those that could help with it.
func (w *worker) forms(v *versions.Version) {
	units, stays := v.Constraints.Units, true
	if v.Help != nil && w.rt.hosts > 1 {
		if n, stay := v.Help(&w.call); stay || units <= 1 {
			units, stays = max(units, n), stay
		}
	}
	if units > 1 {
		w.leads(int32(min(units, w.rt.hosts)-1), stays)
	}
}

// leads makes a team under w, with so many members at most.
func (w *worker) leads(limit int32, stays bool) {
	t := &team{leader: &w.seat, limit: limit, stays: stays, timed: !stays && w.choice.Timed, offers: &w.rt.offers, host: w.rt}
	if w.record != nil {
		t.share = trace.EventOf(w.doing.Job, w.task)
		t.share.Version, t.share.Submitted, t.share.Ready = w.doing.Version, 0, 0 // members did not wait for it
	}
	w.lead, w.call.Gang = t, t
	t.opens()
}

// dismiss ends the team that w leads, if any. What members have spent on the task counts
// as its time: the selector compares work, not how many were free to help.
func (w *worker) dismiss() {
	if t := w.lead; t != nil {
		w.lead, w.call.Gang = nil, nil
		w.spent = t.ends()
	}
}

// yield lets a substitute have w's slot while f waits, and takes it back when
// the substitute has ended its task.
//
// Members that stay with w's team go their ways meanwhile: if they waited for its
// next part, all workers could come to wait for tasks that wait for others.
func (w *worker) yield(f func()) {
	w.rt.solo.resign(&w.seat)
	if t := w.lead; t != nil && t.stays {
		w.dismiss()
		defer w.leads(t.limit, true)
	}
	s := newWorker(w.rt, w.dog, w.site, w.slot, w.all)
	w.all.Add(1)
	go s.loop()
	defer w.returns()
	w.rt.lend(&w.seat, f)
}

// returns waits until w has its slot again. Nobody else runs on its cores then.
func (w *worker) returns() {
	w.rt.reclaim(&w.seat)
	if w.running != nil && w.task != nil { // the substitute has said what it was at
		w.running(w.doing, false)
	}
}
