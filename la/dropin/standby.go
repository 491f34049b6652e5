package dropin

import (
	"runtime"
	"sync/atomic"
	"time"
)

// standby is goroutines that have done a part of a call and wait for one of the next call. To start a thread takes longer
// than a product of some hundred rows. The zero value has none.
//
//	start ──► does a part ──► waits ──► ends
//	               ▲            │
//	               └─ is taken ─┘
//
// On two cores of a Zen 4, two threads each, Dgemv of order 512 took 15.5 against 30 µs, and of order 1000 48 against 93
// (best of 3 turns, under other load, 2026-11-30).
type standby [maxWaiters]atomic.Pointer[waiter]

const (
	// maxWaiters is the largest number of goroutines that wait.
	maxWaiters = 16
	// patience is how long a goroutine waits. Meanwhile others run before it.
	patience = 50 * time.Microsecond
)

// waiter is a goroutine that waits. The one that takes it out of its slot gives it work, once.
type waiter struct{ work atomic.Pointer[func()] }

// start calls f on a goroutine: one that waits, or a new one, which waits when it is done.
func (s *standby) start(f func()) {
	for i := range s {
		if w := s[i].Load(); w != nil && s[i].CompareAndSwap(w, nil) {
			w.work.Store(&f)
			return
		}
	}
	go func() {
		for f := f; f != nil; f = s.wait() {
			f()
		}
	}()
}

// wait returns the next work of the calling goroutine, or nil if there is none.
func (s *standby) wait() func() {
	w := new(waiter)
	slot := 0
	for !s[slot].CompareAndSwap(nil, w) {
		if slot++; slot == maxWaiters {
			return nil
		}
	}
	for begin := time.Now(); time.Since(begin) < patience; runtime.Gosched() {
		if f := w.work.Load(); f != nil {
			return *f
		}
	}
	if s[slot].CompareAndSwap(w, nil) {
		return nil
	}
	for { // another goroutine has taken w and is about to give it work
		if f := w.work.Load(); f != nil {
			return *f
		}
		runtime.Gosched()
	}
}
