package core

import "time"

// pace is how fast a node ends tasks, and how many it has at a time: one for each worker
// that it executes and others whose operands it fetches meanwhile, and if tasks are short,
// enough for the way of a message there and back. A task that takes several workers counts as
// so many.
type pace struct {
	workers int
	least   int // tasks for each worker
	below   int // workers of nodes below it: a task more for each, which may have children there
	size    int
	last    time.Time
	since   int   // tasks that have ended since then, and are not in the rate
	rate    tally // tasks, in seconds
}

// A node has at least ahead tasks for each worker, aheadOwned where nobody else would take
// them, at most aheadMost, and between these what it ends in aheadTime. LU of order 8192 on two
// agents of a core each: 83 GFLOP/s with 3 of its own a worker, 87 with 5, 88 with 8, 91 with
// 12; Cholesky 91, 92, 93 and 86 (medians of five, 2 cores, EPYC, 2026-11-24). Empty tasks to four agents in one process (2 cores, EPYC): 29 µs each
// with 3 a worker, 27 with 8, 12 with 32.
const (
	ahead      = 3
	aheadOwned = 8
	aheadMost  = 64
	aheadTime  = 2 * time.Millisecond
)

// paceTime is the shortest time that counts. Tasks that begin together end together: the time
// between two of them says nothing.
const paceTime = aheadTime / 4

// newPace returns the pace of a node that has begun nothing yet.
func newPace(workers, least, below int) pace {
	return pace{workers: workers, least: least, below: below, size: least*workers + below}
}

// quick reports whether tasks are so short that a worker will be free before a message comes.
func (p *pace) quick() bool { return p.size > p.least*p.workers+p.below }

// ended notes that a node has ended n tasks, and returns how many more it may have than
// before, which may be less than 0.
func (p *pace) ended(n int, now time.Time) (more int) {
	p.since += n
	if passed := now.Sub(p.last); !p.last.IsZero() {
		if passed < paceTime {
			return 0
		}
		p.rate.add(float64(p.since), passed.Seconds())
	}
	p.last, p.since = now, 0
	was := p.size
	p.size = min(max(int(p.rate.ratio()*aheadTime.Seconds()), p.least*p.workers), aheadMost*p.workers) + p.below
	return p.size - was
}

// tally is two sums of which the ratio counts, the later terms more.
type tally struct{ of, in float64 }

// forgets is the part of a tally that is left after one more term: ratios are those of some
// twenty terms.
const forgets = 0.95

func (t *tally) add(of, in float64) { t.of, t.in = forgets*t.of+of, forgets*t.in+in }

// ratio returns the ratio, 0 if nothing is known.
func (t *tally) ratio() float64 {
	if t.in <= 0 {
		return 0
	}
	return t.of / t.in
}
