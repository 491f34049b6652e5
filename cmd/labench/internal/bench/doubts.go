package bench

import (
	"fmt"

	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/internal/report"
)

// Doubts returns, in sentences, the reasons to doubt the rates of a result.
func Doubts(r Result) (all []string) {
	peak := r.PeakDisturbed
	if r.Load != nil && r.Load.Disturbs(r.Workers) {
		text := report.Capital(r.Load.String()) + " during the timed runs"
		if peak && r.PeakFraction <= 1 {
			text, peak = text+"; the peak was disturbed, too", false
		}
		all = append(all, text+".")
	}
	if r.Spread > quiet.Wide {
		all = append(all, fmt.Sprintf("The longest run took %s the shortest.", report.Longer(r.Spread)))
	}
	if note := AbovePeak(r); note != "" {
		all = append(all, note)
	} else if peak {
		all = append(all, "Others ran while the peak was measured: it may be too low.")
	}
	return all
}

// AbovePeak explains a rate above the peak. It returns "" if there is none.
func AbovePeak(r Result) string {
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
