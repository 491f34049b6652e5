package exec

import (
	"sync/atomic"
	"time"
)

// pace is how long the tasks of a worker take. Where they take less time than
// their bookkeeping does, several workers are slower than one: most of the time
// they wait for cache lines that another core has written last. Then one worker,
// the solo, executes all tasks, and those who submit leave it to that worker to
// put tasks into the graph: see [backlog]. The other workers sleep; one of them
// looks every millisecond whether the one is still getting on.
//
// Which worker executes a task is all that it decides. Policies, retries, teams
// and slots are as ever.
type pace struct {
	left    int           // tasks until the next look at the clock
	since   time.Duration // the last look
	score   int           // of stretches: one for each quick one, slow ones take back several
	timer   *time.Timer   // for solo.lookAfter
	claims  bool          // to be the one
	trusted bool          // with being the one, and has not resigned

	_ [64]byte
	// beat counts stretches, for others to look at.
	beat atomic.Uint64
	_    [56]byte
}

// tempo is what a pace is measured by.
type tempo struct {
	// stretch is the number of tasks from one look at the clock to the next.
	stretch int
	// quick is the longest time of a task that is better left to one worker, two
	// looks at the clock included. One that takes long ends it.
	quick, long time.Duration
	// brisk is the longest mean time of the tasks of a stretch, with what is
	// between them, for one worker that executes all of them, and shared for one of
	// several.
	brisk, shared time.Duration
	// linger is how long a worker without a task looks for one, if that is worth
	// while: some times what waking a sleeping thread costs.
	linger time.Duration
}

// usual is the tempo of all runtimes but those of tests. A task costs 0.3 µs if
// one worker executes all, 0.5 to 1.5 if two share them (docs/internals/measurements.md).
func usual() tempo {
	return tempo{stretch: 32, quick: 300 * time.Nanosecond, long: 1500 * time.Nanosecond, brisk: 2 * time.Microsecond, shared: 4 * time.Microsecond, linger: 200 * time.Microsecond}
}

const (
	// enough is the score from which on a worker may be the one; it is no more when
	// it has come to 0, and never more than full.
	enough, full = 4, 16
	// slack is what a slow stretch costs: an interruption is forgiven, one task in a
	// hundred that takes long is not.
	slack = 4
	// glance is how long the one may seem to stand still before others take over,
	// and alive the least number of stretches that it must have done by then.
	glance, alive = time.Millisecond, 4
)

// epoch is what times in [pace] count from.
var epoch = time.Now()

// begins begins a stretch after the worker has waited: that time is not its tasks'.
func (p *pace) begins(t *tempo) { p.left, p.since = t.stretch, time.Since(epoch) }

// judges ends a stretch whose last task ran from start to end, with times since epoch. The
// last task stands for all: it is timed by itself, so that what is between tasks, which
// depends on who else works, does not count; the mean of the stretch bounds that too.
// Alone says that the worker executes all tasks. It reports whether that is to end.
func (p *pace) judges(t *tempo, start, end time.Duration, alone bool) (resigns bool) {
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
	case p.trusted: // others have found it standing still
		p.trusted, p.score = false, 0
	default:
		p.claims = p.score >= enough
	}
	return false
}
