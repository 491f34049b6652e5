package scale

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// scaleTable formats points as rows of at most 80 columns. Values common to all points are printed above the
// table.
type scaleTable struct {
	sweep     *scaling
	columns   report.Table
	values    []func(p *point) string // of the columns
	disturbed report.Disturbance
}

func newScaleTable(s *scaling) *scaleTable {
	t := &scaleTable{sweep: s}
	at := 0
	add := func(name string, width int, value func(p *point) string) {
		t.columns, t.values = slices.Insert(t.columns, at, report.Column{Name: name, Width: width}), slices.Insert(t.values, at, value)
		at++
	}
	vary := func(v variable, width int) {
		if v.inWords() {
			width = -width
		}
		if s.swept(v) {
			add(v.String(), width, func(p *point) string { return v.of(p.setting) })
		}
	}
	// result adds a column that a point without a result leaves empty.
	result := func(name string, width int, value func(p *point) string) {
		add(name, width, func(p *point) string {
			if p.err != nil {
				return "-"
			}
			return value(p)
		})
	}
	vary(varN, 5)
	if s.cores > 0 {
		add("factor", 6, func(p *point) string { return strconv.Itoa(p.factor) })
	}
	if s.nodes != nil {
		add("nodes", 5, func(p *point) string { return strconv.Itoa(p.workers) })
	} else {
		vary(varWorkers, 7)
	}
	if s.swept(varNB) || s.nb[0] == 0 {
		// An automatic tile size is shown by its actual value.
		result("nb", 5, func(p *point) string {
			if p.nb == 0 && s.swept(varNB) {
				return "a" + strconv.Itoa(p.result.NB)
			}
			return strconv.Itoa(p.result.NB)
		})
	}
	vary(varSched, 8)
	vary(varDevices, min(s.longest(varDevices), 15))
	words := at
	rate := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
	result("best", 7, func(p *point) string { return rate(p.result.GFLOPSBest) })
	result("median", 7, func(p *point) string { return rate(p.result.GFLOPSMedian) })
	result("peak", 5, func(p *point) string { return percent(p.result.PeakFraction) })
	if s.nodes != nil && s.nodes.planned != nil {
		result("plan", 7, func(p *point) string { return known(p.planned, "%.1f") })
	}
	if s.compares() {
		result("speed-up", 8, func(p *point) string { return known(p.speedup, "%.2f") })
		result("effic.", 6, func(p *point) string { return percent(p.efficiency()) })
	}
	if s.cores > 0 && s.workers[0] == s.cores {
		result("of 1x", 7, func(p *point) string { return percent(p.speedup) })
	}
	const mark = 1
	room := report.Columns - mark - t.columns.Width() - 1
	versions := min(s.longest(varVersions), 12)
	if s.swept(varVersions) {
		room -= versions + 1
	}
	if room >= 6 {
		result("spread", 6, func(p *point) string { return known(100*p.result.Spread, "%.0f %%") })
		room -= 7
	}
	if room >= 8 {
		result("residual", 8, func(p *point) string { return known(float64(p.result.Residual), "%.1e") })
	}
	if s.swept(varVersions) {
		// The only column of unknown width gets the remaining space.
		at = words
		vary(varVersions, min(s.longest(varVersions), report.Columns-mark-t.columns.Width()-1))
	}
	return t
}

// longest returns the width of the column of a variable, its heading included.
func (s *scaling) longest(v variable) int {
	width := len(v.String())
	for _, name := range s.names(v) {
		width = max(width, utf8.RuneCountInString(name))
	}
	return width
}

func known(x float64, format string) string {
	if !bench.Number(x).Finite() {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

func percent(x float64) string {
	if x == 0 {
		return "-"
	}
	return known(100*x, "%.0f %%")
}

// fixed describes what is the same for all points.
func (s *scaling) fixed() string {
	words := []string{s.base.Op + " " + s.base.Type}
	words = append(words, s.base.Chosen()...)
	one := s.settings()[0]
	for _, v := range []variable{varN, varWorkers, varNB, varSched, varVersions} {
		switch {
		case s.swept(v):
		case v == varWorkers:
			words = append(words, report.Count(one.workers, s.unit()))
		default:
			words = append(words, v.says(one))
		}
	}
	return strings.Join(words, ", ")
}

// head returns the heading of the table.
func (t *scaleTable) head() string {
	s := t.sweep
	text := report.Wrapped("", topo.Detect().String()) + report.Wrapped("", s.fixed())
	text += report.Wrapped("", fmt.Sprintf("GFLOP/s, best and median of %d; peak = share of the measured FMA peak of the workers' cores%s", s.base.Repeat, t.legend()))
	if s.swept(varNB) && slices.Contains(s.nb, 0) {
		text += "a before nb: automatic\n"
	}
	if s.cores > 0 {
		text += report.Wrapped("", fmt.Sprintf("factor = workers on each of %s; of 1x = share of the rate with factor 1", report.Count(s.cores, "core")))
	}
	return text + "\n " + t.columns.Head()
}

// legend explains those columns whose headings are short.
func (t *scaleTable) legend() (text string) {
	for _, c := range t.columns {
		switch c.Name {
		case "spread":
			text += "; spread = how much longer the longest run took than the shortest"
		case "residual":
			text += fmt.Sprintf("; residual: below %g is right", float64(bench.Limit(t.sweep.base.Op)))
		}
	}
	return text
}

// row returns the row of a point, with a mark before it. If the point failed, another line says why.
func (t *scaleTable) row(p point) string {
	var cells []any
	for _, value := range t.values {
		cells = append(cells, value(&p))
	}
	row := t.columns.Row(cells...)
	if why := p.failure(); why != "" {
		return "!" + row + report.Wrapped("  ! ", why)
	}
	r := p.result
	return t.disturbed.Mark(r.Load, r.Workers, r.Spread, r.PeakFraction > 1) + row
}

// csvColumns returns the names of the columns of a CSV file.
func csvColumns() []string {
	return []string{"op", "type", "m", "n", "k", "nb", "nb_auto", "workers", "sched", "versions_allowed", "versions",
		"seconds_best", "seconds_median", "gflops_best", "gflops_median", "peak_gflops", "peak_fraction",
		"speedup", "efficiency", "residual", "passed", "error", "oversubscribe", "devices", "nodes_computing", "gflops_planned",
		"seconds", "spread", "others", "steal", "machine", "commit"}
}

// csvRows returns the points as rows of a CSV file. Versions are written as "gemm/go:12;potrf/go:4".
func csvRows(points []point) (rows [][]any) {
	for _, p := range points {
		r := p.result
		var calls []string
		for v, n := range r.Versions {
			calls = append(calls, fmt.Sprintf("%s:%d", v, n))
		}
		slices.Sort(calls)
		var factor, nodes, planned, others, steal any = "", "", "", "", ""
		if p.nodes > 0 {
			nodes = p.nodes
		}
		if bench.Number(p.planned).Finite() && p.planned > 0 {
			planned = p.planned
		}
		if p.factor > 0 {
			factor = p.factor
		}
		if r.Load != nil {
			others, steal = r.Load.Others, r.Load.Steal
		}
		var seconds []string
		for _, t := range r.Seconds {
			seconds = append(seconds, strconv.FormatFloat(t, 'g', -1, 64))
		}
		rows = append(rows, []any{r.Op, r.Type, r.M, r.N, r.K, r.NB, p.nb == 0, r.Workers, r.Sched, p.versions.name, strings.Join(calls, ";"),
			r.SecondsBest, r.SecondsMedian, r.GFLOPSBest, r.GFLOPSMedian, r.PeakGFLOPS, r.PeakFraction, p.speedup, p.efficiency(), float64(r.Residual),
			r.Passed && p.err == nil, p.failure(), factor, p.devices.Name, nodes, planned, strings.Join(seconds, ";"), r.Spread, others, steal, r.Machine, r.Commit})
	}
	return rows
}
