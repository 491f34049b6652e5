package exec

import (
	"sync/atomic"
	"time"
)

// solo is the single worker that executes all tasks while they are short, if there is one: see
// [pace]. Any goroutine may read which worker it is; the scheduler's lock guards what follows.
//
//	quick tasks: claims ─► entrust ─► one ─► resign: a task took long, or w rests,
//	                                   │     or waits, or wants help
//	                                   └───► (lookAfter) it stands still: all are woken
//
// While there is a solo, the other workers sleep, and one of them looks after it. No other part of
// the runtime knows of it, except submitters: see [backlog].
type solo struct {
	one     atomic.Pointer[seat]
	_       [56]byte
	watched bool // a sleeping worker looks after it
}

// apart reports whether another worker than w is the solo. It needs no lock, and the answer may
// change at any time.
func (s *solo) apart(w *seat) bool {
	one := s.one.Load()
	return one != nil && one != w
}

// entrust makes w, which is awake or about to be woken, the solo. If all others sleep, it takes one
// off the list, which the caller wakes: that one looks after the solo.
func (s *solo) entrust(w *seat, p *park) (sleeper *seat) {
	w.pace.trusted = true
	s.one.Store(w)
	if !s.watched && p.spinning == 0 && len(p.parked) > 0 {
		return p.rise(anyone)
	}
	return nil
}

// resign ends w's time as the solo, and reports whether it was the solo. It needs no lock.
func (s *solo) resign(w *seat) bool {
	if s.one.Load() != w || !s.one.CompareAndSwap(w, nil) {
		return false
	}
	w.pace.trusted = false
	return true
}

// lookAfter watches the solo while w sleeps. It returns false when the solo does not get on,
// because a task takes long or waits, and true if w has been woken instead. It needs no lock.
func (s *solo) lookAfter(w *seat) (awake bool) {
	if w.pace.timer == nil {
		w.pace.timer = time.NewTimer(glance)
	}
	for one := s.one.Load(); one != nil; {
		beat := one.pace.beat.Load()
		w.pace.timer.Reset(glance)
		select {
		case <-w.wake: // park.rise has counted w as spinning
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
