package loop

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// lesson is what Auto has learned of a loop with about a number of items on a number of workers.
//
//	looking ─► the costs of the items ─► Predict for all candidates ─► trying the best ─► the fastest
//	   ▲                                                                                      │
//	   └──── it has become slower, or less balanced than predicted ◄──────────────────────────┘
//
// It reads no clock: the times of calls are arguments.
type lesson struct {
	class     int // of the number of items: from 2^(class−1) to below 2^class
	locations []int
	places    []int // of the parts; nil if the items are in queues of the plan
	items     int   // of the last call
	calls     int
	spent     float64 // seconds in all calls
	looks     int
	finer     int // the next look's chunks are finer by so many powers of two
	odd       int // successive calls that were not as expected

	// trials are the plans considered, the best predicted first; nil before the first look.
	// rejected are the others.
	trials, rejected []trial
	favourite        int // the chosen trial
}

// trial is a plan with its predicted and measured times, in seconds for an item.
type trial struct {
	plan      Plan
	predicted float64
	imbalance float64 // predicted
	runs      int
	last      [4]float64 // of the latest runs
	best      float64    // of all
	at        int        // the call of the latest run
}

const (
	// share is the part of the loop's time that learning may cost, and thought the cost of a look
	// for each worker: thirty predictions of some hundred chunks.
	share   = 0.05
	thought = 120e-6
	// enough is how often a plan is tried before the fastest is chosen. The tried plans are those
	// predicted nearly as fast as the best (at most most, at least fewest) and the best one of each
	// layout if it is likely to be as fast: effects of queues on caches are not predicted.
	enough               = 2
	nearly, most, fewest = 1.05, 6, 3
	likely               = 1.2
	// pause is the number of calls between later trials of other plans.
	pause = 16
)

// choose returns the plan of the next call and the number of its trial, -1 for a look, whose spans
// are needed.
func (l *lesson) choose(items, grain int) (Plan, int) {
	l.items = items
	l.calls++
	if l.trials == nil {
		return l.lookPlan(items, grain), -1
	}
	i := l.next()
	p := l.trials[i].plan
	p.Grain = max(p.Grain, grain)
	return p, i
}

// lookPlan returns the plan of a look.
func (l *lesson) lookPlan(items, grain int) Plan {
	p := unknown(items, len(l.locations), coarse<<l.finer, grain)
	if l.places != nil { // these are the queues
		p.Layout, p.Shares = Central, false
	}
	return p
}

// next returns the number of the trial for the next call.
func (l *lesson) next() int {
	for n := range enough {
		for i := range l.trials {
			if l.trials[i].runs <= n {
				return i
			}
		}
	}
	l.favourite = l.fastest()
	if l.calls%pause == 0 {
		// Try the others in turn, unless they are hopeless.
		oldest, best := l.favourite, l.trials[l.favourite].score()
		for i := range l.trials {
			if t := &l.trials[i]; t.at < l.trials[oldest].at && t.score() < 1.1*best {
				oldest = i
			}
		}
		return oldest
	}
	return l.favourite
}

// fastest returns the number of the fastest trial. The favourite stays unless another one is
// clearly faster: a new plan gives workers other items than their caches have.
func (l *lesson) fastest() int {
	best := l.favourite
	for i := range l.trials {
		if l.trials[i].score() < 0.97*l.trials[l.favourite].score() && l.trials[i].score() < l.trials[best].score() {
			best = i
		}
	}
	return best
}

// score is the best of the latest times: disturbances only make the others worse.
func (t *trial) score() float64 {
	n := min(t.runs, len(t.last))
	if n == 0 {
		return math.Inf(1)
	}
	return slices.Min(t.last[:n])
}

// learn learns from a successful call: of a trial, or of a look with spans. parts are the call's.
func (l *lesson) learn(s *Stats, trial int, parts []Part) {
	if s.Items == 0 {
		return
	}
	took := s.Took.Seconds()
	l.spent += took
	switch {
	case trial < 0:
		if l.spent*share >= thought*float64(len(l.locations)*(l.looks+1)) && !l.tooCoarse(s) {
			l.look(s, parts)
		}
	case trial < len(l.trials): // the trials may have changed since
		l.tried(&l.trials[trial], s, took/float64(s.Items))
	}
}

// tried notes a run of a trial. If the loop's times or balance have changed for long, it starts a
// new look.
func (l *lesson) tried(t *trial, s *Stats, x float64) {
	t.last[t.runs%len(t.last)] = x
	t.runs++
	t.at = l.calls
	if t.runs == 1 || x < t.best {
		t.best = x
	}
	if t.runs < len(t.last) || x < 1.25*t.best && s.Imbalance() < t.imbalance+0.1 {
		l.odd = 0
		return
	}
	// Wait longer before each further look: the machine may just be busy.
	if l.odd++; l.odd >= 4<<min(l.looks, 10) {
		l.odd, l.trials, l.rejected = 0, nil, nil
	}
}

// tooCoarse reports whether a chunk of a look costs so much that the loop's time depends on where
// in the chunk the cost is. It makes the next look finer then, if that does not cost much.
func (l *lesson) tooCoarse(s *Stats) bool {
	var sum, most time.Duration
	divisible := false
	for i := range s.Spans {
		x := s.Spans[i].End - s.Spans[i].Start
		if sum += x; x > most {
			most, divisible = x, s.Spans[i].Len() > 1
		}
	}
	share := sum.Seconds() / float64(len(l.locations)) // of each worker
	const step = 4
	if !divisible || most.Seconds() < share/8 || share < 1e-6*coarse*float64(int(1)<<(l.finer+step)) {
		return false
	}
	l.finer += step
	return true
}

// look predicts the times of all candidates from the costs of the items in one call.
func (l *lesson) look(s *Stats, parts []Part) {
	l.looks++
	costs := newProfile(s.Spans)
	if costs.total() <= 0 {
		return
	}
	// A worker starts when its first chunk begins.
	start := make([]float64, len(l.locations))
	seen := make([]bool, len(l.locations))
	latest := 0.0
	for i := range s.Spans {
		if w, at := s.Spans[i].Worker, s.Spans[i].Start.Seconds(); !seen[w] || at < start[w] {
			start[w], seen[w] = at, true
			latest = max(latest, at)
		}
	}
	for w := range start {
		if !seen[w] {
			start[w] = latest
		}
	}
	m := Model{Cost: costs.cost, Start: start, Take: takes, Each: each, Steal: steals}
	n := float64(s.Items)
	var all []trial
	plans := candidates(s.Items, l.locations, 0, costs.total())
	if parts != nil {
		plans = candidatesInParts(plans)
	}
	for _, p := range plans {
		var d *Dispenser
		if parts != nil {
			d = NewPartsDispenser(parts, l.locations, p)
		} else {
			d = NewDispenser(s.Items, l.locations, p)
		}
		x := predict(d, s.Items, m)
		all = append(all, trial{plan: p, predicted: x.Took.Seconds() / n, imbalance: x.Imbalance()})
	}
	slices.SortStableFunc(all, func(a, b trial) int { return cmp.Compare(a.predicted, b.predicted) })
	l.trials, l.rejected, l.favourite = nil, nil, 0
	layouts := map[Layout]bool{}
	for i, x := range all {
		worse := x.predicted / all[0].predicted
		if i < fewest || worse <= nearly && len(l.trials) < most || worse <= likely && !layouts[x.plan.Layout] {
			layouts[x.plan.Layout] = true
			l.trials = append(l.trials, x)
		} else {
			l.rejected = append(l.rejected, x)
		}
	}
}

// Overhead of a chunk in seconds, measured on two cores of an EPYC of the Turin generation by
// BenchmarkDispenser and BenchmarkChunk: see docs/loops.md.
const takes, each, steals = 20e-9, 15e-9, 60e-9

// elapsed is the duration of items at a time for each.
func elapsed(perItem float64, items int) time.Duration { return seconds(perItem * float64(items)) }
