package loop

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec"
)

// costs are loops whose items cost what the name says: the seconds of items from a part of all
// to another one, both from 0 to 1, as a part of all.
func costs() map[string]func(from, to float64) float64 {
	part := func(f func(float64) float64) func(float64, float64) float64 {
		return func(from, to float64) float64 { return f(to) - f(from) }
	}
	return map[string]func(from, to float64) float64{
		"alike":      part(func(x float64) float64 { return x }),
		"falling":    part(func(x float64) float64 { return 2*x - x*x }),
		"rising":     part(func(x float64) float64 { return x * x }),
		"graph":      part(func(x float64) float64 { return math.Pow(x, 0.4) }), // the rows of an R-MAT graph
		"one in all": part(func(x float64) float64 { return 0.7*x + 0.3*max(0, min(1, (x-0.6)*1e4)) }),
	}
}

// machine is what a loop takes there: Predict, with chunks that now and then are disturbed.
func machine(n int, total float64, cost func(from, to float64) float64, rnd *rand.Rand, spans bool) Model {
	return Model{
		Cost: func(c Chunk) float64 {
			x := total * cost(float64(c.Lo)/float64(n), float64(c.Hi)/float64(n))
			if rnd != nil {
				x *= 1 + 0.02*rnd.Float64()
				if rnd.IntN(1000) == 0 {
					x += 50e-6
				}
			}
			return x
		},
		Take: takes, Each: each, Steal: steals, Spans: spans,
	}
}

// TestAuto: after some calls Auto is within five percent of the best of all plans, for loops
// long and short, of few and many items, on small and large machines; and a call is never
// much slower than the plan that knows nothing.
func TestAuto(t *testing.T) {
	for name, cost := range costs() {
		for _, test := range []struct {
			locations []int
			items     int
			total     float64
			calls     int // that it takes at most to learn
		}{
			{[]int{0, 0}, 100, 1e-3, 50}, {[]int{0, 0}, 1 << 20, 200e-6, 100}, {[]int{0, 0}, 1 << 20, 1e-2, 30},
			{times(10, 0), 5000, 20e-3, 20}, {append(times(28, 0), times(28, 1)...), 1 << 20, 2, 20},
		} {
			if len(test.locations) > 10 && name != "graph" { // takes long
				continue
			}
			n, locations, total := test.items, test.locations, test.total
			rnd := rand.New(rand.NewPCG(9, 10))
			l := &lesson{locations: locations}
			sum, calls := 0.0, 0
			for call := range test.calls + 20 {
				p, trial := l.choose(n, 0)
				s := Predict(n, locations, p, machine(n, total, cost, rnd, trial < 0))
				l.learn(&s, trial, nil)
				if call >= test.calls {
					sum += s.Took.Seconds()
					calls++
				}
			}
			best, which := math.Inf(1), Plan{}
			for _, p := range append(candidates(n, locations, 0, total), candidates(n, locations, 1, math.Inf(1))...) {
				if x := Predict(n, locations, p, machine(n, total, cost, nil, false)); x.Took.Seconds() < best {
					best, which = x.Took.Seconds(), p
				}
			}
			// The machine is disturbed meanwhile, which the best here is not.
			if got := sum / float64(calls); got > 1.07*best {
				t.Errorf("%s, %d items in %v s on %d workers: %.3g s, best %.3g s by %v\n%v", name, n, total, len(locations), got, best, which, explained(l))
			}
		}
	}
}

func explained(l *lesson) Explanation {
	return Explanation{Name: "test", Lessons: []Lesson{l.explain()}}
}

// TestAutoInParts: Auto finds the scheme for items in parts, each of which is a queue, and says
// so; parts in other places are another loop.
func TestAutoInParts(t *testing.T) {
	const n, total = 1 << 18, 10e-3
	parts := []Part{{n / 2, 0}, {n / 4, 1}, {n / 4, 1}}
	workers := []exec.Worker{{ID: 0}, {ID: 1, Location: 1}, {ID: 2, Location: 1}}
	locations := []int{0, 1, 1}
	for _, name := range []string{"alike", "graph", "one in all"} {
		var site Site
		cost := costs()[name]
		in := func(p Plan, spans bool) Stats {
			return predict(NewPartsDispenser(parts, locations, p), n, machine(n, total, cost, nil, spans))
		}
		last := 0.0
		for range 40 {
			p, trial, l := site.choose(n, 8, workers, parts)
			if p.Layout != Central || p.Shares || p.Grain < 8 {
				t.Fatalf("%s: %v", name, p)
			}
			s := in(p, trial < 0)
			site.learn(l, &s, trial, parts)
			last = s.Took.Seconds()
		}
		best := math.Inf(1)
		for _, scheme := range Schemes() {
			for _, grain := range []int{8, n / 3 / 64, n / 3 / 8} {
				best = min(best, in(Plan{Scheme: scheme, Grain: grain}, false).Took.Seconds())
			}
		}
		e := site.Explain()
		if last > 1.05*best || len(e.Lessons) != 1 || e.Lessons[0].Parts != 3 || e.Lessons[0].Why != Fastest {
			t.Errorf("%s: %.3g s, best %.3g s\n%v", name, last, best, e)
		}
		if text := e.String(); !strings.Contains(text, "in 3 parts on 3 workers") || !strings.Contains(text, " parts") || strings.Contains(text, "central") {
			t.Error(text)
		}
		if _, trial, _ := site.choose(n, 0, workers, nil); trial >= 0 || len(site.Explain().Lessons) != 2 {
			t.Errorf("%s: what was learned of parts is used without", name)
		}
		if _, trial, _ := site.choose(n, 0, workers, []Part{{n / 2, 0}, {n / 4, 0}, {n / 4, 1}}); trial >= 0 {
			t.Errorf("%s: what was learned of parts is used for parts elsewhere", name)
		}
	}
}

// TestAutoTurns: loops over items in as many parts, but in other places, learn apart, in turns and
// when they overlap. A site keeps the lessons that were wanted last.
func TestAutoTurns(t *testing.T) {
	const n, calls = 1 << 18, 10
	workers, locations := []exec.Worker{{ID: 0}, {ID: 1, Location: 1}}, []int{0, 1}
	two := [][]Part{{{n / 2, 0}, {n / 2, 1}}, {{n / 2, 1}, {n / 2, 1}}}
	var site Site
	for range calls {
		var learn []func()
		for _, parts := range two {
			p, trial, l := site.choose(n, 8, workers, parts)
			s := predict(NewPartsDispenser(parts, locations, p), n, machine(n, 10e-3, costs()["graph"], nil, trial < 0))
			learn = append(learn, func() { site.learn(l, &s, trial, parts) })
		}
		for _, f := range learn {
			f()
		}
	}
	e := site.Explain()
	if len(e.Lessons) != 2 {
		t.Fatalf("%d lessons\n%v", len(e.Lessons), e)
	}
	for _, l := range e.Lessons {
		runs := 0
		for _, p := range l.Plans {
			runs += p.Runs
		}
		if l.Calls != calls || runs < calls/2 {
			t.Errorf("%d calls, and %d runs of plans, want all of %d but some looks\n%v", l.Calls, runs, calls, e)
		}
	}
	for i := range 2 * maxLessons {
		site.choose(n, 8, workers, []Part{{n, i}})
		if _, trial, _ := site.choose(n, 8, workers, two[0]); trial < 0 || len(site.lessons) > maxLessons {
			t.Fatalf("after %d others: trial %d of %d lessons", i, trial, len(site.lessons))
		}
	}
}

// TestAutoSoon: a loop of some milliseconds is understood after one call.
func TestAutoSoon(t *testing.T) {
	cost := costs()["graph"]
	const n, total = 1 << 20, 20e-3
	l := &lesson{locations: []int{0, 0}}
	var took []float64
	for range 8 {
		p, trial := l.choose(n, 0)
		s := Predict(n, l.locations, p, machine(n, total, cost, nil, trial < 0))
		l.learn(&s, trial, nil)
		took = append(took, s.Took.Seconds())
	}
	if slices.Max(took) > 1.05*total/2 {
		t.Errorf("%v, best possible %v", took, total/2)
	}
	static := Predict(n, l.locations, Plan{Scheme: Static}, machine(n, total, cost, nil, false))
	if lost := 1 - total/2/static.Took.Seconds(); math.Abs(lost-static.Imbalance()) > 0.01 {
		t.Errorf("STATIC loses %v by an imbalance of %v", lost, static.Imbalance())
	}
	e := explained(l)
	if e.Lessons[0].Why != Trying && e.Lessons[0].Why != Fastest {
		t.Errorf("%v", e)
	}
	text := e.String()
	for _, want := range []string{"8 calls", "static central", "next: ", "%"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
			t.Errorf("a long line: %s", line)
		}
	}
}

// TestAutoChanges: when the items' costs have changed for good, Auto looks again.
func TestAutoChanges(t *testing.T) {
	const n, total = 1 << 16, 20e-3
	l := &lesson{locations: times(8, 0)}
	last := 0.0
	for call := range 400 {
		cost := costs()["alike"]
		if call > 100 {
			cost = costs()["graph"]
		}
		p, trial := l.choose(n, 0)
		s := Predict(n, l.locations, p, machine(n, total, cost, nil, trial < 0))
		l.learn(&s, trial, nil)
		last = s.Took.Seconds()
	}
	if l.looks < 2 || last > 1.06*total/8 {
		t.Errorf("%d looks, %v s at last, %v s possible\n%v", l.looks, last, total/8, explained(l))
	}
}

// TestAutoShort: of a loop that takes next to nothing next to nothing is learned.
func TestAutoShort(t *testing.T) {
	l := &lesson{locations: []int{0, 0}}
	for range 100 {
		p, trial := l.choose(10, 0)
		s := Predict(10, l.locations, p, machine(10, 1e-6, costs()["alike"], nil, trial < 0))
		l.learn(&s, trial, nil)
	}
	if l.looks != 0 {
		t.Errorf("%d looks in a tenth of a millisecond", l.looks)
	}
	l.learn(&Stats{}, -1, nil) // nothing to learn of no items
}

// TestPredict: in virtual time the workers come when they are ready, queues make them wait,
// and stealing costs.
func TestPredict(t *testing.T) {
	cost := func(c Chunk) float64 { return float64(c.Len()) }
	s := Predict(12, []int{0, 0, 0}, Plan{Scheme: SS}, Model{Cost: cost, Start: []float64{0, 0, 4}, Spans: true})
	if s.Took.Seconds() != 6 || s.Workers[2].Items != 1 || len(s.Spans) != 12 || s.Spans[0].Worker != 0 || s.Spans[1].Worker != 1 {
		t.Errorf("%+v", s)
	}
	// A queue that is slow serves one after the other.
	s = Predict(12, []int{0, 0, 0}, Plan{Scheme: SS}, Model{Cost: func(Chunk) float64 { return 0 }, Take: 1})
	if s.Took.Seconds() != 12 {
		t.Errorf("%v", s.Took)
	}
	s = Predict(12, []int{0, 0, 0}, Plan{Scheme: SS, Layout: PerCore, Shares: true}, Model{Cost: func(Chunk) float64 { return 0 }, Take: 1})
	if s.Took.Seconds() != 4 || s.Steals() != 0 {
		t.Errorf("%v, %d steals", s.Took, s.Steals())
	}
	s = Predict(12, []int{0, 0}, Plan{Scheme: SS, Layout: PerCore, Shares: true}, Model{
		Cost: func(c Chunk) float64 { return 1 + 9*float64(1-c.Worker) }, Steal: 0.5,
	})
	if got := s.Workers[1]; got.Items != 10 || len(got.Steals) != 1 || got.Steals[0] != (Steals{0, 4, 4}) || got.Busy.Seconds() != 12 {
		t.Errorf("%+v", s)
	}
}
