package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
)

// RunHere submits n tasks that are alike, the last ones before [Job.Wait]. If a worker on cores
// sleeps, and a task can start at once, the calling goroutine executes the last of them in that
// worker's place. So one thread less has to be woken, which takes longer than many a task, and the
// caller's does not sleep. Then RunHere gives the job's other tasks some microseconds to end. If no
// worker sleeps, and for a job of another runtime than a Local or of a task's children, it is
// Submit, n times.
//
//	the worker:  asleep ─────────────────────────────────────────────────── asleep, or woken: tasks wait
//	                 │ its seat                                          ▲
//	the caller:      └─► submits the others ─► an attempt at the last ───┘ goes on
//
// The caller has the place before others are woken for its tasks, and if it can, that of the
// worker of its own core. Otherwise a thread that is woken might be bound to the caller's core.
// Both then lose milliseconds, until the system sees that another core is free.
//
// A guest is recorded as the worker that it stands for. Its thread is not pinned.
func RunHere(in Job, s *graph.Spec, n int) error {
	var w *seat
	j, ok := in.(*job)
	// Of more tasks than workers the first might fill the job's window, and wait for that place.
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

// receives makes w's seat one that a guest can have. The guest is a worker of its own, as a
// substitute is, for w's goroutine sleeps on w's bell.
func (w *worker) receives() {
	var guest *worker
	w.visit = func(t *graph.Task) {
		if guest == nil {
			guest = newWorker(w.rt, w.dog, w.site, w.slot, w.all)
		}
		// Also if the task ends the goroutine, which is the caller's.
		defer guest.leaves(&w.seat)
		guest.freed = guest.execute(t, guest.freed[:0])
	}
}

// leaves gives the seat back to its worker.
func (g *worker) leaves(of *seat) {
	if g.task != nil { // runtime.Goexit
		g.freed = g.fell()
	}
	g.forget()
	g.rt.occupy(of, &g.seat, g.freed)
}
