package exec

import (
	"sync/atomic"
	"time"
)

// pace measures how long a worker's tasks take. If they take less time than their bookkeeping,
// several workers are slower than one: most of the time they wait for cache lines that another core
// has just written. Then one worker, the solo, executes all tasks, and submitters leave it to that
// worker to put tasks into the graph: see [backlog]. The other workers sleep; one of them checks
// every millisecond that the solo still gets on.
//
// It only decides which worker executes a task. Policies, retries, teams and slots are not
// affected.
type pace struct {
	left    int           // tasks until the next look at the clock
	since   time.Duration // time of the last look
	score   int           // grows by 1 with a quick stretch, falls by slack with a slow one
	timer   *time.Timer   // for solo.lookAfter
	claims  bool          // wants to be the solo
	trusted bool          // is the solo, and has not resigned

	_ [64]byte
	// beat counts stretches, for solo.lookAfter.
	beat atomic.Uint64
	_    [56]byte
}

// tempo has the thresholds of a pace.
type tempo struct {
	// stretch is the number of tasks from one look at the clock to the next.
	stretch int
	// quick is the longest time of a task, with two looks at the clock, that is better left to one
	// worker. A task of length long ends the solo.
	quick, long time.Duration
	// brisk is the longest mean time of a stretch's tasks, with the gaps between them, for a solo,
	// and shared for one of several workers.
	brisk, shared time.Duration
	// linger is how long a lingering worker looks for a task: a few times what waking a thread
	// costs.
	linger time.Duration
}

// usual is the tempo of all runtimes except those of tests. A task costs 0.3 µs if one worker
// executes all, 0.5 to 1.5 if two share them (docs/internals/measurements.md).
func usual() tempo {
	return tempo{stretch: 32, quick: 300 * time.Nanosecond, long: 1500 * time.Nanosecond, brisk: 2 * time.Microsecond,
		shared: 4 * time.Microsecond, linger: 200 * time.Microsecond}
}

const (
	// enough is the least score of a worker that becomes the solo; it resigns at 0. full is the
	// largest score.
	enough, full = 4, 16
	// slack is what a slow stretch costs: one interruption is forgiven, one long task in a hundred
	// is not.
	slack = 4
	// glance is how long the solo may seem to stand still before others take over, and alive the
	// number of stretches that it must have done by then.
	glance, alive = time.Millisecond, 4
)

// epoch is the zero of the times in [pace].
var epoch = time.Now()

// begin begins a stretch after the worker has waited: the wait is not part of it.
func (p *pace) begin(t *tempo) { p.left, p.since = t.stretch, time.Since(epoch) }

// judge ends a stretch whose last task ran from start to end, as times since epoch. That task
// stands for all: timed alone, it excludes the gaps between tasks, which depend on other workers;
// the mean of the stretch bounds the gaps. alone says that the worker is the solo. judges reports
// whether it is to resign.
func (p *pace) judge(t *tempo, start, end time.Duration, alone bool) (resigns bool) {
	limit := t.shared
	if alone {
		limit = t.brisk
	}
	switch {
	case end-start >= t.long:
		p.score = 0
	case end-start < t.quick && end-p.since < limit*time.Duration(t.stretch):
		p.score = min(p.score+1, full)
	default:
		p.score = max(p.score-slack, 0)
	}
	p.left, p.since = t.stretch, end
	switch {
	case alone && p.score > 0:
		p.beat.Add(1)
	case alone:
		return true
	case p.trusted: // other workers have found it standing still
		p.trusted, p.score = false, 0
	default:
		p.claims = p.score >= enough
	}
	return false
}
