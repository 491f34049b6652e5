package exec

import (
	"math"
	"sync"
	"sync/atomic"
)

// endings counts the tasks of a job that have ended, in any way. Workers write it all
// the time, so it has cache lines of its own; who waits for a number of endings sets a
// goal, and workers look at that alone.
type endings struct {
	_    [64]byte
	done atomic.Int64
	goal atomic.Int64 // when done reaches it, somebody wants to know; the largest if nobody does
	_    [48]byte
	news struct {
		sync.Mutex // a leaf
		sync.Cond
		reached func() // called once when done reaches at
		at      int64
	}
}

// init makes e ready for use: nobody waits.
func (e *endings) init() {
	e.news.L = &e.news.Mutex
	e.goal.Store(math.MaxInt64)
}

// wait waits until goal tasks have ended. Several goroutines may wait, for several goals.
//
// Who waits sets the goal first and looks at done then; who ends a task adds to done
// first and looks at the goal then. So one of the two sees the other, and no ending is
// missed although add takes the lock only where somebody waits.
func (e *endings) wait(goal int64) {
	if e.done.Load() >= goal {
		return
	}
	e.news.Lock()
	for {
		// Several may wait, for unlike goals: the smallest stands.
		if goal < e.goal.Load() {
			e.goal.Store(goal)
		}
		if e.done.Load() >= goal {
			break
		}
		e.news.Wait()
	}
	e.news.Unlock()
}

// at has f called when goal tasks have ended, by the worker that ends the last of them.
// It returns false, and f is not called, if they have. There is one f at a time: that of
// a task whose children end it. F runs without a lock, as the last thing that add does.
func (e *endings) at(goal int64, f func()) bool {
	e.news.Lock()
	defer e.news.Unlock()
	if goal < e.goal.Load() {
		e.goal.Store(goal)
	}
	if e.done.Load() >= goal {
		return false
	}
	e.news.reached, e.news.at = f, goal
	return true
}

// add counts a task that has ended. It is the last that its worker does with the job: who
// waits for it may release the job's memory at once.
func (e *endings) add() {
	if e.done.Add(1) < e.goal.Load() {
		return
	}
	e.news.Lock()
	// A waiter that is not done sets it again when the broadcast has woken it.
	e.goal.Store(math.MaxInt64)
	reached := e.news.reached
	if reached != nil {
		// The goal first: who ends a task after this look at done sees it.
		e.goal.Store(e.news.at)
		if e.done.Load() < e.news.at {
			reached = nil
		} else {
			e.news.reached = nil
		}
	}
	e.news.Broadcast()
	e.news.Unlock()
	if reached != nil {
		reached()
	}
}
