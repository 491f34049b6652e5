package main

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/quiet"
)

// quieter is what helps against all that cares returns.
const quieter = "Stop what else runs and measure again, or with --repeat 9: the best run counts."

// cares returns what a reader should know before trusting the rates of a result, in sentences.
func cares(r bench.Result) (all []string) {
	peak := r.PeakDisturbed
	if r.Load != nil && r.Load.Disturbs(r.Workers) {
		text := capital(r.Load.String()) + " during the timed runs"
		if peak && r.PeakFraction <= 1 {
			text, peak = text+"; the peak was disturbed, too", false
		}
		all = append(all, text+".")
	}
	if r.Spread > quiet.Wide {
		all = append(all, fmt.Sprintf("The longest run took %s the shortest.", longer(r.Spread)))
	}
	if note := abovePeak(r); note != "" {
		all = append(all, note)
	} else if peak {
		all = append(all, "Others ran while the peak was measured: it may be too low.")
	}
	return all
}

// abovePeak explains a rate above the peak, or returns nothing.
func abovePeak(r bench.Result) string {
	switch {
	case r.PeakFraction <= 1:
		return ""
	case r.Refinement != nil:
		return "More than the peak of f64, because the factorization is in f32, whose peak is twice as high."
	case r.PeakFraction <= 1.02:
		return "As fast as the peak, which is measured to 2 %."
	}
	return "Faster than the peak can be: another program, or the hypervisor, had a part of these cores when that was measured. Run it again."
}

// longer says by what part something took longer.
func longer(part float64) string {
	if part >= 1 {
		return fmt.Sprintf("%.1f times as long as", 1+part)
	}
	return fmt.Sprintf("%.0f %% longer than", 100*part)
}

// capital returns text with a capital.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// disturbance collects what disturbed the rows of a table.
type disturbance struct {
	rows, marked int
	load         quiet.Load // the most of each
	spread       float64    // the widest
	abovePeak    bool
}

// disturbed reports whether a row was disturbed, or is above the peak.
func disturbed(l *quiet.Load, workers int, spread float64, above bool) bool {
	return new(disturbance).mark(l, workers, spread, above) != " "
}

// mark returns what stands beside a row: "~" if it was disturbed, or is above the peak.
func (d *disturbance) mark(l *quiet.Load, workers int, spread float64, above bool) string {
	d.rows++
	marked := above
	if l != nil && l.Disturbs(workers) {
		marked = true
		d.load.CPUs, d.load.Others, d.load.Steal = l.CPUs, max(d.load.Others, l.Others), max(d.load.Steal, l.Steal)
	}
	if spread > quiet.Wide {
		marked, d.spread = true, max(d.spread, spread)
	}
	d.abovePeak = d.abovePeak || above
	if !marked {
		return " "
	}
	d.marked++
	return "~"
}

// note says what the marks mean, nothing if there are none.
func (d *disturbance) note() string {
	if d.marked == 0 {
		return ""
	}
	var what []string
	if d.load.CPUs > 0 {
		what = append(what, d.load.String()+" at most")
	}
	if d.spread > 0 {
		what = append(what, fmt.Sprintf("the longest run took up to %s the shortest", longer(d.spread)))
	}
	if d.abovePeak {
		what = append(what, "a rate above the peak says that the peak was measured too low")
	}
	return wrapped("~ ", fmt.Sprintf("disturbed, %d of %s: %s. %s", d.marked, count(d.rows, "row"), strings.Join(what, "; "), quieter))
}
