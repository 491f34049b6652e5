package exec

import (
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// slot is a place for a worker: its cores, its inbox, its number. At any time
// one worker has it; those that wait inside a task have given it to a
// substitute.
type slot struct {
	// returning are workers that want the slot back, first come first served.
	// The runtime's lock guards it.
	returning []*worker
}

// Await calls f, which waits for something, in a task, and lends the cores of
// the worker that executes call to others until it returns. So any number of
// tasks may wait without holding up the machine, at the cost of a thread each.
// The members of a team must not call it. Outside of a runtime it only calls f.
//
// A job of [Nested] does the same while it waits.
func Await(call *versions.Call, f func()) {
	if w, ok := call.Task.(*worker); ok {
		w.yield(f)
		return
	}
	f()
}

// yield lets a substitute have w's slot while f waits, and takes it back when
// the substitute has ended its task.
//
// Members that stay with w's team go their ways meanwhile: if they waited for its
// next part, all workers could come to wait for tasks that wait for others.
func (w *worker) yield(f func()) {
	l := w.rt
	l.resign(w)
	if t := w.lead; t != nil && t.stays {
		w.dismiss()
		defer l.form(w, t.limit, true)
	}
	s := newWorker(w.site, w.slot)
	l.running.Add(1)
	go s.loop()
	defer l.reclaim(w)
	w.lend(f)
}

// reclaim waits until w has its slot again.
func (l *Local) reclaim(w *worker) {
	l.mu.Lock()
	w.slot.returning = append(w.slot.returning, w)
	l.returning++
	l.count()
	sleeper := l.rise(func(p *worker) bool { return p.slot == w.slot })
	l.mu.Unlock()
	sleeper.rouse()
	<-w.wake
	if w.running != nil && w.task != nil { // the substitute has said what it was at
		w.running(w.doing, false)
	}
}

// yieldTo returns the worker that w must give its slot to now, nil if there is
// none. The caller holds mu, and wakes that worker when it has given mu back; w
// is at its end then.
func (l *Local) yieldTo(w *worker) *worker {
	s := w.slot
	if len(s.returning) == 0 {
		return nil
	}
	r := s.returning[0]
	s.returning = slices.Delete(s.returning, 0, 1)
	l.returning--
	return r
}
