package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/topo"
)

// label returns the left margin of a report's line.
func label(s string) string { return pad(s, 11) }

// report prints the outcome of one operation.
func (a *app) report(s bench.Spec, r bench.Result) error {
	p := newPaint(a.out)
	var b strings.Builder
	say := func(name, format string, args ...any) {
		b.WriteString(wrapped(label(name), fmt.Sprintf(format, args...)))
	}
	say("machine", "%s", machineLine(topo.Detect()))
	say("problem", "%s", problemLine(s, r))
	say("run", "%s", runLine(s, r))
	if r.Resumed > 0 {
		say("resumed", "after %d panels that an earlier run had done; the rate counts them", r.Resumed)
	}
	if r.Pivoting != "" {
		say("pivoting", "%s, growth %.3g", r.Pivoting, r.Growth)
	}
	if r.Performed > 1.05*r.Flops {
		say("work", "%.4g Gflop were performed, %.2f times what the speed is counted by", r.Performed/1e9, r.Performed/r.Flops)
	}
	if r.Method != "" && r.Refinement != nil {
		say("method", "%s, %s", r.Method, r.Refinement.Says())
	} else if r.Method != "" {
		say("method", "%s", r.Method)
	}
	if r.Condition > 0 {
		say("condition", "at least %.2g: every digit of the solution may be wrong", r.Condition)
	}

	times, rates := durations(r.SecondsBest, r.SecondsMedian), decimals(r.GFLOPSBest, r.GFLOPSMedian)
	line := func(name, what string, seconds, rate float64) {
		fmt.Fprintf(&b, "%s%-7s %12s %s GFLOP/s", label(name), what, times(seconds), p.bold(fmt.Sprintf("%9s", rates(rate))))
	}
	line("speed", "best", r.SecondsBest, r.GFLOPSBest)
	if r.PeakGFLOPS > 0 {
		fmt.Fprintf(&b, "   %.1f %% of FMA peak %s", 100*r.PeakFraction, gflops(r.PeakGFLOPS))
	}
	b.WriteByte('\n')
	line("", "median", r.SecondsMedian, r.GFLOPSMedian)
	b.WriteByte('\n')
	if care := cares(r); len(care) > 0 {
		if r.Disturbed {
			care = append(care, quieter)
		}
		text := wrapped(label("care"), strings.Join(care, "\n"))
		b.WriteString(strings.Replace(text, "care", p.alert("care"), 1)) // colour has no width
	}

	if s.Verify && r.Growth > 0 && r.Pivoting == "" {
		say("growth", "%.3g by partial pivoting", r.Growth)
	}
	residualLines(&b, p, s, r)
	if r.Nodes == nil {
		usageTable(&b, p, r)
	}
	if r.Cluster != nil {
		newNodesAccount(s, r).text(&b, p)
	}
	kindLines(&b, r)
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// residualLines says whether the result is right: by its residual, or by several.
func residualLines(b *strings.Builder, p paint, s bench.Spec, r bench.Result) {
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
			fmt.Fprintf(b, "%s%s\n", label(name), p.alert("not checked"))
		case c.Residual < c.Limit && (r.Passed || len(checks) > 1):
			fmt.Fprintf(b, "%s%s < %g   %s   %s\n", label(name), is, c.Limit, c.Formula, p.good("pass"))
		default:
			fmt.Fprintf(b, "%s%s, limit %g   %s   %s\n", label(name), is, c.Limit, c.Formula, p.bad("FAIL"))
		}
		name = ""
	}
	if !r.Passed {
		b.WriteString(wrapped(label(""), r.Failure))
	}
}

// machineLine names the processor, its vector instructions and the memory.
func machineLine(m *topo.Machine) string {
	s := m.String()
	if isa := vectors(&m.Identity); isa != "" {
		s += ", " + isa
	}
	if n := m.UsableMemory(); n > 0 {
		s += ", " + bench.Bytes(float64(n))
	}
	return s
}

// vectors returns the widest vector instructions with FMA of a machine.
func vectors(m *topo.Identity) string {
	switch {
	case m.Has("avx512f"):
		return "AVX-512"
	case m.Has("avx2", "fma3"):
		return "AVX2"
	case m.Has("avx"):
		return "AVX"
	}
	return ""
}

// problemLine says what was computed, of what.
func problemLine(s bench.Spec, r bench.Result) string {
	from := fmt.Sprintf("%v matrix, seed %d", s.Matrix, s.Seed)
	if s.Input != "" {
		from = s.Input
	}
	return fmt.Sprintf("%s %s, %s, %s", r.Op, r.Type, r.Shape(), from)
}

// runLine says how it was computed.
func runLine(s bench.Spec, r bench.Result) string {
	runs := count(s.Repeat, "timed run")
	if r.Direct {
		return fmt.Sprintf("one kernel, no tasks, %s", runs)
	}
	workers := count(r.Workers, "worker")
	if r.Nodes != nil {
		workers = nodesLine(s, r)
	}
	switch {
	case len(r.Devices) > 0:
		workers += " and " + strings.Join(r.Devices, ", ")
	case s.Devices == "auto":
		workers += " and no device"
	}
	return fmt.Sprintf("nb = %d, %s, sched %s, %s", r.NB, workers, r.Sched, runs)
}

// nodesLine says on how many nodes the timed runs were: at first and in the end, if that differs.
func nodesLine(s bench.Spec, r bench.Result) string {
	line := func(there func(bench.Node) bool) string {
		nodes, workers := 0, 0
		for i, n := range r.Nodes {
			if there(n) && !(i == 0 && s.Idle && len(r.Nodes) > 1) {
				nodes, workers = nodes+1, workers+n.Workers
			}
		}
		return fmt.Sprintf("%s with %s", count(nodes, "node"), count(workers, "worker"))
	}
	first := line(func(n bench.Node) bool { return !n.Gone && !n.Late })
	last := line(func(n bench.Node) bool { return !n.Lost })
	if first == last && !slices.ContainsFunc(r.Nodes, func(n bench.Node) bool { return n.Late }) {
		return last
	}
	return first + " at first, " + last + " in the end"
}

// usageTable prints which version of which op ran how often, and its share of the
// time of all tasks.
func usageTable(b *strings.Builder, p paint, r bench.Result) {
	var all, busy time.Duration
	for _, u := range r.Summary.Usage {
		all += u.Busy
	}
	b.WriteString(p.faint(fmt.Sprintf("%s%-16s %-18s %9s %12s %7s", label("versions"), "op", "version", "calls", "time", "share")) + "\n")
	byTime := slices.SortedStableFunc(slices.Values(r.Summary.Usage), func(x, y trace.Usage) int { return cmp.Compare(y.Busy, x.Busy) })
	times := durations()
	if len(byTime) > 0 {
		times = durations(byTime[0].Busy.Seconds())
	}
	for _, u := range byTime {
		share := 100 * float64(u.Busy) / float64(max(all, 1))
		fmt.Fprintf(b, "%s%-16s %-18s %9d %12s %5.1f %%\n", label(""), clip(u.Op, 16), clip(u.Version, 18), u.Calls, times(u.Busy.Seconds()), share)
	}
	for _, t := range r.Times {
		busy += t
	}
	if !r.Direct && busy > 0 {
		part := 100 * float64(all) / (float64(busy) * float64(r.Workers))
		fmt.Fprintf(b, "%sworkers were inside tasks for %.0f %% of the time\n", label(""), min(part, 100))
	}
}

// kindLines says what ran on each kind of worker, if there are several.
func kindLines(b *strings.Builder, r bench.Result) {
	for _, k := range r.Kinds {
		var calls []string
		for _, version := range slices.SortedFunc(maps.Keys(k.Calls), func(x, y string) int { return cmp.Or(cmp.Compare(k.Calls[y], k.Calls[x]), cmp.Compare(x, y)) }) {
			calls = append(calls, fmt.Sprintf("%s %d", version, k.Calls[version]))
		}
		b.WriteString(wrapped(label("workers"), fmt.Sprintf("%s on %s: %s", count(k.Workers, "worker"), k.Processor, strings.Join(calls, ", "))))
	}
}

// gflops returns a rate with four digits.
func gflops(x float64) string { return significant(x, 4) }

// significant returns a number with so many digits, zeros at the end among them: those of a
// column look alike.
func significant(x float64, digits int) string {
	if !(x >= 1e-3) {
		return fmt.Sprintf("%.*g", digits, x)
	}
	rounded, _ := strconv.ParseFloat(fmt.Sprintf("%.*e", digits-1, x), 64)
	return strconv.FormatFloat(x, 'f', max(digits-1-int(math.Floor(math.Log10(rounded))), 0), 64)
}

// decimals returns what formats rates of one table alike: with four digits of the largest.
func decimals(rates ...float64) func(float64) string {
	places := 0
	if top := slices.Max(rates); top > 0 && top < 1000 {
		places = 3 - int(math.Floor(math.Log10(top)))
	}
	return func(x float64) string { return strconv.FormatFloat(x, 'f', places, 64) }
}

// durations returns what formats times of one table alike: in the unit that suits the longest.
// Seconds are for what takes longer, so that short ones have digits left.
func durations(seconds ...float64) func(float64) string {
	scale, unit, longest := 1e3, "ms", 0.0
	for _, t := range seconds {
		longest = max(longest, math.Abs(t))
	}
	switch {
	case longest >= 10:
		scale, unit = 1, "s"
	case longest < 1e-3:
		scale, unit = 1e6, "µs"
	}
	return func(t float64) string { return fmt.Sprintf("%.3f %s", t*scale, unit) }
}

// duration returns a time in words, of 10 columns if it is below 3 hours.
func duration(seconds float64) string {
	return inUnits(seconds, func(x float64) string { return fmt.Sprintf("%.3f", x) })
}

// inUnits returns a time in the unit that suits it.
func inUnits(seconds float64, show func(float64) string) string {
	switch {
	case seconds >= 1:
		return show(seconds) + " s"
	case seconds >= 1e-3:
		return show(seconds*1e3) + " ms"
	}
	return show(seconds*1e6) + " µs"
}

// count returns a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
