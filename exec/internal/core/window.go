package core

import "time"

// window says how many tasks a node has at a time: one for each worker and more whose operands it
// fetches meanwhile; if tasks are short, enough to last for a message exchange. A task that takes
// several workers counts that often.
type window struct {
	workers      int
	minPerWorker int // tasks for each worker
	below        int // workers of the nodes below it: one task more for each, which may have children there
	size         int
	last         time.Time // when rate was last updated
	since        int       // tasks that have ended since then
	rate         tally     // tasks a second
}

// A node has at least minAhead tasks for each worker, minAheadOwned if no other node would take
// them, at most maxAhead, and between these as many as it ends in aheadTime. Chosen by LU and
// Cholesky of order 8192 on two agents and by empty tasks on four (docs/internals/measurements.md,
// constants of the runtime).
const (
	minAhead      = 3
	minAheadOwned = 8
	maxAhead      = 64
	aheadTime     = 2 * time.Millisecond
)

// minInterval is the shortest time that updates the rate. Tasks that begin together end together,
// so the time between two of their ends says nothing.
const minInterval = aheadTime / 4

// newWindow returns the window of a node that has begun nothing yet.
func newWindow(workers, least, below int) window {
	return window{workers: workers, minPerWorker: least, below: below, size: least*workers + below}
}

// tasksAreShort reports whether tasks are so short that a worker becomes free before a message
// comes.
func (p *window) tasksAreShort() bool { return p.size > p.minPerWorker*p.workers+p.below }

// noteEnds notes that n tasks have ended, and returns by how much the window has grown, which may
// be negative.
func (p *window) noteEnds(n int, now time.Time) (more int) {
	p.since += n
	if passed := now.Sub(p.last); !p.last.IsZero() {
		if passed < minInterval {
			return 0
		}
		p.rate.add(float64(p.since), passed.Seconds())
	}
	p.last, p.since = now, 0
	was := p.size
	p.size = min(max(int(p.rate.ratio()*aheadTime.Seconds()), p.minPerWorker*p.workers), maxAhead*p.workers) + p.below
	return p.size - was
}

// tally is the ratio of two sums in which later terms weigh more.
type tally struct{ of, in float64 }

// decay is the weight that a tally keeps with each further term: about the last twenty terms count.
const decay = 0.95

func (t *tally) add(of, in float64) { t.of, t.in = decay*t.of+of, decay*t.in+in }

// ratio returns the ratio, 0 if nothing is known.
func (t *tally) ratio() float64 {
	if t.in <= 0 {
		return 0
	}
	return t.of / t.in
}
