package versions

const (
	// tooSlow is the factor over the best mean of the class above which a version is explored no
	// further: one of its runs costs as much as eight good ones, and after the warm-up a second run
	// is unlikely to make it the best. If the best proves to be slower, exploring goes on.
	tooSlow = 8
	// giveUp is the number of exploring runs in a row that may fail before a version is explored no
	// further: a version that never works must not be tried for ever.
	giveUp = 5
	// settled is the number of timed runs after which the chosen version is not timed any more: the
	// standard error of its mean is then below a fifth of the standard deviation, and the clock
	// costs more than it tells.
	settled = 32
	// refresh is the number of runs that are timed in every process however
	// much is known, so that a profile does not outlive its truth.
	refresh = 8
	// again is the number of runs, warm-ups included, that are timed in every process of a version
	// that is close to the best, as far as the budget allows: old times from a slower core must not
	// exclude it for ever.
	again = 3
	// alike is the factor by which two runs of one version in one size class may
	// differ as their sizes do.
	alike = 2
	// disturbed is the factor between two runs of one version in one size class above which the
	// slower one counts as disturbed, by another program on the core, say. A preempted run of a
	// millisecond takes ten; sizes within a class make less than a factor of two.
	disturbed = 3
	// believed is the number of disturbed runs in a row after which they are
	// taken for the truth: the machine has become slower.
	believed = 4
	// secondBest is how many times slower than the first version in the order of preference an
	// unknown second one is guessed to be, and unlikely the later ones.
	secondBest = 4
	unlikely   = 16
)

// stat is the knowledge of one version in one size class. The book's lock guards it.
type stat struct {
	total   moments   // loaded and measured, without warm-ups
	cold    moments   // warm-ups, used while there is nothing else
	unsaved []moments // for each file of the profile, the runs that it does not have yet

	seen     int     // runs timed in this process
	low      float64 // fastest run in total, 0 if unknown
	slow     int     // disturbed runs since the last good one
	replaced bool    // total has dropped earlier runs: files must, too

	inflight int // exploring runs begun and not ended
	failed   int // exploring runs that failed since the last good one
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
	case s.low > 0 && perUnit > disturbed*s.low, perUnit*alike < s.total.mean:
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

// ran counts a run whose time is not used.
func (s *stat) ran() {
	run := moments{runs: 1}
	s.total.merge(run)
	for i := range s.unsaved {
		s.unsaved[i].merge(run)
	}
}

// forget drops all times: the version is explored anew.
func (s *stat) forget() {
	s.total = moments{}
	clear(s.unsaved)
	s.low, s.replaced = 0, true
}

// wanted reports whether s needs more runs before expected times decide in its class, where best is
// the lowest mean.
func (s *stat) wanted(explore uint64, best float64) bool {
	if s.failed >= giveUp {
		return false
	}
	if s.total.runs >= explore {
		return uint64(s.seen) < min(again, explore) && s.total.mean <= disturbed*best
	}
	return s.total.count == 0 || s.total.mean <= tooSlow*best
}

// open reports whether an exploring run of s may begin now. Until a run has shown how slow the
// version is, there is one at a time: else all workers could be caught in slow runs.
func (s *stat) open(explore uint64) bool {
	if s.inflight == 0 {
		return true
	}
	return s.total.count > 0 && s.total.runs+uint64(s.inflight) < explore
}
