package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// chartOf returns the chart of a sweep over x. Each combination of the other variables is a series. Points that
// could not be run are left out.
func chartOf(s *sweep, x variable, points []point) *plotting.Chart {
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
	var firsts []setting // the first setting of each series
	ideal := make(map[int][]plotting.Point)
	for i := range points {
		q := &points[i]
		if q.err != nil {
			continue
		}
		k := slices.IndexFunc(firsts, func(t setting) bool { return t.same(q.setting, x) })
		if k < 0 {
			k = len(firsts)
			firsts = append(firsts, q.setting)
			c.Series = append(c.Series, plotting.Series{Name: s.seriesName(q.setting, x)})
		}
		at := s.place(q, x, c.Categories)
		c.Series[k].Points = append(c.Series[k].Points, plotting.Point{X: at, Y: q.result.GFLOPSBest, Failed: !q.result.Passed,
			Disturbed: report.Disturbed(q.result.Load, q.result.Workers, q.result.Spread, q.result.PeakFraction > 1)})
		if one := s.baseline(points, q.setting); one != nil && s.compares() && (x == varWorkers || q.workers > 1) {
			ideal[k] = append(ideal[k], plotting.Point{X: at, Y: one.result.GFLOPSBest * float64(q.workers)})
		}
	}
	byX := func(a, b plotting.Point) int { return cmp.Compare(a.X, b.X) }
	for k := range c.Series {
		slices.SortFunc(c.Series[k].Points, byX)
		if line := ideal[k]; len(line) > 0 && len(c.Categories) == 0 {
			slices.SortFunc(line, byX)
			c.References = append(c.References, plotting.Reference{Name: "ideal: one worker × workers", Series: k, Points: line})
		}
	}
	c.References = append(c.References, s.peakLines(x, points, c.Categories)...)
	return c
}

// seriesName names a series by the values of all variables that vary, except x.
func (s *sweep) seriesName(t setting, x variable) string {
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
func (s *sweep) place(p *point, x variable, categories []string) float64 {
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
func (s *sweep) peakLines(x variable, points []point, categories []string) []plotting.Reference {
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
			name = fmt.Sprintf("FMA peak, workers = %d", w)
		}
		ends := []plotting.Point{{X: low[w], Y: y}}
		if high[w] > low[w] {
			ends = append(ends, plotting.Point{X: high[w], Y: y})
		}
		lines = append(lines, plotting.Reference{Name: name, Series: -1, Points: ends})
	}
	return lines
}
