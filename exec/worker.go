package exec

import (
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// Worker describes a worker of a runtime.
type Worker struct {
	ID   int
	CPUs []int // cores that it is pinned to; nil if it floats
	Node int   // NUMA node of its cores; 0 if it floats
	// Location numbers the memory that is near to it: the NUMA nodes that have
	// workers, and then the accelerators.
	Location int
	Note     string           // why it floats although it should not, if so
	Target   *versions.Target // what it offers to versions; read-only
	// Accelerator is the name of the accelerator whose worker it is; empty for
	// workers on cores.
	Accelerator string
}

// worker executes tasks on cores, one at a time.
type worker struct {
	site
	attempt // the task that it executes
	slot    *slot
	heir    *worker       // that is to have the slot, when this one is at its end
	wake    chan struct{} // capacity 1: one token for each time it is roused

	work  versions.Workspace
	part  versions.Workspace // for parts of a team's task
	team  *team              // that the worker has joined
	lead  *team              // of the task that it executes
	spent time.Duration      // on that task, beyond the time that it took
	freed []*graph.Task
	held  int64 // memory that the task has taken; Local.mu guards it

	nested *job // of the children of the task that it executes

	pace pace
}

// newWorker returns a worker for a slot.
func newWorker(at site, s *slot) *worker {
	w := &worker{site: at, slot: s, wake: make(chan struct{}, 1)}
	w.at, w.call.Task = &w.site, w
	return w
}

// loop is the goroutine of a worker.
func (w *worker) loop() {
	release := func() {}
	if w.info.CPUs != nil {
		// A worker that cannot be pinned, because the mask of the process has
		// changed since the machine was read, runs unpinned rather than not
		// at all. After a Goexit the thread ends with the goroutine, which
		// does not come to release it: nobody inherits the pinning.
		release, _ = topo.Lock(w.info.CPUs...)
	}
	defer w.survive()
	w.freed = w.freed[:0]
	for {
		t := w.rt.exchange(w, w.freed)
		if t == nil && w.team == nil && w.heir == nil {
			w.forget()
			t = w.rt.await(w)
			w.begins()
		}
		w.freed = w.freed[:0]
		switch {
		case t != nil:
			w.freed = w.execute(t, w.freed)
		case w.team != nil:
			w.team.serve(w)
			w.team = nil
		default:
			w.forget()
			w.work, w.part = versions.Workspace{}, versions.Workspace{}
			w.rt.resign(w)
			release()
			if w.heir != nil {
				w.heir.wake <- struct{}{}
			}
			w.rt.running.Done()
			return
		}
	}
}

// survive continues the worker on a new goroutine when a task, or its part in
// a team's, has ended the old one by runtime.Goexit.
func (w *worker) survive() {
	t := w.task
	switch {
	case w.team != nil:
		w.team = nil
	case t == nil:
		return
	default:
		w.task = nil
		w.dismiss()
		var err error = &PanicError{Stack: debug.Stack()}
		if !w.unseen(t) {
			err = w.ends(t, time.Since(w.start), err)
		}
		w.disown(err)
		w.learn(t, 0, err)
		freed, again := w.conclude(t, err, w.freed[:0])
		if again {
			freed = append(freed, t)
		}
		w.rt.enqueue(freed)
	}
	w.freed = w.freed[:0]
	go w.loop()
}

// execute runs t, or cancels it if it must not run, and appends the tasks
// that it has freed to freed.
func (w *worker) execute(t *graph.Task, freed []*graph.Task) []*graph.Task {
	if w.rt.picky && w.rt.passOn(t, w) {
		return freed
	}
	for {
		freed, ok := w.open(t, &w.work, freed)
		if !ok {
			return freed
		}
		if v := w.choice.Version; v.Constraints.Memory > 0 || v.Memory != nil || t.Constraints() != nil {
			later, err := w.reserve(t)
			if later || err != nil {
				w.learn(t, 0, errNotRun)
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
		freed, again := w.conclude(t, err, freed)
		if !again {
			return freed
		}
		// The first retry stays here; later ones go to another worker.
		if t.Attempt > 1 && w.rt.hosts > 1 {
			w.rt.redirect(t, w)
			return freed
		}
	}
}

// run runs the chosen version once. Later means that children of the task will end
// it.
func (w *worker) run(t *graph.Task) (later bool, err error) {
	t.SetState(graph.Running)
	if w.unseen(t) {
		if w.pace.left--; w.pace.left < 0 && w.rt.lonely {
			return w.family(t, w.timed(t), false)
		}
		return w.family(t, w.invoke(t), false)
	}
	w.starts(t)
	err = w.invoke(t)
	if w.limit > 0 { // the context of the children ends with this call
		_, err = w.family(t, err, true)
	}
	err = w.ends(t, time.Since(w.start), err)
	if later, err = w.family(t, err, false); !later { // else it is learned at the end
		w.learn(t, time.Since(w.start)+w.spent, err)
	}
	return later, err
}

// invoke calls the version and turns a panic into an error.
func (w *worker) invoke(t *graph.Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
			w.task = nil
		}
	}()
	w.task, w.spent = t, 0
	if v := w.choice.Version; v.Constraints.Units > 1 || v.Share != nil || v.Help != nil && w.rt.hosts > 1 {
		w.rt.lead(w, v)
		defer w.dismiss()
	}
	err = w.choice.Version.Run(&w.call)
	w.task = nil
	return err
}
