package trace

import (
	"slices"
	"sync/atomic"
	"time"
)

// live is what the recorder knows of tasks that have not ended.
type live struct {
	submitted, ready, started, attempts, ended atomic.Int64
}

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
}

// Counts returns where the tasks stand. They are counted while others go on:
// the numbers belong to about the same time.
func (r *Recorder) Counts() Counts {
	c := Counts{Ended: r.live.ended.Load(), Attempts: r.live.attempts.Load()}
	started := r.live.started.Load()
	ready := r.live.ready.Load()
	c.Submitted = r.live.submitted.Load()
	c.Running = max(started-c.Ended, 0)
	c.Ready = max(ready-started, 0)
	c.Waiting = max(c.Submitted-ready, 0)
	return c
}

// CountSubmitted, CountReady and CountEnded count tasks that were submitted,
// that have become ready, and that have ended in any way.
func (r *Recorder) CountSubmitted(n int) { r.live.submitted.Add(int64(n)) }

// CountReady counts tasks that have become ready: see [Recorder.CountSubmitted].
func (r *Recorder) CountReady(n int) { r.live.ready.Add(int64(n)) }

// CountEnded counts a task that has ended, started or not: see
// [Recorder.CountSubmitted].
func (r *Recorder) CountEnded(started bool) {
	if !started {
		r.live.started.Add(1)
	}
	r.live.ended.Add(1)
}

// Starter returns the function that says that a worker begins an attempt, the
// first one at its task if first is set; the function of [Recorder.Sink] says
// that it has ended.
func (r *Recorder) Starter(worker int) func(t Running, first bool) {
	b := r.buffer(worker)
	return func(t Running, first bool) {
		if first {
			r.live.started.Add(1)
		}
		b.mu.Lock()
		b.running, b.busy = t, true
		b.mu.Unlock()
	}
}

// Running returns what each worker is at, nil for one that is idle.
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
		older, newer := b.events.inOrder()
		for _, part := range [][]entry{newer, older} {
			i := len(part)
			for i > 0 && part[i-1].end > t && len(all)-first < most {
				i--
				all = append(all, b.events.unpack(&part[i]))
			}
			if i > 0 {
				break
			}
		}
		b.mu.Unlock()
		slices.Reverse(all[first:])
	}
	return all
}
