package planner

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// Bounds of the search of --best.
const (
	mostTries = 60   // simulations
	mostTiles = 200  // tiles in a row: a simulation of 2.7 million tasks takes half a minute
	leastNB   = 32   // the smallest tile size that is tried
	stepNB    = 1.41 // first ratio of successive tile sizes, and …
	fineNB    = 1.19 // … the ratio around the best
)

// search looks for the fastest of the combinations that the command line leaves open, one variable after the
// other.
type search struct {
	sched []string // policies
	rows  []int    // of grids
	nb    []int    // tile sizes; nil: any
	try   func(w wish) (Prediction, error)

	known map[wish]float64 // seconds; +Inf if the prediction failed
	best  Prediction
	is    wish // the combination of best
	first Prediction
	err   error // of the first try, or why the search has ended
}

// take tries a combination, unless it was tried before. It reports whether the combination is the best so far.
func (s *search) take(w wish) bool {
	if _, done := s.known[w]; done || s.err != nil || len(s.known) >= mostTries {
		return false
	}
	x, err := s.try(w)
	s.known[w] = math.Inf(1)
	switch {
	case err != nil:
		if len(s.known) == 1 { // there is nothing to compare yet
			s.err = err
		}
		return false
	case s.first.Seconds == 0:
		s.first = x
	case x.Seconds >= s.best.Seconds:
		s.known[w] = x.Seconds
		return false
	}
	s.known[w] = x.Seconds
	s.best, s.is = x, w
	return true
}

// run searches, starting from a combination.
func (s *search) run(from wish) error {
	s.known = map[wish]float64{}
	if s.take(from); s.err != nil {
		return s.err
	}
	s.sizes(stepNB)
	for _, p := range s.sched {
		if w := s.is; p != s.best.Sched { // best.Sched may be the default policy
			w.sched = p
			s.take(w)
		}
	}
	for _, r := range s.rows {
		if w := s.is; r != s.best.Rows {
			w.rows = r
			s.take(w)
		}
	}
	s.sizes(fineNB)
	return s.err
}

// sizes looks for the best tile size. It goes up and down by the factor step until two
// sizes in this direction are no improvement.
func (s *search) sizes(step float64) {
	if s.nb != nil {
		for _, nb := range s.nb {
			w := s.is
			w.nb = nb
			s.take(w)
		}
		return
	}
	center := s.best.NB
	for _, f := range []float64{1 / step, step} {
		bad := 0
		for x := float64(center) * f; bad < 2; x *= f {
			nb := int(math.Round(x/16)) * 16
			if nb < leastNB || nb > s.is.n || s.is.n/max(nb, 1) > mostTiles {
				break
			}
			w := s.is
			if w.nb = nb; !s.take(w) {
				bad++
			}
		}
	}
}

// searchOf returns the search over what the command line leaves open, and its start.
func (f *forecastFlags) searchOf(m *sim.Machine, all []wish) (s *search, from wish, err error) {
	from = all[0]
	for _, w := range all {
		if w.n != from.n || w.nodes != from.nodes || w.workers != from.workers {
			return nil, from, fmt.Errorf("--best is for one -n, one --nodes and one --workers")
		}
	}
	s = &search{}
	note := func(to *[]int, x int) {
		if !slices.Contains(*to, x) {
			*to = append(*to, x)
		}
	}
	options, err := from.options(m)
	if err != nil {
		return nil, from, err
	}
	nodes := options.Machine.Count()
	if options.Machine.Apart {
		nodes--
	}
	for _, w := range all {
		if f.nb != "auto" {
			note(&s.nb, w.nb)
		}
		if f.grid != "auto" {
			note(&s.rows, w.rows)
		}
		if f.sched != "" && !slices.Contains(s.sched, w.sched) {
			s.sched = append(s.sched, w.sched)
		}
	}
	several := options.Machine.Count() > 1
	if f.sched == "" {
		if s.sched, err = policies("all", several); err != nil {
			return nil, from, err
		}
	}
	if f.grid == "auto" && several && f.op != "lu" && f.op != "qr" {
		for r := 1; r <= nodes; r++ {
			if nodes%r == 0 {
				s.rows = append(s.rows, r)
			}
		}
	}
	return s, from, nil
}

// searches prints the result of --best.
func searches(ctx context.Context, a *cli.App, base bench.Problem, p *forecasts) error {
	s, from, err := p.f.searchOf(p.machine, p.all)
	if err != nil {
		return cli.Usage(err)
	}
	line := report.NewStatus(a.Err)
	defer line.Clear()
	s.try = func(w wish) (x Prediction, err error) {
		line.Set("%d tried", len(p.done))
		x, err = w.predict(ctx, base, p.machine, false)
		line.Clear()
		if err != nil {
			if ctx.Err() != nil {
				s.err = err
			}
			return x, err
		}
		if err = p.add(a, trial{w, x}); err != nil {
			s.err = err
		}
		return x, err
	}
	if err := s.run(from); err != nil {
		return err
	}
	if !p.f.json {
		_, err = io.WriteString(a.Out, bestText(report.NewPaint(a.Out), &p.table, s, from, p.done))
	}
	return err
}

// bestText describes the best combination, and those that it was better than.
func bestText(p report.Paint, t *forecastTable, s *search, from wish, done []trial) string {
	var b strings.Builder
	b.WriteString("\nbest\n" + p.Good(t.row(&s.best)))
	slower := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*(x/s.best.Seconds-1)) }
	if what := "where it began"; s.is != from {
		if from.nb == 0 && from.rows == 0 && from.sched == "" {
			what = "what runs without flags"
		}
		b.WriteString(report.Wrapped(report.Label(""), fmt.Sprintf("%s takes %s longer: nb = %d, %s", what, slower(s.first.Seconds), s.first.NB, s.first.Sched)))
	}
	for _, c := range []struct {
		what string
		like func(x *Prediction) bool
	}{
		{"the next tile size", func(x *Prediction) bool { return x.NB != s.best.NB }},
		{"the next policy", func(x *Prediction) bool { return x.NB == s.best.NB && x.Sched != s.best.Sched }},
		{"the next grid", func(x *Prediction) bool {
			return x.NB == s.best.NB && x.Sched == s.best.Sched && x.Rows != s.best.Rows
		}},
	} {
		var next *Prediction
		for i := range done {
			if x := &done[i].x; c.like(x) && (next == nil || x.Seconds < next.Seconds) {
				next = x
			}
		}
		if next != nil {
			which := map[string]string{"the next tile size": fmt.Sprint(next.NB), "the next policy": next.Sched, "the next grid": fmt.Sprintf("%d×%d", next.Rows, next.Count/max(next.Rows, 1))}[c.what]
			b.WriteString(report.Wrapped(report.Label(""), fmt.Sprintf("%s, %s, takes %s longer", c.what, which, slower(next.Seconds))))
		}
	}
	tried := fmt.Sprintf("%s tried", report.Count(len(s.known), "combination"))
	if len(s.known) >= mostTries {
		tried += ": no more are"
	}
	b.WriteString(report.Wrapped(report.Label(""), tried))
	return b.String()
}
