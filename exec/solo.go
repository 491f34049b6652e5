package exec

import (
	"sync/atomic"
	"time"
)

// solo is the worker that executes all tasks, if there is one: see [pace]. Who it is
// can be read by everybody; the scheduler's lock guards what follows.
//
//	quick tasks: claims ─► entrust ─► one ─► resign: a task took long, or w rests,
//	                                   │     or waits, or wants help
//	                                   └───► (lookAfter) it stands still: all are woken
//
// While there is a one, others sleep, and one of those looks after it. All other parts of
// the runtime work without knowing of it, but for submitters: see [backlog].
type solo struct {
	one     atomic.Pointer[seat]
	_       [56]byte
	watched bool // a sleeping worker looks after it
}

// apart reports whether another worker than w executes all tasks. It needs no lock, and
// may be wrong a moment later.
func (s *solo) apart(w *seat) bool {
	one := s.one.Load()
	return one != nil && one != w
}

// entrust makes w the worker that executes all tasks, and takes another one off the
// list of those that sleep, if all do, to look after it: it has to be roused. W is
// awake or going to be woken.
func (s *solo) entrust(w *seat, p *park) (sleeper *seat) {
	w.pace.trusted = true
	s.one.Store(w)
	if !s.watched && p.spinning == 0 && len(p.parked) > 0 {
		return p.rise(anyone)
	}
	return nil
}

// resign says that w is not the worker that executes all tasks any more, and
// reports whether it was. It needs no lock.
func (s *solo) resign(w *seat) bool {
	if s.one.Load() != w || !s.one.CompareAndSwap(w, nil) {
		return false
	}
	w.pace.trusted = false
	return true
}

// lookAfter looks after the worker that executes all tasks, while w sleeps, until it
// does not get on, because of a task that takes long or one that waits for something.
// It reports true if w has been woken instead. It needs no lock.
func (s *solo) lookAfter(w *seat) (awake bool) {
	if w.pace.timer == nil {
		w.pace.timer = time.NewTimer(glance)
	}
	for one := s.one.Load(); one != nil; {
		beat := one.pace.beat.Load()
		w.pace.timer.Reset(glance)
		select {
		case <-w.wake: // who wakes w has counted it as spinning
			w.pace.timer.Stop()
			return true
		case <-w.pace.timer.C:
			if s.one.Load() != one || one.pace.beat.Load()-beat < alive {
				return false
			}
		}
	}
	return false
}
