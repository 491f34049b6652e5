package tuning

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Point is the measurements of one tile size.
type Point struct {
	NB    int
	Rates []float64 // flop/s of each measurement, in order
	cost  time.Duration
}

// Best returns the highest rate: disturbances make a measurement slower, never faster. It returns 0 if there is
// none.
func (p *Point) Best() float64 {
	if len(p.Rates) == 0 {
		return 0
	}
	return slices.Max(p.Rates)
}

// Median returns the median of the rates. It returns 0 if there is none.
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

// Thresholds of the search. The rates of one tile size differ by a few percent between runs; another program on
// the machine can take half of a rate.
const (
	spacing  = 1.45 // minimum ratio of tile sizes in the coarse set
	hopeless = 0.7  // a size below this part of the best rate is not measured again …
	checks   = 2    // … after this many measurements
	promise  = 0.8  // sizes from this part on are measured that often, too
	near     = 0.95 // sizes from this part on are contenders …
	rounds   = 4    // … in this many rounds …
	most     = 4    // … the best of them, at most this many
	gain     = 1.01 // how much faster than the default the winner must be
)

// Search decides what to measure next, and which tile size wins. It expects that rates rise with the tile size
// up to the best and fall beyond it, apart from noise. First it measures a coarse set, from the default
// outwards until sizes become hopeless. Then it measures the neighbours of the best, and last the close
// contenders, in turns. A Search has no clock and measures nothing itself.
type Search struct {
	points []*Point // by ascending tile size
	first  *Point   // the default
	coarse []*Point // in the order of measurement, without the default
}

// NewSearch returns a search among the candidates, in any order, and the default tile size, which always takes
// part.
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

// Add records the rate of a measurement of nb, and its duration.
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

// Next returns the tile size to measure next. ok is false if the search is complete.
func (s *Search) Next() (nb int, ok bool) {
	for _, step := range []func() *Point{s.explore, s.confirm, s.climb, s.compare} {
		if p := step(); p != nil {
			return p.NB, true
		}
	}
	return 0, false
}

// explore returns a point of the coarse set that remains to be measured, or nil. A rate that would end a
// direction is measured once more.
func (s *Search) explore() *Point {
	if len(s.first.Rates) == 0 {
		return s.first
	}
	best := s.best()
	ended := map[bool]bool{} // by direction, true for tile sizes below the default
	for _, p := range s.coarse {
		down := p.NB < s.first.NB
		beyond := best.NB < p.NB == down // the best lies further out than p, or is p
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

// confirm returns a promising point that was measured only once.
func (s *Search) confirm() *Point {
	top := s.best().Best()
	for _, p := range s.points {
		if len(p.Rates) > 0 && len(p.Rates) < checks && p.Best() >= promise*top {
			return p
		}
	}
	return nil
}

// climb returns a neighbour of the best that was measured at most once, so that a single disturbance does not
// keep the search from the top.
func (s *Search) climb() *Point {
	at := slices.Index(s.points, s.best())
	for _, i := range []int{at - 1, at + 1} {
		if i >= 0 && i < len(s.points) && len(s.points[i].Rates) < checks {
			return s.points[i]
		}
	}
	return nil
}

// compare returns the contender, or the default, with the fewest measurements. They take turns, so that
// disturbances affect all of them.
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

// Cost estimates the duration of a measurement of nb from earlier ones of the nearest tile size. It returns 0
// if there is none.
func (s *Search) Cost(nb int) time.Duration {
	measured := s.Points()
	if measured == nil {
		return 0
	}
	distance := func(p Point) int { return max(p.NB-nb, nb-p.NB) }
	return slices.MinFunc(measured, func(a, b Point) int { return cmp.Compare(distance(a), distance(b)) }).cost
}

// Usable reports whether enough was measured for a winner: all points of the coarse set that are not hopeless.
func (s *Search) Usable() bool { return s.explore() == nil }

// Winner returns the fastest point. It returns the default unless another one is faster by more than a percent,
// since less is noise. ok is false if nothing was measured.
func (s *Search) Winner() (p Point, ok bool) {
	b := s.best()
	if s.first.Best()*gain >= b.Best() {
		b = s.first
	}
	return *b, len(b.Rates) > 0
}

// Default returns the measurements of the default.
func (s *Search) Default() Point { return *s.first }

// Points returns all measured points, by ascending tile size.
func (s *Search) Points() []Point {
	var all []Point
	for _, p := range s.points {
		if len(p.Rates) > 0 {
			all = append(all, *p)
		}
	}
	return all
}

// Measure measures a tile size. It returns the rate, and the duration including preparations.
type Measure func(ctx context.Context, nb int) (rate float64, took time.Duration, err error)

// Run measures until the search is complete or the next measurement would exceed the budget. complete reports
// which. The error is that of a measurement, or the cause of the end of ctx.
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
