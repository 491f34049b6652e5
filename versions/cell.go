package versions

import (
	"sync"
	"sync/atomic"
)

const (
	// tooSlow is the factor over the best mean of its class from which on a
	// version is explored no further. One run of a version that is eight
	// times slower already costs as much as eight good ones; that a second
	// run would turn it into the best is not to be expected once the
	// warm-up is left out. Should the best prove to be slower than it seemed,
	// exploring goes on.
	tooSlow = 8
	// giveUp is the number of exploring runs in a row that may fail before
	// a version is explored no further: a version that never works must not
	// be tried for ever.
	giveUp = 5
	// settled is the number of timed runs after which the chosen version is
	// timed no more: the standard error of its mean is then below a fifth
	// of the standard deviation, and the clock costs more than is learned.
	settled = 32
	// refresh is the number of runs that are timed in every process however
	// much is known, so that a profile does not outlive its truth.
	refresh = 8
	// disturbed is the factor between two runs of one version in one size
	// class from which on the slower one is taken to have been disturbed: by
	// another program on the core, say. A preempted run of a millisecond takes
	// ten; sizes within a class make less than a factor of two.
	disturbed = 3
	// believed is the number of disturbed runs in a row after which they are
	// taken for the truth: the machine has become slower.
	believed = 4
)

// stat is what is known of one version in one size class. Its group's lock
// guards all but warm.
type stat struct {
	total   moments   // loaded and measured, without warm-ups
	cold    moments   // warm-ups, used while there is nothing else
	unsaved []moments // per file of the profile, what it does not hold yet

	seen     int     // runs timed in this process
	low      float64 // fastest run in total, 0 if unknown
	slow     int     // disturbed runs since the last good one
	replaced bool    // total has dropped what came before: files must, too

	inflight int // exploring runs begun and not ended
	failed   int // exploring runs that failed since the last good one

	// warm tells whether a run of the version has ended in this process, in
	// any class. Runs begun before pay for page faults, for the set-up of
	// libraries and for waking the vector units.
	warm *atomic.Bool
}

func (s *stat) known() bool { return s.total.count > 0 || s.cold.count > 0 }

func (s *stat) mean() float64 {
	if s.total.count > 0 {
		return s.total.mean
	}
	return s.cold.mean
}

// add counts a run of perUnit seconds per unit of work. Until there is a run
// that was not a warm-up, warm-ups stand in for it.
func (s *stat) add(perUnit float64, cold bool) {
	s.seen++
	if cold {
		s.cold.add(perUnit)
		s.ran()
		return
	}
	switch {
	case s.total.count == 0:
	case s.low > 0 && perUnit > disturbed*s.low && s.slow+1 < believed:
		// The run counts as one, but its time does not.
		s.slow++
		s.ran()
		return
	case s.low > 0 && perUnit > disturbed*s.low, perUnit*disturbed < s.total.mean:
		// The machine has become slower; or what came before was disturbed.
		s.forget()
	}
	s.slow = 0
	if s.low == 0 || perUnit < s.low {
		s.low = perUnit
	}
	s.total.add(perUnit)
	for i := range s.unsaved {
		s.unsaved[i].add(perUnit)
	}
}

// ran counts a run whose time is not to be used.
func (s *stat) ran() {
	run := moments{runs: 1}
	s.total.merge(run)
	for i := range s.unsaved {
		s.unsaved[i].merge(run)
	}
}

// forget drops the times that are known, but not the number of runs.
func (s *stat) forget() {
	s.total = moments{runs: s.total.runs}
	for i := range s.unsaved {
		s.unsaved[i] = moments{runs: s.unsaved[i].runs}
	}
	s.low, s.replaced = 0, true
}

// wanted reports whether more must be known of s before the class can go by
// expected times, of which best is the lowest.
func (s *stat) wanted(explore uint64, best float64) bool {
	if s.total.runs >= explore || s.failed >= giveUp {
		return false
	}
	return s.total.count == 0 || s.total.mean <= tooSlow*best
}

// open reports whether an exploring run of s may begin now. Until one run has
// shown how slow the version is, there is one at a time, lest every worker
// is caught in it.
func (s *stat) open(explore uint64) bool {
	if s.inflight == 0 {
		return true
	}
	return s.total.count > 0 && s.total.runs+uint64(s.inflight) < explore
}

// group holds the stats of the versions of one op, target and size class.
// Selectors that share a profile share its groups.
type group struct {
	gen   atomic.Uint64 // from 1, changes with every change of a stat
	mu    sync.Mutex    // a leaf
	stats map[string]*stat
}

// cell is a group as seen by a table: the candidates in their order, and the
// choice among them while it holds.
type cell struct {
	group *group
	stats []*stat // per candidate

	// choice is valid as long as its generation is the group's. From the top
	// its bits are the generation, timedBit, firstBit and the candidate.
	choice atomic.Uint64
}

const (
	firstBit = 1 << 14 // chosen because of First, not Fastest
	timedBit = 1 << 15
	genShift = 16
)

// pick returns the candidate to run next and why. It changes nothing. The
// group's lock must be held.
func (c *cell) pick(explore uint64) (i int, why Why) {
	best := -1
	for j, s := range c.stats {
		if s.known() && (best < 0 || s.mean() < c.stats[best].mean()) {
			best = j
		}
	}
	bestMean := 0.0
	if best >= 0 {
		bestMean = c.stats[best].mean()
	}

	next, waiting := -1, false
	load := func(s *stat) uint64 { return s.total.runs + uint64(s.inflight+s.failed) }
	for j, s := range c.stats {
		if s.inflight > 0 {
			waiting = true
		}
		if !s.wanted(explore, bestMean) || !s.open(explore) {
			continue
		}
		if next < 0 || load(s) < load(c.stats[next]) {
			next = j
		}
	}
	switch {
	case next >= 0:
		return next, Exploring
	case waiting:
		return max(best, 0), Waiting
	case best < 0:
		return 0, First
	}
	return best, Fastest
}

// timed reports whether a run of candidate i that was picked because of why
// should be timed.
func (c *cell) timed(i int, why Why) bool {
	switch why {
	case Exploring:
		return true
	case Fastest:
		return c.stats[i].total.count < settled || c.stats[i].seen < refresh
	}
	return false
}

// choose picks the next candidate, takes its slot if it is to be explored,
// and keeps the choice if it is final.
func (c *cell) choose(explore uint64) (i int, why Why, timed bool) {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	i, why = c.pick(explore)
	timed = c.timed(i, why)
	switch why {
	case Exploring:
		c.stats[i].inflight++
		c.group.gen.Add(1)
	case Fastest, First:
		kept := c.group.gen.Load()<<genShift | uint64(i)
		if timed {
			kept |= timedBit
		}
		if why == First {
			kept |= firstBit
		}
		c.choice.Store(kept)
	}
	return i, why, timed
}

// record ends a run of candidate i; slot says that it held one.
func (c *cell) record(i int, perUnit float64, cold, slot bool) {
	s := c.stats[i]
	s.warm.Store(true)
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	s.add(perUnit, cold)
	s.failed = 0
	if slot && s.inflight > 0 {
		s.inflight--
	}
	c.group.gen.Add(1)
}

// abandon gives the slot of candidate i back.
func (c *cell) abandon(i int) {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	s := c.stats[i]
	s.failed++
	if s.inflight > 0 {
		s.inflight--
	}
	c.group.gen.Add(1)
}

// least returns the lowest mean time per unit of work that is known, 0 if none
// is. Warm-ups tell nothing: the first call on an accelerator may load libraries.
func (c *cell) least() float64 {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	least := 0.0
	for _, st := range c.stats {
		if m := st.total.mean; st.total.count > 0 && (least == 0 || m < least) {
			least = m
		}
	}
	return least
}
