package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/internal/words"
)

// Why is the reason of Auto's choice of a plan.
type Why uint8

// The reasons.
const (
	Looking Why = iota // chunks of equal size show what the items cost
	Trying             // it is predicted to be about as fast as the best, and is measured now
	Fastest            // it is the fastest of those measured
)

var whys = words.Of[Why]{"looking at what the items cost", "trying what is predicted to be about the best",
	"the fastest of those measured"}

func (w Why) String() string { return whys.Name(w) }

// Explanation is what Auto has learned at a [Site].
type Explanation struct {
	Name    string
	Lessons []Lesson // by number of items and workers
}

// Lesson is what Auto has learned of loops with about Items items on Workers workers.
type Lesson struct {
	Items, Workers int // of the last call
	Parts          int // number of parts, or 0: see Options.Parts
	Calls          int
	Plans          []PlanExplanation // the best first; none as long as nothing is known
	Chosen         Plan              // of the next call
	Why            Why
}

// PlanExplanation is the part of a Lesson about one plan.
type PlanExplanation struct {
	Plan      Plan
	Predicted time.Duration // for the loop, from the costs of its items
	Imbalance float64       // predicted: see Stats.Imbalance
	Measured  time.Duration // the best of the last runs; 0 if there were none
	Runs      int
}

// Explain returns what Auto would choose for the next call, and why. It changes nothing.
func (s *Site) Explain() Explanation {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Explanation{Name: cmp.Or(s.Name, "loop")}
	for _, l := range s.lessons {
		e.Lessons = append(e.Lessons, l.explain())
	}
	slices.SortStableFunc(e.Lessons, func(a, b Lesson) int {
		return cmp.Or(cmp.Compare(a.Items, b.Items), cmp.Compare(a.Workers, b.Workers), cmp.Compare(a.Parts, b.Parts))
	})
	return e
}

// explain is Explain for one lesson.
func (l *lesson) explain() Lesson {
	e := Lesson{Items: l.items, Workers: len(l.locations), Parts: len(l.places), Calls: l.calls,
		Chosen: l.lookPlan(l.items, 0)}
	for _, some := range [][]trial{l.trials, l.rejected} {
		for i := range some {
			t := &some[i]
			x := PlanExplanation{Plan: t.plan, Predicted: seconds(t.predicted * float64(l.items)), Imbalance: t.imbalance,
				Runs: t.runs}
			if t.runs > 0 {
				x.Measured = seconds(t.score() * float64(l.items))
			}
			e.Plans = append(e.Plans, x)
		}
	}
	if l.trials == nil {
		return e
	}
	next := *l // next counts nothing
	i := next.next()
	e.Chosen, e.Why = l.trials[i].plan, Trying
	if i == l.fastest() && l.trials[i].runs >= minRuns {
		e.Why = Fastest
	}
	return e
}

// String returns the explanation as lines of at most 80 columns, the chosen plan of each
// lesson marked with an arrow.
func (e Explanation) String() string {
	var b strings.Builder
	for _, l := range e.Lessons {
		in, name := "", Plan.String
		if l.Parts > 0 {
			in, name = fmt.Sprintf(" in %d parts", l.Parts), Plan.inParts
		}
		fmt.Fprintf(&b, "%s: %d items%s on %d workers, %d calls\n", e.Name, l.Items, in, l.Workers, l.Calls)
		if len(l.Plans) > 0 {
			fmt.Fprintf(&b, "  %-40s %10s %9s  %s\n", "plan", "predicted", "imbalance", "measured")
		}
		for _, p := range l.Plans {
			mark, measured := " ", ""
			if p.Plan.String() == l.Chosen.String() {
				mark = ">"
			}
			if p.Runs > 0 {
				measured = fmt.Sprintf("%v (%d)", round(p.Measured), p.Runs)
			}
			fmt.Fprintf(&b, "%s %-40s %10v %7.1f %%  %s\n", mark, name(p.Plan), round(p.Predicted), 100*p.Imbalance,
				measured)
		}
		fmt.Fprintf(&b, "next: %v,\n      %v\n", name(l.Chosen), l.Why)
	}
	return b.String()
}

// round leaves four digits or so of a time.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d >= 10000*unit {
		unit *= 10
	}
	return d.Round(unit)
}
