package exec

import (
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// park is where workers on cores are that have nothing to do:
//
//	at work ──► spinning ──► (one) lingering ──► asleep
//	   ▲            │             │                │ rise, and a token in wake
//	   └────────────┴─────────────┴──── spinning ◄─┘
//
// Who goes to sleep looks under the runtime's lock, in the critical section in which
// it is put on the list; who has something for it puts that where it is seen first and
// takes the lock then. So one of the two sees the other. The lock guards all of this.
type park struct {
	parked   []*worker // asleep, the latest last
	spinning int       // workers that look for work, or are roused to do so
	// lingering is the one of the spinning workers that looks for longer, if any.
	lingering *worker
}

// rise takes the worker off the list that went to sleep last of those that fit, nil if
// there is none. It counts as spinning, and has to be roused.
func (p *park) rise(fits func(*worker) bool) *worker {
	for i := len(p.parked) - 1; i >= 0; i-- {
		if w := p.parked[i]; fits(w) {
			p.parked = slices.Delete(p.parked, i, i+1)
			p.spinning++
			return w
		}
	}
	return nil
}

func anyone(*worker) bool { return true }

// rouse wakes w, which rise has returned, if it is not nil. It need not be called
// under the lock; there is room for one token, and never more than one.
func (w *worker) rouse() {
	if w != nil {
		w.wake <- struct{}{}
	}
}

// count brings queued up to date. The caller holds mu.
func (l *Local) count() {
	if some := l.ready.Len()+l.memory.count+l.returning > 0; some != l.queued.Load() {
		l.queued.Store(some)
	}
}

// rouse brings queued up to date and takes a sleeping worker off the list if
// there is work that no worker looks for, in the policy or in a backlog, or one
// worker executes all tasks and nobody looks after it. The caller holds mu, and
// must wake the worker that rouse returns when it has released mu.
func (l *Local) rouse() *worker {
	l.count()
	if l.devices != nil {
		l.rouseDevices()
	}
	if l.ready.Reserves() && l.ready.Common() > 0 {
		// All look for whom there may be a task. A token always has room: see
		// docs/locks.md.
		l.parked = slices.DeleteFunc(l.parked, func(w *worker) bool {
			if !l.ready.Wants(w.info.ID) {
				return false
			}
			l.spinning++
			w.wake <- struct{}{}
			return true
		})
		return nil
	}
	if l.spinning > 0 || len(l.parked) == 0 {
		return nil
	}
	solo := l.solo.Load() != nil
	if solo && l.watched || !solo && l.ready.Common() == 0 && !l.behind() {
		return nil
	}
	w := l.rise(anyone)
	l.spinning-- // goOn asks for the others
	l.goOn(w)
	l.spinning++
	return w
}

// goOn makes w, which has rested, the worker that executes all tasks once more if it
// has been that before and nobody else is awake. The caller holds mu.
func (l *Local) goOn(w *worker) {
	if l.lonely && l.solo.Load() == nil && w.pace.score >= enough && len(l.parked) >= l.hosts-1 {
		l.entrust(w)
	}
}

// spins is how often an idle worker looks at queued before it goes to sleep:
// some ten microseconds, about what waking a thread costs.
const spins = 300

// await returns the next task for w, which found none before; nil means that
// w has joined a team or has an heir, or else that the runtime is closed. w
// counts among the spinning workers on entry.
func (l *Local) await(w *worker) *graph.Task {
	lingers, procs := true, runtime.GOMAXPROCS(0)
	for woken := false; ; woken = true {
		if !woken {
			l.resign(w) // before the last look at backlogs
			if procs > 1 {
				l.spin(w, spins)
			}
		}
		l.mu.Lock()
		if l.lingering == w {
			l.lingering = nil
		}
		apart := l.apart(w)
		if !apart {
			l.absorb()
			if l.ready.Common() == 0 && l.resign(w) {
				l.absorb()
			}
		}
		t := l.pop(w, apart)
		if t != nil || w.team != nil || w.heir != nil {
			l.spinning--
			if !lingers && t != nil {
				l.goOn(w)
			}
			other := l.rouse()
			l.mu.Unlock()
			other.rouse()
			return t
		}
		if lingers && l.worthLingering(procs) {
			lingers = false
			l.lingering = w
			l.mu.Unlock()
			l.linger(w)
			continue
		}
		l.spinning--
		if l.closing.Load() {
			l.mu.Unlock()
			return nil
		}
		l.parked = append(l.parked, w)
		watch := apart && !l.watched
		l.watched = l.watched || watch
		l.mu.Unlock()
		if watch {
			l.watch(w)
			continue
		}
		<-w.wake // who wakes w has counted it as spinning
	}
}

// spin waits a little, n looks, for a task, or for one of somebody else to help
// with, and reports whether there is one.
func (l *Local) spin(w *worker, n int) bool {
	for range n {
		if l.queued.Load() || l.offer(w, false) != nil {
			return true
		}
		pause()
	}
	return false
}

// worthLingering reports whether a worker that finds no task had better look for
// longer than [spins] before it goes to sleep: who has waited for one operation
// often calls the next one. One worker does, if those who submit wait, or there are
// none, and of procs processors one is left for other goroutines: one that waits for
// another worker's task, say. Where a single worker executes all tasks, nobody else
// is wanted. The caller holds mu.
func (l *Local) worthLingering(procs int) bool {
	return l.lingering == nil && l.hosts-len(l.parked) < procs && l.devices == nil && l.submitting.Load() == 0 && !l.disturbed()
}

// disturbed reports whether a worker must not linger, or no more: the runtime is
// closing, or one worker executes all tasks, which wants to be looked after.
func (l *Local) disturbed() bool { return l.closing.Load() || l.solo.Load() != nil }

// linger is spin for the time that it may take.
func (l *Local) linger(w *worker) {
	for start := time.Now(); time.Since(start) < l.opt.tempo.linger && !l.disturbed(); {
		if l.spin(w, 32) {
			return
		}
	}
}

// pause lets some tens of nanoseconds pass without touching memory that
// others write.
//
//go:noinline
func pause() {
	for range 64 {
	}
}
