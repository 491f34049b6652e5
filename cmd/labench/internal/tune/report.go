package tune

import (
	"fmt"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/report"
)

const (
	tuneLabel = 8 // columns before the numbers …
	tuneCell  = 6 // … and of each number
)

// report returns the curve of one problem as a table with one column per tile size, a bar below each rate, and
// the conclusion.
func (t *tuned) report(p report.Paint) string {
	s := t.spec
	if t.trial != nil {
		s.Workers = t.trial.Workers
	}
	b := new(strings.Builder)
	fmt.Fprintf(b, "\n%s\n", p.Bold(problemName(s)))
	top := 0.0
	for _, q := range t.points {
		top = max(top, q.Best())
	}
	perLine := (report.Columns - tuneLabel) / tuneCell
	for i := 0; i < len(t.points); i += perLine {
		sizes, rates, bars := report.Pad("nb", tuneLabel), report.Pad("GFLOP/s", tuneLabel), report.Pad("", tuneLabel)
		for _, q := range t.points[i:min(i+perLine, len(t.points))] {
			size := fmt.Sprint(q.NB)
			won := t.won && q.NB == t.winner.NB
			if won {
				size = "*" + size
			}
			cell := func(text string) string {
				text = fmt.Sprintf("%*s", tuneCell, text)
				if won {
					text = p.Good(text)
				}
				return text
			}
			sizes, rates, bars = sizes+cell(size), rates+cell(rate(q.Best(), top)), bars+cell(bar(q.Best()/top))
		}
		fmt.Fprintf(b, "%s\n%s\n%s\n", sizes, rates, bars)
	}
	b.WriteString(report.Wrapped("", t.verdict()))
	return b.String()
}

// span formats a time without zero units at its end: "1m" instead of "1m0s".
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// rate formats a rate in flop/s as GFLOP/s. It takes at most 5 columns below 100 TFLOP/s, with as many decimals
// as a table with the largest rate top needs.
func rate(r, top float64) string {
	if top >= 999.95e9 {
		return fmt.Sprintf("%.0f", r/1e9)
	}
	return fmt.Sprintf("%.1f", r/1e9)
}

// bar returns four block characters whose height is the part x of a line.
func bar(x float64) string {
	heights := []rune("▁▂▃▄▅▆▇█")
	i := int(x*float64(len(heights))+0.5) - 1
	return strings.Repeat(string(heights[min(max(i, 0), len(heights)-1)]), 4)
}

// verdict states the conclusion from the measurements.
func (t *tuned) verdict() string {
	var text string
	switch {
	case t.err != nil:
		return "failed: " + strings.Join(strings.Fields(t.err.Error()), " ")
	case t.trial == nil:
		return "not begun: no time was left"
	case t.trial.Direct:
		return "by default one kernel does it all: there are no tiles to be tuned"
	case !t.won:
		return "not finished: too little was measured to choose by, and nothing is saved"
	case t.winner.NB == t.standard.NB:
		text = fmt.Sprintf("nb = %d, as by default: nothing is more than 1 %% faster", t.winner.NB)
	default:
		text = fmt.Sprintf("nb = %d, %.1f %% faster than the default, %d", t.winner.NB, 100*t.faster(), t.standard.NB)
	}
	if !t.complete {
		text += "; not finished: what is close was not compared often enough"
	}
	if t.load != nil && t.load.Disturbs(t.trial.Workers) {
		text += "; disturbed: " + t.load.String() + ", so try again on a quiet machine"
	}
	return text
}

// tuneEnd says what was saved, and what was not completed.
func tuneEnd(all []tuned, p *setup.Profile, saved bool, budget time.Duration) string {
	var won, unfinished int
	for _, t := range all {
		if t.won {
			won++
		}
		if !t.complete && t.err == nil {
			unfinished++
		}
	}
	var text string
	switch {
	case won == 0:
		text = "nothing to save"
	case saved:
		text = fmt.Sprintf("%s saved in %s", report.Count(won, "tile size"), p.Path)
	default:
		text = fmt.Sprintf("%s not saved", report.Count(won, "tile size"))
	}
	if unfinished > 0 {
		text += fmt.Sprintf("; %d of %s not finished in %s, give more time with --budget", unfinished, report.Count(len(all), "problem"), span(budget))
	}
	return "\n" + text
}
