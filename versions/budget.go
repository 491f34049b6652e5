package versions

import (
	"math"
	"sync/atomic"
)

const (
	// share is the part of a job's time that exploring may be expected to cost. A
	// version of which nothing is known may be four times dearer than it is taken to
	// be, and the job still takes no more than a third longer.
	share = 1.0 / 12
	// secondBest is how many times slower than the first version in the order of
	// preference the second is taken to be where nothing is known, and unlikely
	// what those after it are.
	secondBest = 4
	unlikely   = 16
)

// Budget bounds what a job loses by exploring versions that may be slow: a part of
// the time that it has taken so far. It is safe for concurrent use and must not be
// copied.
type Budget struct {
	// Elapsed returns the seconds since the job began.
	Elapsed func() float64

	spent atomic.Int64 // nanoseconds
}

// spare returns how many seconds may be lost now; a nil budget has none.
func (b *Budget) spare() float64 {
	if b == nil {
		return 0
	}
	return share*b.Elapsed() - float64(b.spent.Load())/1e9
}

// spend takes seconds out of the budget, or puts some back.
func (b *Budget) spend(seconds float64) {
	if b != nil {
		b.spent.Add(int64(seconds * 1e9))
	}
}

// ratio returns how many times slower than the best version of the class candidate
// j is expected to be, where best is that one's mean. What is known goes before
// what is known of the nearest size class, and that before the order of
// preference. A version that is slower for small calls is often even more so
// for large ones. The lock must be held.
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
