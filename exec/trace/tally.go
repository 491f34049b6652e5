package trace

import (
	"math"
	"sync/atomic"
	"time"
)

// Tally counts tasks. Each worker has one of its own, because a common one would contend for its
// cache line. Each task passes through it in this order, on any workers:
//
//	submitted ─► ready ─► started ─► ended
//	             attempts: one or more in between, none for a task that is cancelled
//
// Counts derives from the sums over all tallies how many tasks are between two of these.
type Tally struct {
	submitted, ready, started, attempts, ended atomic.Int64

	work atomic.Uint64 // work of successful attempts: the bits of a float64

	_ [64]byte // a cache line of its own
}

// Ready counts n tasks that have become ready.
func (t *Tally) Ready(n int) { t.ready.Add(int64(n)) }

// Ended counts a task that has ended in any way, started or not.
func (t *Tally) Ended(started bool) {
	if !started {
		t.started.Add(1)
	}
	t.ended.Add(1)
}

// Worked adds the work of a successful attempt, by Work of its op. A number that is not positive
// adds nothing.
func (t *Tally) Worked(work float64) {
	for work > 0 && work <= math.MaxFloat64 {
		old := t.work.Load()
		if t.work.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+work)) {
			return
		}
	}
}

// Forsaken takes a task's start back, because it will be started again as if it never was.
func (t *Tally) Forsaken() { t.started.Add(-1) }

// Running is the present task of a worker.
type Running struct {
	Job, Task   uint64
	Op, Version string
	Start       time.Duration
}

// Usage says how often a version of an op ran and for how long.
type Usage struct {
	Op, Version string
	Calls       int
	Failed      int
	Busy        time.Duration // sum over workers, members of gangs too
}

// add counts one attempt.
func (u *Usage) add(e *Event) {
	u.Calls++
	if e.Failed {
		u.Failed++
	}
	u.Busy += e.End - e.Start
}
