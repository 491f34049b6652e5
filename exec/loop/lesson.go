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
	looks     int     // calls with a look, in which the spans of the chunks give the costs of the items
	finer     int     // the next look has 2^finer times as many chunks as the first
	odd       int     // successive calls that were slower, or less balanced, than expected

	// trials are the plans that Auto tries, the best predicted first; nil before the first look.
	// rejected are the other candidates.
	trials, rejected []trial
	favourite        int // the fastest trial, by the latest decision
}

// trial is a plan with its predicted and measured times, in seconds for an item.
type trial struct {
	plan      Plan
	predicted float64
	imbalance float64 // predicted
	runs      int
	last      [4]float64 // of the latest runs
	best      float64    // of all
	lastCall  int        // the call of the latest run
}

const (
	// learnShare is the part of the loop's time that learning may cost, and lookCost the seconds of
	// a look for each worker: thirty predictions of some hundred chunks.
	learnShare = 0.05
	lookCost   = 120e-6
	// minRuns is how often each plan is tried before the fastest is chosen.
	minRuns = 2
	// Auto tries the minTrials plans that are predicted to be the fastest and, while there are fewer
	// than maxTrials, those within a factor of nearby of the best. It also tries the best plan of each
	// layout within a factor of nearbyLayout: how queues affect caches is not predicted.
	minTrials, maxTrials = 3, 6
	nearby, nearbyLayout = 1.05, 1.2
	// retryEvery is the number of calls after which another plan than the fastest is tried again.
	retryEvery = 16
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
	for n := range minRuns {
		for i := range l.trials {
			if l.trials[i].runs <= n {
				return i
			}
		}
	}
	l.favourite = l.fastest()
	if l.calls%retryEvery != 0 {
		return l.favourite
	}
	// Try the others in turn, unless they are hopeless.
	oldest, best := l.favourite, l.trials[l.favourite].score()
	for i := range l.trials {
		if t := &l.trials[i]; t.lastCall < l.trials[oldest].lastCall && t.score() < 1.1*best {
			oldest = i
		}
	}
	return oldest
}

// fastest returns the number of the fastest trial. The favourite stays unless another one is
// clearly faster: a new plan gives workers other items than their caches have.
func (l *lesson) fastest() int {
	best, score := l.favourite, 0.97*l.trials[l.favourite].score()
	for i := range l.trials {
		if x := l.trials[i].score(); x < score {
			best, score = i, x
		}
	}
	return best
}

// score is the best of the latest times, since disturbances can only make a time longer.
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
		if l.spent*learnShare >= lookCost*float64(len(l.locations)*(l.looks+1)) && !l.tooCoarse(s) {
			l.look(s, parts)
		}
	case trial < len(l.trials): // the trials may have changed since
		l.tried(&l.trials[trial], s, took/float64(s.Items))
	}
}

// tried notes a run of a trial, which took perItem seconds for an item. If many successive runs are slower or less
// balanced than expected, the loop has changed: the trials go, and the next call is a look.
func (l *lesson) tried(t *trial, s *Stats, perItem float64) {
	t.last[t.runs%len(t.last)] = perItem
	t.runs++
	t.lastCall = l.calls
	if t.runs == 1 || perItem < t.best {
		t.best = perItem
	}
	if t.runs < len(t.last) || perItem < 1.25*t.best && s.Imbalance() < t.imbalance+0.1 {
		l.odd = 0
		return
	}
	// Wait longer before each further look: the machine may just be busy.
	if l.odd++; l.odd >= 4<<min(l.looks, 10) {
		l.odd, l.trials, l.rejected = 0, nil, nil
	}
}

// tooCoarse reports whether a chunk of a look costs so much that the loop's time depends on where
// in the chunk the cost is, and makes the next look finer. It returns false where more chunks would
// cost too much.
func (l *lesson) tooCoarse(s *Stats) bool {
	var sum, longest time.Duration
	divisible := false // the longest chunk has several items
	for i := range s.Spans {
		x := s.Spans[i].End - s.Spans[i].Start
		if sum += x; x > longest {
			longest, divisible = x, s.Spans[i].Len() > 1
		}
	}
	perWorker := sum.Seconds() / float64(len(l.locations))
	const step = 4
	if !divisible || longest.Seconds() < perWorker/8 || perWorker < 1e-6*coarse*float64(int(1)<<(l.finer+step)) {
		return false
	}
	l.finer += step
	return true
}

// look predicts the times of all candidates from the costs of the items in one call, and chooses the trials.
func (l *lesson) look(s *Stats, parts []Part) {
	l.looks++
	costs := newProfile(s.Spans)
	if costs.total() <= 0 {
		return
	}
	l.chooseTrials(l.predictions(s, parts, costs))
}

// predictions returns a trial for each candidate, the best predicted first.
func (l *lesson) predictions(s *Stats, parts []Part, costs *profile) (all []trial) {
	m := Model{Cost: costs.cost, Start: starts(s.Spans, len(l.locations)), Take: takes, Each: each, Steal: steals}
	n := float64(s.Items)
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
	return all
}

// starts returns when the first chunk of each worker began. A worker without a chunk counts as the last to begin.
func starts(spans []Span, workers int) []float64 {
	start, seen, latest := make([]float64, workers), make([]bool, workers), 0.0
	for i := range spans {
		if w, at := spans[i].Worker, spans[i].Start.Seconds(); !seen[w] || at < start[w] {
			start[w], seen[w] = at, true
			latest = max(latest, at)
		}
	}
	for w := range start {
		if !seen[w] {
			start[w] = latest
		}
	}
	return start
}

// chooseTrials chooses the trials among all candidates, the best predicted first.
func (l *lesson) chooseTrials(all []trial) {
	l.trials, l.rejected, l.favourite = nil, nil, 0
	layouts := map[Layout]bool{}
	for i, x := range all {
		worse := x.predicted / all[0].predicted
		if i < minTrials || worse <= nearby && len(l.trials) < maxTrials || worse <= nearbyLayout && !layouts[x.plan.Layout] {
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
