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

// worker executes tasks on cores, one at a time. The scheduler knows it by its seat; versions see
// its parent as versions.Call.Task.
//
// It is one goroutine on a thread of its own, pinned to its cores. A task that waits keeps that
// goroutine; a substitute, a worker with the same slot, executes other tasks on the cores until the
// first worker wants them back.
type worker struct {
	seat
	parent                 // the task that it executes
	all    *sync.WaitGroup // all workers of the runtime

	work  versions.Workspace
	team  *team         // the team that it has joined
	squad *team         // of a task of several units, before its version is called
	lead  *team         // the team of the task that it executes
	spent time.Duration // members' time on the task, beyond the task's own
	freed []*graph.Task

	delays *topo.Delays // of its thread, while that is pinned
}

// newWorker returns a worker for a slot. running counts all workers.
func newWorker(s *scheduler, d *watchdog, at site, in *slot, running *sync.WaitGroup) *worker {
	w := &worker{seat: seat{site: at, slot: in, wake: make(chan struct{}, 1)}, all: running}
	w.rt, w.watchdog, w.at = s, d, &w.site
	w.parent.seat, w.yields, w.call.Task = &w.seat, w.yield, &w.parent
	return w
}

// loop is the goroutine of a worker. It takes work from the scheduler until the runtime is closed
// or another worker gets the slot.
func (w *worker) loop() {
	release := func() {}
	if w.info.CPUs != nil {
		// A worker that cannot be pinned, because the process's mask has changed since the machine
		// was read, runs unpinned. After a Goexit release is not called: the thread ends with the
		// goroutine, so no other goroutine inherits the pinning.
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
		}
		w.freed = w.freed[:0]
		switch {
		case x.task != nil:
			w.squad = x.squad
			w.freed = w.execute(x.task, w.freed)
			if w.squad != nil { // the task has not run
				w.disband()
			}
		case x.team != nil:
			w.team = x.team
			w.team.serve(&w.seat)
			w.team = nil
		default: // the end: drop scratch memory, which may be large, as a substitute lives briefly
			w.forget()
			w.work, w.part = versions.Workspace{}, versions.Workspace{}
			release()
			x.heir.rouse()
			w.all.Done()
			return
		}
	}
}

// survive continues the worker on a new goroutine when a task, or a part of a team's task, has
// ended the old one by runtime.Goexit. A Goexit cannot be recovered from, only noticed: w.task is
// still set. The task fails.
func (w *worker) survive() {
	w.delays.Close()
	w.delays = nil
	switch {
	case w.team != nil:
		w.team = nil
	case w.task == nil:
		return
	default:
		w.rt.enqueue(w.failGoexit())
	}
	w.freed = w.freed[:0]
	go w.loop()
}

// failGoexit concludes the task that has ended its goroutine by Goexit, and returns the tasks that it
// frees.
func (w *worker) failGoexit() []*graph.Task {
	t := w.task
	w.task = nil
	w.dismiss()
	var err error = &PanicError{Stack: debug.Stack()}
	if !w.unobserved(t) {
		err = w.finish(t, time.Since(w.start), err)
	}
	w.cancelChildren(err)
	w.learn(0, err)
	freed, again := w.conclude(t, err, w.freed[:0])
	if again {
		freed = append(freed, t)
	}
	return freed
}

// execute runs t, or cancels it if it must not run, and appends the tasks that become ready to
// freed.
//
//	passOn ─► open ─► reserve ─► run ─► conclude ─► ended
//	   │       │         │        │        └─► again: here, or at the next worker
//	   │       │         │        ├─► later: the last child concludes it
//	   │       │         │        └─► requeue: it goes on when the policy says so
//	   │       │         └─► later: it waits for memory, or for workers
//	   │       └─► ended: it is cancelled, or no version can run here
//	   └─► another worker has it
func (w *worker) execute(t *graph.Task, freed []*graph.Task) []*graph.Task {
	// Under a policy that does not sort by kind, a worker may get what it cannot run.
	if w.rt.mixedKinds && w.rt.passOn(t, w.info.ID) {
		return freed
	}
	for {
		freed, ok := w.open(t, &w.work, freed)
		if !ok {
			return freed
		}
		// Few tasks declare memory: skip the question for the others.
		if v := w.choice.Version; v.Constraints.Memory > 0 || v.Memory != nil || t.Constraints() != nil {
			later, err := w.rt.reserve(&w.seat, t, w.memoryNeed(t))
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
		if v := w.choice.Version; (v.Constraints.Units > 1 || t.Constraints() != nil || w.squad != nil) && w.collect(t, w.units(t)) {
			w.learn(0, errNotRun)
			return freed
		}
		later, err := w.run(t)
		if later {
			return freed
		}
		if err == ErrUnfinished {
			w.requeue(t)
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

// units returns how many workers the attempt takes. A target may declare more units than there are workers.
func (w *worker) units(t *graph.Task) int {
	n := w.choice.Version.Constraints.Units
	if c, _ := t.Constraints().(*versions.Constraints); c != nil {
		n = max(n, c.Units)
	}
	if n > 1 {
		n = min(n, w.rt.wide.Most(w.rt.kinds.of[w.info.ID]))
	}
	return n
}

// collect gives w's task t its units. If there are not so many idle workers, later is true: t waits.
func (w *worker) collect(t *graph.Task, units int) (later bool) {
	if w.squad != nil {
		if w.squad.Units() == units {
			return false
		}
		w.disband() // of an earlier choice, of a version that takes another number
	}
	if units > 1 {
		w.squad = w.rt.claim(&w.seat, t, units)
		return w.squad == nil
	}
	return false
}

// disband dismisses workers that have come for a task that does not run.
func (w *worker) disband() {
	w.squad.close()
	w.squad = nil
}

// requeue puts t, whose version has returned ErrUnfinished, among the ready tasks again.
func (w *worker) requeue(t *graph.Task) {
	j := jobOf(t)
	j.addStep(t, graph.Ready, w.info.ID, w.choice.Version.Name, nil)
	t.SetState(graph.Ready)
	if w.tally != nil {
		w.tally.Forsaken()
		t.SetReadyAt(w.rt.opt.Recorder.Now())
	}
	w.rt.push([]*graph.Task{t}, dispatch.GaveWay)
}

// run runs the chosen version once. later says that the last child of t will end t. Observers see the
// call without the children. The selector learns the time of both together, because that is the cost of
// choosing the version.
func (w *worker) run(t *graph.Task) (later bool, err error) {
	t.SetState(graph.Running)
	// Without observers the clock is not read.
	if w.unobserved(t) {
		x := t.Witness()
		if x != nil {
			w.start = time.Now()
		}
		err = w.invoke(t)
		if x != nil {
			w.tellWitness(x, time.Since(w.start), err)
		}
		return w.settleChildren(t, err, false)
	}
	late, faults := w.held()
	w.begin(t)
	err = w.invoke(t)
	if w.limit > 0 { // the context of the children ends with this call
		_, err = w.settleChildren(t, err, true)
	}
	err = w.finish(t, time.Since(w.start), err)
	if later, err = w.settleChildren(t, err, false); !later { // else adopt learns it at the end
		took := time.Since(w.start)
		lateNow, faultsNow := w.held()
		// Time that other programs had on the core, and page faults on memory touched for the first
		// time, say little about the version's next run.
		if faultsNow > faults {
			w.choice = w.choice.WarmUp()
		}
		w.learn(max(took-(lateNow-late), 0)+w.spent, err)
	}
	return later, err
}

// held returns how long other programs have used the worker's core while it was runnable, and the
// number of its thread's page faults. Both are 0 if the choice is not timed.
func (w *worker) held() (late time.Duration, faults int64) {
	if !w.choice.Timed {
		return 0, 0
	}
	return w.delays.Now(), w.delays.Faults()
}

// invoke calls the version and turns a panic into an error.
func (w *worker) invoke(t *graph.Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
			w.task = nil
		}
	}()
	// While w.task is set, a Goexit is the task's: see survive.
	w.task, w.spent = t, 0
	if v := w.choice.Version; w.squad != nil || v.Constraints.Units > 1 || v.Help != nil && w.rt.hosts > 1 {
		w.formTeam(v)
		defer w.dismiss()
	}
	err = w.choice.Version.Run(&w.call)
	w.task = nil
	return err
}

// formTeam makes w the leader of a team for its call of v if the call can use several units. Their number
// is that of its squad, or the number of workers that could help, which Version.Help returns.
func (w *worker) formTeam(v *versions.Version) {
	units, stays := v.Constraints.Units, true
	if w.squad != nil {
		units = w.squad.Units()
	}
	if v.Help != nil && w.rt.hosts > 1 {
		if n, stay := v.Help(&w.call); stay || units <= 1 {
			units, stays = max(units, n), stay
		}
	}
	if units > 1 {
		w.startTeam(min(units, w.rt.hosts)-1, stays)
	}
}

// startTeam makes w the leader of a team with at most limit members: of its squad, whose members it waits for, or of a
// new team.
func (w *worker) startTeam(limit int, stays bool) {
	t, wanted := w.squad, int32(0)
	if w.squad = nil; t == nil {
		t = newTeam(&w.seat, limit, stays, &w.rt.offers, w.rt)
		t.timed = !stays && w.choice.Timed
	} else {
		wanted = t.limit.Swap(int32(limit))
	}
	if w.record != nil {
		t.share = trace.EventOf(w.doing.Job, w.task)
		t.share.Version, t.share.Submitted, t.share.Ready = w.doing.Version, 0, 0 // members did not wait for it
	}
	w.lead, w.call.Gang = t, t
	if wanted > 0 {
		t.gather(wanted)
	} else {
		t.open()
	}
}

// dismiss ends w's team, if any. The members' time counts as the task's: the selector compares
// work, which does not depend on how many workers were free to help.
func (w *worker) dismiss() {
	if t := w.lead; t != nil {
		w.lead, w.call.Gang = nil, nil
		w.spent = t.close()
	}
}

// yield lets a substitute use w's slot while f waits, and takes it back when the substitute has
// ended its task.
//
// Members that stay with w's team leave it meanwhile. If they waited for its next phase, all
// workers could wait for tasks that no worker can run.
func (w *worker) yield(f func()) {
	if t := w.lead; t != nil && t.stays {
		w.dismiss()
		defer w.startTeam(int(t.limit.Load()), true)
	}
	s := newWorker(w.rt, w.watchdog, w.site, w.slot, w.all)
	w.all.Add(1)
	go s.loop()
	defer w.reclaimSlot()
	w.rt.lend(&w.seat, f)
}

// reclaimSlot waits until w has its slot again.
func (w *worker) reclaimSlot() {
	w.rt.reclaim(&w.seat)
	if w.running != nil && w.task != nil { // the trace still shows the substitute's task
		w.running(w.doing, false)
	}
}
