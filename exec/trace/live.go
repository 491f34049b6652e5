package trace

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Tally counts tasks. Each worker has one of its own: where all count in one place
// they wait for one another's cache. A task goes through it in this order, on whichever
// workers:
//
//	submitted ─► ready ─► started ─► ended
//	             attempts: one or more in between, none for a task that is cancelled
//
// Counts tells from the sums over all tallies how many tasks are between two of these.
type Tally struct {
	submitted, ready, started, attempts, ended atomic.Int64

	work atomic.Uint64 // of attempts that have succeeded: the bits of a float64

	_ [64]byte // keeps neighbours off this cache line
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

// Worked adds the work of an attempt that has succeeded: what Work of its op says. What is
// not a positive number adds nothing.
func (t *Tally) Worked(work float64) {
	for work > 0 && work <= math.MaxFloat64 {
		old := t.work.Load()
		if t.work.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+work)) {
			return
		}
	}
}

// Forsaken counts a task back that was started, for it is to be started again as if
// it never was.
func (t *Tally) Forsaken() { t.started.Add(-1) }

// Tally returns what a worker counts in. It may be kept.
func (r *Recorder) Tally(worker int) *Tally { return &r.buffer(worker).tally }

// Running is a task that a worker is at.
type Running struct {
	Job, Task   uint64
	Op, Version string
	Start       time.Duration
}

// Counts says where the tasks of all jobs stand.
type Counts struct {
	Submitted int64 // all tasks so far
	Waiting   int64 // for the data of others
	Ready     int64 // for a worker
	Running   int64
	Ended     int64 // in any way
	Attempts  int64 // events recorded

	// Work is that of the attempts that succeeded, as versions.Op.Work has it: floating point
	// operations, for linear algebra. Ops that do not say theirs add nothing.
	Work float64
}

// Counts returns where the tasks stand. They are counted while others go on:
// the numbers belong to about the same time.
func (r *Recorder) Counts() Counts {
	tallies := []*Tally{&r.tally}
	for _, b := range r.snapshot() {
		tallies = append(tallies, &b.tally)
	}
	var c Counts
	var started, ready int64
	// What a task does last is looked at first: no task has ended and not started.
	for _, t := range tallies {
		c.Ended += t.ended.Load()
		c.Attempts += t.attempts.Load()
		c.Work += math.Float64frombits(t.work.Load())
	}
	for _, t := range tallies {
		started += t.started.Load()
	}
	for _, t := range tallies {
		ready += t.ready.Load()
	}
	for _, t := range tallies {
		c.Submitted += t.submitted.Load()
	}
	c.Running = max(started-c.Ended, 0)
	c.Ready = max(ready-started, 0)
	c.Waiting = max(c.Submitted-ready, 0)
	return c
}

// CountSubmitted and CountReady count tasks that were submitted and that have
// become ready. Workers count in a [Tally].
func (r *Recorder) CountSubmitted(n int) { r.tally.submitted.Add(int64(n)) }

// CountReady counts tasks that have become ready: see [Recorder.CountSubmitted].
func (r *Recorder) CountReady(n int) { r.tally.Ready(n) }

// Starter returns the function that says that a worker begins an attempt, the
// first one at its task if first is set; the function of [Recorder.Sink] says
// that it has ended. If t.Start is 0 the attempt starts when it is noted, so
// waiting for a reader of the recording is no part of it. The result is when it starts.
func (r *Recorder) Starter(worker int) func(t Running, first bool) time.Duration {
	b := r.buffer(worker)
	return func(t Running, first bool) time.Duration {
		if first {
			b.tally.started.Add(1)
		}
		b.mu.Lock()
		if t.Start == 0 {
			t.Start = r.Now()
		}
		b.running, b.busy = t, true
		b.mu.Unlock()
		return t.Start
	}
}

// Running returns what each worker is at, nil for one that is idle. The result is a
// copy.
func (r *Recorder) Running() []*Running {
	buffers := r.snapshot()
	all := make([]*Running, len(buffers))
	for i, b := range buffers {
		b.mu.Lock()
		if b.busy {
			t := b.running
			all[i] = &t
		}
		b.mu.Unlock()
	}
	return all
}

// After returns the events that ended later than t, worker by worker, but no
// more than most of each worker, the latest ones. It looks at no others.
func (r *Recorder) After(t time.Duration, most int) []Event {
	var all []Event
	for _, b := range r.snapshot() {
		b.mu.Lock()
		first := len(all)
		for i := b.events.n - 1; i >= 0 && len(all)-first < most; i-- {
			x := b.events.inOrder(i)
			if x.end <= t {
				break
			}
			all = append(all, b.events.unpack(x))
		}
		b.mu.Unlock()
		slices.Reverse(all[first:])
	}
	return all
}
