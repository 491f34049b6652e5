package trace

import (
	"math"
	"slices"
	"time"
)

// Tally returns the tally of a worker. The caller may keep it.
func (r *Recorder) Tally(worker int) *Tally { return &r.buffer(worker).tally }

// Counts counts the tasks of all jobs by state.
type Counts struct {
	Submitted int64 // all tasks so far
	Waiting   int64 // for the data of others
	Ready     int64 // for a worker
	Running   int64
	Ended     int64 // in any way
	Attempts  int64 // events recorded

	// Work is the work of successful attempts, by versions.Op.Work: floating point operations, for
	// linear algebra. Ops without it add nothing.
	Work float64
}

// Counts returns the number of tasks in each state. It counts while workers go on, so the numbers
// belong to about the same time.
func (r *Recorder) Counts() Counts {
	tallies := []*Tally{&r.tally}
	for _, b := range r.snapshot() {
		tallies = append(tallies, &b.tally)
	}
	var c Counts
	var started, ready int64
	// Read in the reverse order of a task's life: so no task has ended and not started.
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

// CountSubmitted and CountReady count tasks that a submitter has submitted and found ready. Workers
// use a [Tally].
func (r *Recorder) CountSubmitted(n int) { r.tally.submitted.Add(int64(n)) }

// CountReady counts tasks that have become ready: see [Recorder.CountSubmitted].
func (r *Recorder) CountReady(n int) { r.tally.Ready(n) }

// Starter returns the function by which a worker begins an attempt, the first one at its task if
// first is set; the function of [Recorder.Sink] ends it. If t.Start is 0 the attempt starts when it
// is noted, so that it does not include waiting for a reader of the recording. The result is the
// start.
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

// Running returns a copy of each worker's present task, nil for an idle worker.
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

// After returns the events that ended later than t, worker by worker, but at most most of each
// worker, the latest. It examines no others.
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
