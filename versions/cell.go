package versions

import (
	"math"
	"sync"
	"sync/atomic"
)

// book is the knowledge of the versions of one op on one target. Selectors that share a profile
// share its books.
type book struct {
	gen     atomic.Uint64 // from 1, changes with every change of a stat
	mu      sync.Mutex    // a leaf
	records map[string]*record
}

// record is the knowledge of one version: a stat for each size class, nil for classes never asked
// for. The book's lock guards the stats.
type record struct {
	stats [NumClasses]*stat
	// warm says that a run of the version has ended in this process, in any class. Earlier runs pay
	// for page faults, for the set-up of libraries and for waking the vector units.
	warm atomic.Bool
}

// record returns the record of a version, and adds it if there is none. The lock must be held.
func (b *book) record(version string) *record {
	r := b.records[version]
	if r == nil {
		r = new(record)
		b.records[version] = r
	}
	return r
}

// stat returns the stat of a class, and adds it if there is none. The book's lock must be held.
func (r *record) stat(class int) *stat {
	if r.stats[class] == nil {
		r.stats[class] = new(stat)
	}
	return r.stats[class]
}

// cell is one size class of a book as seen by a table: the candidates in their
// order, and the choice among them while it holds.
type cell struct {
	book    *book
	class   int
	records []*record // per candidate
	stats   []*stat   // per candidate, those of the class

	// choice is valid as long as its generation is the book's. From the top
	// its bits are the generation, the flags below and the candidate.
	choice atomic.Uint64
	// need is what the cheapest run of exploring costs per unit of work, where
	// choice says that one awaits a budget: the bits of a float64.
	need atomic.Uint64
}

const (
	awaitBit = 1 << 13 // exploring awaits a budget
	firstBit = 1 << 14 // chosen because of First, not Fastest
	timedBit = 1 << 15
	genShift = 16
)

// best returns the candidate with the lowest known mean in a class, that mean, and the number of
// candidates with known means: -1, 0 and 0 if there is none. The lock must be held.
func (c *cell) best(class int) (best int, mean float64, known int) {
	best = -1
	for j, r := range c.records {
		s := r.stats[class]
		if s == nil || !s.known() {
			continue
		}
		if known++; best < 0 || s.mean() < mean {
			best, mean = j, s.mean()
		}
	}
	return best, mean, known
}

// verdict is the result of pick.
type verdict struct {
	candidate int
	why       Why
	best      float64 // lowest known mean, 0 if none is
	// cost is the expected time of an exploring run beyond the best, per unit of work. If nothing
	// is explored, it is the lowest cost above the budget, +Inf if there was none.
	cost float64
}

// pick returns the candidate to run next. Exploring must not cost more than spare per unit of work.
// It changes nothing. The lock must be held.
func (c *cell) pick(explore uint64, spare float64) verdict {
	best, mean, _ := c.best(c.class)
	v := verdict{candidate: -1, best: mean, cost: math.Inf(1)}
	waiting, first := false, -1
	dear := math.Inf(1)
	load := func(s *stat) uint64 { return s.total.runs + uint64(s.inflight+s.failed) }
	for j, s := range c.stats {
		if first < 0 && s.failed < giveUp {
			first = j
		}
		if s.inflight > 0 {
			waiting = true
		}
		if !s.wanted(explore, mean) || !s.open(explore) {
			continue
		}
		cost := 0.0
		switch {
		case best >= 0:
			cost = mean * max(0, c.ratio(j, mean)-1)
		case j != first:
			cost = math.Inf(1)
		}
		if cost > spare {
			dear = min(dear, cost)
		} else if v.candidate < 0 || load(s) < load(c.stats[v.candidate]) {
			v.candidate, v.why, v.cost = j, Exploring, cost
		}
	}
	if v.candidate >= 0 {
		return v
	}
	v.cost = dear
	switch {
	case waiting && best < 0:
		v.candidate, v.why = max(first, 0), Waiting
	case waiting:
		v.candidate, v.why = best, Waiting
	case best < 0:
		v.candidate, v.why = 0, First
	default:
		v.candidate, v.why = best, Fastest
	}
	return v
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
func (c *cell) choose(explore uint64, spare float64) (v verdict, timed bool) {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	v = c.pick(explore, spare)
	timed = c.timed(v.candidate, v.why)
	switch v.why {
	case Exploring:
		c.stats[v.candidate].inflight++
		c.book.gen.Add(1)
	case Fastest, First:
		c.keep(v, timed)
	}
	return v, timed
}

// keep keeps a final choice. The book's lock must be held.
func (c *cell) keep(v verdict, timed bool) {
	bits := c.book.gen.Load()<<genShift | uint64(v.candidate)
	if timed {
		bits |= timedBit
	}
	if v.why == First {
		bits |= firstBit
	}
	if !math.IsInf(v.cost, 1) {
		bits |= awaitBit
		c.need.Store(math.Float64bits(v.cost))
	}
	c.choice.Store(bits)
}

// kept returns the choice that [cell.keep] kept, but for verdict.best. ok is false if it holds no more.
func (c *cell) kept() (v verdict, timed, ok bool) {
	bits := c.choice.Load()
	v = verdict{candidate: int(bits & (awaitBit - 1)), why: Fastest, cost: math.Inf(1)}
	if bits&firstBit != 0 {
		v.why = First
	}
	if bits&awaitBit != 0 {
		v.cost = math.Float64frombits(c.need.Load())
	}
	return v, bits&timedBit != 0, bits>>genShift == c.book.gen.Load()
}

// end ends a run of candidate i; slot says that it was an exploring one.
func (c *cell) end(i int, perUnit float64, cold, slot bool) {
	c.records[i].warm.Store(true)
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	s := c.stats[i]
	s.add(perUnit, cold)
	s.failed = 0
	if slot && s.inflight > 0 {
		s.inflight--
	}
	c.book.gen.Add(1)
}

// abandon gives the slot of candidate i back.
func (c *cell) abandon(i int) {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	s := c.stats[i]
	s.failed++
	if s.inflight > 0 {
		s.inflight--
	}
	c.book.gen.Add(1)
}

// least returns the lowest known mean time per unit of work, 0 if none is known. Warm-ups do not
// count: the first call on an accelerator may load libraries.
func (c *cell) least() float64 {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	least := 0.0
	for _, st := range c.stats {
		if m := st.total.mean; st.total.count > 0 && (least == 0 || m < least) {
			least = m
		}
	}
	return least
}

// ratio returns how many times slower than best, the best mean of the class, candidate j is
// expected to be. Its own times come first, then those of the nearest size class, then the order of
// preference. A version that is slower for small calls is often even slower for large ones. The
// lock must be held.
func (c *cell) ratio(j int, best float64) float64 {
	if s := c.stats[j]; s.total.count > 0 {
		return s.total.mean / best
	}
	guess := 1.0
	switch {
	case j == 1:
		guess = secondBest
	case j > 1:
		guess = unlikely
	}
	for d := 1; d < sizes; d++ {
		for _, class := range [2]int{c.class - d, c.class + d} {
			if class < 0 || class >= NumClasses || class/sizes != c.class/sizes {
				continue
			}
			s := c.records[j].stats[class]
			_, mean, known := c.best(class)
			if s == nil || s.total.count == 0 || known < 2 {
				continue
			}
			r := s.total.mean / mean
			if class < c.class {
				r = max(r, min(guess, 1+(r-1)*math.Exp2(float64(d))))
			}
			return r
		}
	}
	if s := c.stats[j]; s.known() {
		return min(unlikely, s.mean()/best)
	}
	return guess
}
