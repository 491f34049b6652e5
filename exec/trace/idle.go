package trace

import (
	"cmp"
	"slices"
	"time"
)

// Reason is the reason why a worker was idle.
type Reason uint8

// The reasons, the first that applies.
const (
	// Overhead: a task was ready. The runtime was about to hand it over, another
	// worker's inbox held it, or the worker was in a gang whose leader had no
	// part for it at the time.
	Overhead Reason = iota
	// Throttled: none was ready, and the window was full, so that no further
	// tasks could be submitted.
	Throttled
	// Waiting: none was ready, but tasks waited for the data of those that ran.
	Waiting
	// NoTask: nothing was submitted that had not run; what there was to do was
	// not known yet, or there was nothing left.
	NoTask
	// Copying: the worker had a task, and waited for its data to come back from an
	// accelerator.
	Copying

	reasons
)

// Idle is the time that a worker was idle, by reason.
type Idle [reasons]time.Duration

// Total returns the sum over the reasons.
func (d *Idle) Total() (sum time.Duration) {
	for _, t := range d {
		sum += t
	}
	return sum
}

// step is a change of the state at a point in time. The numbers are differences: +1 or −1.
type step struct {
	at                       time.Duration
	submitted, ready, paused int
	worker                   int // becomes idle or busy; -1 if none
	busy                     int
}

// Idle returns for each worker why it was idle between the first start of a task and the last end.
// Attempts whose submission was not recorded count as ready from their start on.
//
// It passes over all changes in the order of time, with the number of tasks that are submitted and
// not started, how many of them are ready, and how many jobs cannot submit. Between two changes all
// idle workers have the same reason. It takes O(n·(log n + workers)) for n changes.
func (r *Recording) Idle() []Idle {
	first, last := r.span()
	idle := make([]Idle, r.workers())
	for _, w := range r.Waits {
		idle[w.Worker][Copying] += max(0, min(w.End, last)-max(w.Start, first))
	}
	busy := make([]int, len(idle))
	var submitted, ready, paused int
	now := first
	for _, s := range r.steps() {
		if at := min(max(s.at, first), last); at > now {
			why := NoTask
			switch {
			case ready > 0:
				why = Overhead
			case paused > 0:
				why = Throttled
			case submitted > 0:
				why = Waiting
			}
			for w := range idle {
				if busy[w] == 0 {
					idle[w][why] += at - now
				}
			}
			now = at
		}
		submitted, ready, paused = submitted+s.submitted, ready+s.ready, paused+s.paused
		if s.worker >= 0 {
			busy[s.worker] += s.busy
		}
	}
	return idle
}

// steps returns all changes in the order of time. A worker that waits for a copy is busy, because
// Copying is a reason of its own.
func (r *Recording) steps() []step {
	steps := make([]step, 0, 4*len(r.Events)+2*len(r.Pauses))
	occupy := func(worker int, from, to time.Duration) {
		steps = append(steps, step{at: from, worker: worker, busy: 1}, step{at: to, worker: worker, busy: -1})
	}
	seen := make(map[taskKey]bool, len(r.Events))
	for _, e := range r.byTime() {
		occupy(e.Worker, e.Start, e.End)
		if e.share || e.Submitted == 0 && e.Ready == 0 || seen[e.key()] {
			continue
		}
		// A task counts as submitted until its first attempt starts, and as ready from some time
		// before that. Times are read on several goroutines: one may come out too late.
		seen[e.key()] = true
		steps = append(steps,
			step{at: min(e.Submitted, e.Start), worker: -1, submitted: 1},
			step{at: min(e.Ready, e.Start), worker: -1, ready: 1},
			step{at: e.Start, worker: -1, submitted: -1, ready: -1})
	}
	for _, w := range r.Waits {
		if w.Start < w.End {
			occupy(w.Worker, w.Start, w.End)
		}
	}
	for _, p := range r.Pauses {
		steps = append(steps, step{at: p.Start, worker: -1, paused: 1}, step{at: p.End, worker: -1, paused: -1})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps
}
