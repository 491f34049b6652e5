package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
)

// RunHere is [Job.Submit] for the last task before [Job.Wait]: if it can start at once and a
// worker on cores sleeps, the calling goroutine executes it in that worker's place. So no
// thread has to be woken, which takes longer than many a task, and the caller's does not
// sleep. Then RunHere gives the job's other tasks some microseconds to end. If no worker
// sleeps, and for a job of another runtime than a Local or of a task's children, it is Submit.
//
//	the worker:  asleep ──────────────────────────────────── asleep, or woken: tasks wait
//	                 │ its seat                            ▲
//	the caller:      └─► an attempt at the task, a guest ──┘ goes on
//
// A guest is recorded as the worker that it stands for. Its thread is not pinned.
func RunHere(in Job, s *graph.Spec) (graph.TaskID, error) {
	j, ok := in.(*job)
	if !ok {
		return in.Submit(s)
	}
	id, t, err := j.add(s, true)
	if t == nil {
		return id, err
	}
	w := j.sched.vacate()
	if w == nil {
		j.sched.enqueue([]*graph.Task{t})
		return id, nil
	}
	w.visit(t)
	// The worker that the caller was sleeps: its processor is the caller's.
	for i := 0; i < spins && j.endings.done.Load() < int64(id); i++ {
		pause()
	}
	return id, nil
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
