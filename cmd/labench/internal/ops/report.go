package ops

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/explain"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// Print prints the outcome of one operation.
func Print(a *cli.App, s bench.Spec, r bench.Result) error {
	p := report.NewPaint(a.Out)
	var b report.Labelled
	headLines(&b, s, r)
	times, rates := report.Durations(r.SecondsBest, r.SecondsMedian), report.Decimals(r.GFLOPSBest, r.GFLOPSMedian)
	line := func(name, what string, seconds, rate float64) {
		fmt.Fprintf(&b, "%s%-7s %12s %s GFLOP/s", report.Label(name), what, times(seconds), p.Bold(fmt.Sprintf("%9s", rates(rate))))
	}
	line("speed", "best", r.SecondsBest, r.GFLOPSBest)
	if r.PeakGFLOPS > 0 {
		fmt.Fprintf(&b, "   %.1f %% of FMA peak %s", 100*r.PeakFraction, report.Gflops(r.PeakGFLOPS))
	}
	b.WriteByte('\n')
	line("", "median", r.SecondsMedian, r.GFLOPSMedian)
	b.WriteByte('\n')
	if doubts := bench.Doubts(r); len(doubts) > 0 {
		if r.Disturbed {
			doubts = append(doubts, report.Quieter)
		}
		text := report.Wrapped(report.Label("care"), strings.Join(doubts, "\n"))
		b.WriteString(strings.Replace(text, "care", p.Alert("care"), 1)) // colour takes no columns
	}

	if s.Verify && r.Growth > 0 && r.Pivoting == "" {
		b.Line("growth", "%.3g by partial pivoting", r.Growth)
	}
	residualLines(&b.Builder, p, s, r)
	explain.Stages(&b.Builder, p, r)
	if r.Nodes == nil {
		usageTable(&b.Builder, p, r)
	}
	if r.Cluster != nil {
		explain.NewNodesAccount(s, r).Text(&b.Builder, p)
	}
	kindLines(&b.Builder, r)
	_, err := io.WriteString(a.Out, b.String())
	return err
}

// headLines says what was computed, and how.
func headLines(b *report.Labelled, s bench.Spec, r bench.Result) {
	b.Line("machine", "%s", report.MachineLine(topo.Detect()))
	b.Line("problem", "%s", r.Problem(s))
	b.Line("run", "%s", runLine(s, r))
	if r.Resumed > 0 {
		b.Line("resumed", "after %d panels that an earlier run had done; the rate counts them", r.Resumed)
	}
	if r.Pivoting != "" {
		b.Line("pivoting", "%s, growth %.3g", r.Pivoting, r.Growth)
	}
	if r.Performed > 1.05*r.Flops {
		b.Line("work", "%.4g Gflop were performed, %.2f times what the speed is counted by", r.Performed/1e9, r.Performed/r.Flops)
	}
	if r.Method != "" && r.Refinement != nil {
		b.Line("method", "%s, %s", r.Method, r.Refinement.Says())
	} else if r.Method != "" {
		b.Line("method", "%s", r.Method)
	}
	if r.Condition > 0 {
		b.Line("condition", "at least %.2g: every digit of the solution may be wrong", r.Condition)
	}
}

// residualLines says whether the result is right, with one or several residuals.
func residualLines(b *strings.Builder, p report.Paint, s bench.Spec, r bench.Result) {
	checks := r.Checks
	if checks == nil {
		checks = []bench.Check{{Formula: r.Formula, Residual: r.Residual, Limit: r.Limit}}
	}
	name := "residual"
	for _, c := range checks {
		is := fmt.Sprintf("%.3g", c.Residual)
		if math.IsNaN(float64(c.Residual)) {
			is = "not a number"
		}
		switch {
		case !s.Verify:
			fmt.Fprintf(b, "%s%s\n", report.Label(name), p.Alert("not checked"))
		case c.Residual < c.Limit && (r.Passed || len(checks) > 1):
			fmt.Fprintf(b, "%s%s < %g   %s   %s\n", report.Label(name), is, c.Limit, c.Formula, p.Good("pass"))
		default:
			fmt.Fprintf(b, "%s%s, limit %g   %s   %s\n", report.Label(name), is, c.Limit, c.Formula, p.Bad("FAIL"))
		}
		name = ""
	}
	if !r.Passed {
		b.WriteString(report.Wrapped(report.Label(""), r.Failure))
	}
}

// runLine describes how the result was computed.
func runLine(s bench.Spec, r bench.Result) string {
	runs := report.Count(s.Repeat, "timed run")
	if r.Direct {
		return fmt.Sprintf("one kernel, no tasks, %s", runs)
	}
	workers := report.Count(r.Workers, "worker")
	if r.Nodes != nil {
		workers = nodesLine(s, r)
	}
	switch {
	case len(r.Devices) > 0:
		workers += " and " + strings.Join(r.Devices, ", ")
	case s.Devices == "auto":
		workers += " and no device"
	}
	return fmt.Sprintf("%s, %s, sched %s, %s", report.Tiles(r.NB), workers, r.Sched, runs)
}

// nodesLine says on how many nodes the timed runs ran: at the beginning and, if that differs, at the end.
func nodesLine(s bench.Spec, r bench.Result) string {
	line := func(there func(bench.Node) bool) string {
		nodes, workers := 0, 0
		for i, n := range r.Nodes {
			if there(n) && !(i == 0 && s.Idle && len(r.Nodes) > 1) {
				nodes, workers = nodes+1, workers+n.Workers
			}
		}
		return fmt.Sprintf("%s with %s", report.Count(nodes, "node"), report.Count(workers, "worker"))
	}
	first := line(func(n bench.Node) bool { return !n.Gone && !n.Late })
	last := line(func(n bench.Node) bool { return !n.Lost })
	if first == last && !slices.ContainsFunc(r.Nodes, func(n bench.Node) bool { return n.Late }) {
		return last
	}
	return first + " at first, " + last + " in the end"
}

// usageTable prints which versions of each op ran, how often, and their share of the time of all tasks.
func usageTable(b *strings.Builder, p report.Paint, r bench.Result) {
	var all, busy time.Duration
	for _, u := range r.Summary.Usage {
		all += u.Busy
	}
	byTime := slices.SortedStableFunc(slices.Values(r.Summary.Usage), func(x, y trace.Usage) int { return cmp.Compare(y.Busy, x.Busy) })
	times := report.Durations()
	if len(byTime) > 0 {
		times = report.Durations(byTime[0].Busy.Seconds())
	}
	table := report.NewTable("op", -16, "version", -18, "calls", 9, "time", 12, "share", 7)
	b.WriteString(p.Faint(report.Label("versions") + table.Head()))
	for _, u := range byTime {
		share := 100 * float64(u.Busy) / float64(max(all, 1))
		b.WriteString(report.Label("") + table.Row(u.Op, u.Version, u.Calls, times(u.Busy.Seconds()), fmt.Sprintf("%.1f %%", share)))
	}
	for _, t := range r.Times {
		busy += t
	}
	if !r.Direct && busy > 0 {
		part := 100 * float64(all) / (float64(busy) * float64(r.Workers))
		fmt.Fprintf(b, "%sworkers were inside tasks for %.0f %% of the time\n", report.Label(""), min(part, 100))
	}
}

// kindLines says what ran on each kind of worker, if there are several kinds.
func kindLines(b *strings.Builder, r bench.Result) {
	for _, k := range r.Kinds {
		var calls []string
		for _, version := range slices.SortedFunc(maps.Keys(k.Calls), func(x, y string) int { return cmp.Or(cmp.Compare(k.Calls[y], k.Calls[x]), cmp.Compare(x, y)) }) {
			calls = append(calls, fmt.Sprintf("%s %d", version, k.Calls[version]))
		}
		b.WriteString(report.Wrapped(report.Label("workers"), fmt.Sprintf("%s on %s: %s", report.Count(k.Workers, "worker"), k.Processor, strings.Join(calls, ", "))))
	}
}
