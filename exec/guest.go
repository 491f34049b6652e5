package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
)

// RunHere submits n equal tasks, the last ones before [Job.Wait]. If a worker on cores sleeps and a
// task can start at once, the calling goroutine executes the last task in that worker's place: that
// saves waking a thread, which takes longer than many tasks. Then RunHere gives the job's other
// tasks some microseconds to end. If no worker sleeps, in is no job of a Local, or the tasks are a
// task's children, RunHere calls Submit n times.
//
//	the worker:  asleep ─────────────────────────────────────────────────── asleep, or woken: tasks wait
//	                 │ its seat                                          ▲
//	the caller:      └─► submits the others ─► an attempt at the last ───┘ goes on
//
// The caller takes the place before its tasks wake other workers and, if possible, the place of the
// worker of its own core. Otherwise a woken thread might be pinned to the caller's core, and both
// lose milliseconds until the operating system moves the caller.
//
// The trace shows a guest as the worker whose place it takes. Its thread is not pinned.
func RunHere(in Job, s *graph.Spec, n int) error {
	var w *seat
	j, ok := in.(*job)
	// More tasks than workers might fill the window, and then Submit would wait for this place.
	if ok && n <= j.sched.hosts {
		if w = j.sched.vacate(); w != nil {
			n--
		}
	}
	visited := false
	defer func() {
		if w != nil && !visited {
			j.sched.occupy(w, w, nil)
		}
	}()
	for range n {
		if _, err := in.Submit(s); err != nil {
			return err
		}
	}
	if w == nil {
		return nil
	}
	id, t, err := j.add(s, true)
	if t == nil {
		return err
	}
	visited = true
	w.visit(t)
	// The worker that the caller was sleeps: its processor is the caller's.
	for i := 0; i < spins && j.endings.done.Load() < int64(id); i++ {
		pause()
	}
	return nil
}

// allowGuests lets guests use w's seat. A guest is a worker of its own, like a substitute, because w's
// goroutine sleeps on w's wake.
func (w *worker) allowGuests() {
	var guest *worker
	w.visit = func(t *graph.Task) {
		if guest == nil {
			guest = newWorker(w.rt, w.watchdog, w.site, w.slot, w.all)
		}
		// Also if the task ends the goroutine, which is the caller's.
		defer guest.vacate(&w.seat)
		guest.freed = guest.execute(t, guest.freed[:0])
		if guest.squad != nil { // the task has not run
			guest.disband()
		}
	}
}

// vacate gives the seat back to its worker.
func (w *worker) vacate(of *seat) {
	if w.task != nil { // runtime.Goexit
		w.freed = w.failGoexit()
	}
	w.forget()
	w.rt.occupy(of, &w.seat, w.freed)
}
