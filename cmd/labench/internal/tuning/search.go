package tuning

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Point is what is known of one tile size.
type Point struct {
	NB    int
	Rates []float64 // flop/s, one of each measurement, in order
	cost  time.Duration
}

// Best returns the highest of the rates: what disturbs a measurement makes it
// slower, never faster. It is 0 if there is none.
func (p *Point) Best() float64 {
	if len(p.Rates) == 0 {
		return 0
	}
	return slices.Max(p.Rates)
}

// Median returns the median of the rates, or 0 if there is none.
func (p *Point) Median() float64 {
	if len(p.Rates) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.Rates))
	mid := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[mid-1] + sorted[mid]) / 2
	}
	return sorted[mid]
}

// What the search is content with. The rates of one tile size differ by some
// percent from run to run, and a neighbour on the machine takes half of one.
const (
	spacing  = 1.45 // ratio of tile sizes of the coarse set, at least
	hopeless = 0.7  // below this part of the best rate no more is measured …
	checks   = 2    // … if it was so in so many measurements
	promise  = 0.8  // from this part on there are so many of them, too
	near     = 0.95 // from this part on a tile size contends …
	rounds   = 4    // … in so many rounds …
	most     = 4    // … with the best so many
	gain     = 1.01 // what the winner must be faster than the default
)

// Search decides what to measure next, and which tile size has won. Rates are
// expected to rise with the tile size up to the best and to fall from there,
// apart from noise: first a coarse set is measured, from the default outwards
// until it becomes hopeless, then what lies around the best, and last in turns
// those that are close to it. A Search has no clock and measures nothing.
type Search struct {
	points []*Point // by ascending tile size
	first  *Point   // the default
	coarse []*Point // in the order of measurement; the default is not in it
}

// NewSearch returns the search among the candidates, in any order, and the
// tile size that is chosen by default, which always takes part.
func NewSearch(candidates []int, byDefault int) *Search {
	sizes := append([]int{byDefault}, candidates...)
	slices.Sort(sizes)
	s := &Search{}
	for _, nb := range slices.Compact(sizes) {
		s.points = append(s.points, &Point{NB: nb})
	}
	at := slices.IndexFunc(s.points, func(p *Point) bool { return p.NB == byDefault })
	s.first = s.points[at]
	for _, down := range []bool{true, false} {
		last := float64(byDefault)
		for i := at; i >= 0 && i < len(s.points); {
			p := s.points[i]
			ratio := float64(p.NB) / last
			if down {
				ratio = 1 / ratio
			}
			end := i == 0 || i == len(s.points)-1
			if p != s.first && (ratio >= spacing || end) {
				s.coarse, last = append(s.coarse, p), float64(p.NB)
			}
			if down {
				i--
			} else {
				i++
			}
		}
	}
	return s
}

// Add tells the rate of a measurement of nb, and how long all of it took.
func (s *Search) Add(nb int, rate float64, took time.Duration) {
	if p := s.point(nb); p != nil {
		p.Rates, p.cost = append(p.Rates, rate), took
	}
}

func (s *Search) point(nb int) *Point {
	i, ok := slices.BinarySearchFunc(s.points, nb, func(p *Point, nb int) int { return cmp.Compare(p.NB, nb) })
	if !ok {
		return nil
	}
	return s.points[i]
}

// best returns the point with the highest rate.
func (s *Search) best() *Point {
	return slices.MaxFunc(s.points, func(a, b *Point) int { return cmp.Compare(a.Best(), b.Best()) })
}

// Next returns the tile size to be measured next; ok is false if the search
// has come to its end.
func (s *Search) Next() (nb int, ok bool) {
	for _, step := range []func() *Point{s.explore, s.confirm, s.climb, s.compare} {
		if p := step(); p != nil {
			return p.NB, true
		}
	}
	return 0, false
}

// explore returns what of the coarse set is still to be measured, or nil. A
// rate that would end a direction is measured once more.
func (s *Search) explore() *Point {
	if len(s.first.Rates) == 0 {
		return s.first
	}
	best := s.best()
	ended := map[bool]bool{} // by direction, true for tile sizes below the default
	for _, p := range s.coarse {
		down := p.NB < s.first.NB
		beyond := best.NB < p.NB == down // the best lies further out, or is p
		falls := p.Best() < hopeless*best.Best() && !beyond
		switch {
		case ended[down]:
		case len(p.Rates) == 0, falls && len(p.Rates) < checks:
			return p
		case falls:
			ended[down] = true
		}
	}
	return nil
}

// confirm returns a point that is promising and was measured but once.
func (s *Search) confirm() *Point {
	top := s.best().Best()
	for _, p := range s.points {
		if len(p.Rates) > 0 && len(p.Rates) < checks && p.Best() >= promise*top {
			return p
		}
	}
	return nil
}

// climb returns a neighbour of the best that was not measured yet, or but once:
// a bad moment must not stand between the search and the top.
func (s *Search) climb() *Point {
	at := slices.Index(s.points, s.best())
	for _, i := range []int{at - 1, at + 1} {
		if i >= 0 && i < len(s.points) && len(s.points[i].Rates) < checks {
			return s.points[i]
		}
	}
	return nil
}

// compare returns the one of the contenders, and of the default, that was
// measured least often: they take turns, so that what disturbs the machine
// meets them all.
func (s *Search) compare() *Point {
	byRate := slices.SortedStableFunc(slices.Values(s.points), func(a, b *Point) int { return cmp.Compare(b.Best(), a.Best()) })
	top := byRate[0].Best()
	var next *Point
	for i, p := range byRate {
		contends := i < most && len(p.Rates) > 0 && p.Best() >= near*top
		if (contends || p == s.first) && len(p.Rates) < rounds && (next == nil || len(p.Rates) < len(next.Rates)) {
			next = p
		}
	}
	return next
}

// Cost returns how long a measurement of nb will take, judged by earlier ones
// of the nearest tile size, or 0 if there is none.
func (s *Search) Cost(nb int) time.Duration {
	measured := s.Points()
	if measured == nil {
		return 0
	}
	distance := func(p Point) int { return max(p.NB-nb, nb-p.NB) }
	return slices.MinFunc(measured, func(a, b Point) int { return cmp.Compare(distance(a), distance(b)) }).cost
}

// Usable reports whether enough was measured to tell a winner: all of the
// coarse set that is not hopeless.
func (s *Search) Usable() bool { return s.explore() == nil }

// Winner returns what was measured to be fastest. The default is given up only
// for what is more than a percent faster: less is noise. ok is false if
// nothing was measured.
func (s *Search) Winner() (p Point, ok bool) {
	b := s.best()
	if s.first.Best()*gain >= b.Best() {
		b = s.first
	}
	return *b, len(b.Rates) > 0
}

// Default returns what is known of the default.
func (s *Search) Default() Point { return *s.first }

// Points returns what was measured, by ascending tile size.
func (s *Search) Points() []Point {
	var all []Point
	for _, p := range s.points {
		if len(p.Rates) > 0 {
			all = append(all, *p)
		}
	}
	return all
}

// Measure measures a tile size. It returns the rate and how long all took,
// with what had to be prepared.
type Measure func(ctx context.Context, nb int) (rate float64, took time.Duration, err error)

// Run measures until the search has come to its end or the next measurement
// would not fit into the budget; complete says which. The error is that of a
// measurement, or the cause of the end of ctx.
func (s *Search) Run(ctx context.Context, budget time.Duration, measure Measure) (complete bool, err error) {
	for {
		nb, more := s.Next()
		if !more {
			return true, nil
		}
		if budget <= 0 || s.Cost(nb) > budget {
			return false, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		rate, took, err := measure(ctx, nb)
		if err != nil {
			return false, err
		}
		s.Add(nb, rate, took)
		budget -= took
	}
}
