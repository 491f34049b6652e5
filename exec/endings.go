package exec

import (
	"math"
	"sync"
	"sync/atomic"
)

// endings counts the tasks of a job that have ended, in any way. Workers write it all the time, so
// it has cache lines of its own. A goroutine that waits for a number of endings sets a goal, and
// workers compare with that alone.
type endings struct {
	_    [64]byte
	done atomic.Int64
	goal atomic.Int64 // the smallest number that a goroutine waits for; MaxInt64 if none does
	_    [48]byte
	news struct {
		sync.Mutex // a leaf
		sync.Cond
		reached func() // called once when done reaches the number at
		at      int64
	}
}

// init makes e ready for use.
func (e *endings) init() {
	e.news.L = &e.news.Mutex
	e.goal.Store(math.MaxInt64)
}

// wait waits until goal tasks have ended. Several goroutines may wait, for different goals.
//
// A waiter sets the goal and then reads done; a worker adds to done and then reads the goal. So one
// of the two sees the other, and no ending is missed although add takes the lock only if a
// goroutine waits.
func (e *endings) wait(goal int64) {
	if e.done.Load() >= goal {
		return
	}
	e.news.Lock()
	for {
		// Of several goals the smallest counts.
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

// at arranges that the worker that ends the goal-th task calls f. It returns false, without a call
// of f, if that task has ended. There is one f at a time: that of a task whose children end it. f
// runs without a lock, at the end of add.
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

// add counts an ended task. It is a worker's last access to the job: a waiter may release the job's
// memory at once.
func (e *endings) add() {
	if e.done.Add(1) < e.goal.Load() {
		return
	}
	e.news.Lock()
	// A waiter with a larger goal sets it again when the broadcast has woken it.
	e.goal.Store(math.MaxInt64)
	reached := e.news.reached
	if reached != nil {
		// Set the goal first: a worker that ends a task after this read of done sees it.
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
