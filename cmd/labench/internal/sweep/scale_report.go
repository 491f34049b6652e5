package sweep

import (
	"bytes"
	"encoding/csv"
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
	sweep     *sweep
	columns   []scaleColumn
	disturbed report.Disturbance
}

type scaleColumn struct {
	name  string
	width int
	left  bool // left-aligned
	value func(p *point) string
}

func newScaleTable(s *sweep) *scaleTable {
	t := &scaleTable{sweep: s}
	add := func(c scaleColumn) { t.columns = append(t.columns, c) }
	vary := func(v variable, width int) {
		if s.swept(v) {
			add(scaleColumn{v.String(), width, v.inWords(), func(p *point) string { return v.of(p.setting) }})
		}
	}
	vary(varN, 5)
	if s.cores > 0 {
		add(scaleColumn{"factor", 6, false, func(p *point) string { return strconv.Itoa(p.factor) }})
	}
	vary(varWorkers, 7)
	if s.swept(varNB) || s.nb[0] == 0 {
		// An automatic tile size is shown by its actual value.
		add(scaleColumn{"nb", 5, false, func(p *point) string {
			if p.nb == 0 && s.swept(varNB) {
				return "a" + strconv.Itoa(p.result.NB)
			}
			return strconv.Itoa(p.result.NB)
		}})
	}
	vary(varSched, 8)
	vary(varDevices, min(s.longest(varDevices), 15))
	at := len(t.columns)
	rate := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
	add(scaleColumn{"best", 7, false, func(p *point) string { return rate(p.result.GFLOPSBest) }})
	add(scaleColumn{"median", 7, false, func(p *point) string { return rate(p.result.GFLOPSMedian) }})
	add(scaleColumn{"peak", 5, false, func(p *point) string { return percent(p.result.PeakFraction) }})
	if s.compares() {
		add(scaleColumn{"speed-up", 8, false, func(p *point) string { return known(p.speedup, "%.2f") }})
		add(scaleColumn{"effic.", 6, false, func(p *point) string { return percent(p.efficiency()) }})
	}
	if s.cores > 0 && s.workers[0] == s.cores {
		add(scaleColumn{"of 1x", 7, false, func(p *point) string { return percent(p.speedup) }})
	}
	used := func() int {
		n := 1 // for the mark
		for _, c := range t.columns {
			n += c.width + 1
		}
		return n
	}
	room := report.Columns - used()
	if s.swept(varVersions) {
		room -= min(s.longest(varVersions), 12) + 1
	}
	for _, c := range []scaleColumn{
		{"spread", 6, false, func(p *point) string { return known(100*p.result.Spread, "%.0f %%") }},
		{"residual", 8, false, func(p *point) string { return known(float64(p.result.Residual), "%.1e") }},
	} {
		if room -= c.width + 1; room >= 0 {
			add(c)
		}
	}
	if s.swept(varVersions) {
		// The only column of unknown width gets the remaining space.
		vary(varVersions, min(s.longest(varVersions), report.Columns-used()-1))
		last := len(t.columns) - 1
		t.columns = slices.Insert(t.columns[:last], at, t.columns[last])
	}
	return t
}

// longest returns the width of the column of a variable, its heading included.
func (s *sweep) longest(v variable) int {
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
func (s *sweep) fixed() string {
	words := []string{s.base.Op + " " + s.base.Type}
	words = append(words, s.base.Chosen()...)
	one := s.settings()[0]
	for _, v := range []variable{varN, varWorkers, varNB, varSched, varVersions} {
		switch {
		case s.swept(v):
		case v == varWorkers:
			words = append(words, report.Count(one.workers, "worker"))
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
	return text + "\n" + t.line(func(c scaleColumn) string { return c.name }, " ")
}

// legend explains those columns whose headings are short.
func (t *scaleTable) legend() (text string) {
	for _, c := range t.columns {
		switch c.name {
		case "spread":
			text += "; spread = how much longer the longest run took than the shortest"
		case "residual":
			text += fmt.Sprintf("; residual: below %g is right", float64(bench.Limit(t.sweep.base.Op)))
		}
	}
	return text
}

// row returns the row of a point, with a mark at its end. If the point failed, another line says why.
func (t *scaleTable) row(p point) string {
	cell := func(c scaleColumn) string {
		if p.err != nil && !slices.Contains([]string{"n", "factor", "workers", "sched", "versions", "devices"}, c.name) {
			return "-"
		}
		return c.value(&p)
	}
	if why := p.failure(); why != "" {
		return t.line(cell, "!") + report.Wrapped("  ! ", why)
	}
	r := p.result
	return t.line(cell, t.disturbed.Mark(r.Load, r.Workers, r.Spread, r.PeakFraction > 1))
}

func (t *scaleTable) line(cell func(scaleColumn) string, mark string) string {
	var cells []string
	for _, c := range t.columns {
		s := report.Clip(cell(c), c.width)
		if c.left {
			s = report.Pad(s, c.width)
		} else {
			s = strings.Repeat(" ", c.width-utf8.RuneCountInString(s)) + s
		}
		cells = append(cells, s)
	}
	return strings.TrimRight(mark+strings.Join(cells, " "), " ") + "\n"
}

// csvColumns returns the names of the columns of a CSV file.
func csvColumns() []string {
	return []string{"op", "type", "m", "n", "k", "nb", "nb_auto", "workers", "sched", "versions_allowed", "versions",
		"seconds_best", "seconds_median", "gflops_best", "gflops_median", "peak_gflops", "peak_fraction",
		"speedup", "efficiency", "residual", "passed", "error", "oversubscribe", "devices",
		"seconds", "spread", "others", "steal", "machine", "commit"}
}

// csvOf returns the points as a CSV file (RFC 4180) with a header. Numbers are written so that they can be read
// back exactly. Unknown values are empty. Versions are written as "gemm/go:12;potrf/go:4".
func csvOf(points []point) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	w.Write(csvColumns())
	number := func(x float64) string {
		if !bench.Number(x).Finite() {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	for _, p := range points {
		r := p.result
		var calls []string
		for v, n := range r.Versions {
			calls = append(calls, fmt.Sprintf("%s:%d", v, n))
		}
		slices.Sort(calls)
		factor := ""
		if p.factor > 0 {
			factor = strconv.Itoa(p.factor)
		}
		var seconds []string
		for _, t := range r.Seconds {
			seconds = append(seconds, number(t))
		}
		others, steal := "", ""
		if r.Load != nil {
			others, steal = number(r.Load.Others), number(r.Load.Steal)
		}
		w.Write([]string{r.Op, r.Type, strconv.Itoa(r.M), strconv.Itoa(r.N), strconv.Itoa(r.K), strconv.Itoa(r.NB), strconv.FormatBool(p.nb == 0),
			strconv.Itoa(r.Workers), r.Sched, p.versions.name, strings.Join(calls, ";"),
			number(r.SecondsBest), number(r.SecondsMedian), number(r.GFLOPSBest), number(r.GFLOPSMedian), number(r.PeakGFLOPS), number(r.PeakFraction),
			number(p.speedup), number(p.efficiency()), number(float64(r.Residual)), strconv.FormatBool(r.Passed && p.err == nil), p.failure(), factor, p.devices.Name,
			strings.Join(seconds, ";"), number(r.Spread), others, steal, r.Machine, r.Commit})
	}
	w.Flush() // writing to memory does not fail
	return out.Bytes()
}
