package scale

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// chartOf returns the chart of a sweep over x. Each combination of the other variables is a series. Points that
// could not be run are left out.
func chartOf(s *scaling, x variable, points []point) *plotting.Chart {
	c := &plotting.Chart{
		Title:  topo.Detect().String() + "\n" + s.fixed(),
		XLabel: map[variable]string{varN: "n (order)", varWorkers: "workers", varNB: "nb (tile size)", varSched: "scheduling policy", varVersions: "versions allowed", varDevices: "devices"}[x],
		YLabel: fmt.Sprintf("GFLOP/s (best of %d)", s.base.Repeat),
	}
	if x.inWords() {
		c.Categories = s.names(x)
	}
	if s.cores > 0 && x == varWorkers {
		c.XLabel = fmt.Sprintf("oversubscription: workers per core, of %s", report.Count(s.cores, "core"))
	}
	if s.nodes != nil && x == varWorkers {
		c.XLabel = "nodes"
	}
	ideal, planned := make(map[int]*plotting.Reference), make(map[int]*plotting.Reference)
	for i := range points {
		q := &points[i]
		if q.err != nil {
			continue
		}
		at := s.place(q, x, c.Categories)
		k := c.Add(s.seriesName(q.setting, x), plotting.Point{X: at, Y: q.result.GFLOPSBest, Failed: !q.result.Passed,
			Disturbed: report.Disturbed(q.result.Load, q.result.Workers, q.result.Spread, q.result.PeakFraction > 1)})
		if one := s.baseline(points, q.setting); one != nil && s.compares() && c.Categories == nil && (x == varWorkers || q.workers > 1) {
			if ideal[k] == nil {
				ideal[k] = &plotting.Reference{Name: fmt.Sprintf("ideal: one %s × %[1]ss", s.unit()), Series: k}
			}
			ideal[k].Add(plotting.Point{X: at, Y: one.result.GFLOPSBest * float64(q.workers)})
		}
		if bench.Number(q.planned).Finite() && q.planned > 0 && c.Categories == nil {
			if planned[k] == nil {
				planned[k] = &plotting.Reference{Name: "plan", Series: k}
			}
			planned[k].Add(plotting.Point{X: at, Y: q.planned})
		}
	}
	for k := range c.Series {
		if planned[k] != nil {
			c.References = append(c.References, *planned[k])
		}
		if ideal[k] != nil {
			c.References = append(c.References, *ideal[k])
		}
	}
	c.References = append(c.References, s.peakLines(x, points, c.Categories)...)
	return c
}

// seriesName names a series by the values of all variables that vary, except x.
func (s *scaling) seriesName(t setting, x variable) string {
	var words []string
	for _, v := range variables() {
		if v != x && s.swept(v) {
			words = append(words, v.says(t))
		}
	}
	if words == nil {
		return "measured"
	}
	return strings.Join(words, ", ")
}

// place returns the position of a point on the horizontal axis.
func (s *scaling) place(p *point, x variable, categories []string) float64 {
	switch x {
	case varN:
		return float64(p.n)
	case varWorkers:
		return float64(p.workers) / float64(s.baseWorkers())
	case varNB:
		return float64(p.result.NB) // the actual value, even if la chose it
	}
	return float64(slices.Index(categories, x.of(p.setting)))
}

// peakLines returns the measured peak as in the table. Over workers it is one line, otherwise a line for each
// number of workers, over the range of its points.
func (s *scaling) peakLines(x variable, points []point, categories []string) []plotting.Reference {
	low, high := make(map[int]float64), make(map[int]float64)
	for i := range points {
		p := &points[i]
		if p.err != nil {
			continue
		}
		at := s.place(p, x, categories)
		if _, seen := low[p.workers]; !seen {
			low[p.workers], high[p.workers] = at, at
		}
		low[p.workers], high[p.workers] = min(low[p.workers], at), max(high[p.workers], at)
	}
	var lines []plotting.Reference
	for _, w := range s.workers {
		y := s.peaks[w]
		if _, seen := low[w]; !seen || y <= 0 {
			continue
		}
		if x == varWorkers {
			if lines == nil {
				lines = []plotting.Reference{{Name: "measured FMA peak", Series: -1}}
			}
			lines[0].Points = append(lines[0].Points, plotting.Point{X: float64(w) / float64(s.baseWorkers()), Y: y})
			continue
		}
		name := "measured FMA peak"
		if s.swept(varWorkers) {
			name = fmt.Sprintf("FMA peak, %ss = %d", s.unit(), w)
		}
		ends := []plotting.Point{{X: low[w], Y: y}}
		if high[w] > low[w] {
			ends = append(ends, plotting.Point{X: high[w], Y: y})
		}
		lines = append(lines, plotting.Reference{Name: name, Series: -1, Points: ends})
	}
	return lines
}
