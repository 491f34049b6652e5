package report

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/internal/quiet"
)

// Disturbance collects what disturbed the rows of a table.
type Disturbance struct {
	rows, marked int
	load         quiet.Load // the largest of each
	spread       float64    // the largest
	abovePeak    bool
}

// Disturbed reports whether a row was disturbed, or is above the peak.
func Disturbed(l *quiet.Load, workers int, spread float64, above bool) bool {
	return new(Disturbance).Mark(l, workers, spread, above) != " "
}

// Mark returns the mark of a row, "~" if it was disturbed or is above the peak, and notes why.
func (d *Disturbance) Mark(l *quiet.Load, workers int, spread float64, above bool) string {
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

// Note explains the marks. It returns "" if there are none.
func (d *Disturbance) Note() string {
	if d.marked == 0 {
		return ""
	}
	var what []string
	if d.load.CPUs > 0 {
		what = append(what, d.load.String()+" at most")
	}
	if d.spread > 0 {
		what = append(what, fmt.Sprintf("the longest run took up to %s the shortest", Longer(d.spread)))
	}
	if d.abovePeak {
		what = append(what, "a rate above the peak says that the peak was measured too low")
	}
	return Wrapped("~ ", fmt.Sprintf("disturbed, %d of %s: %s. %s", d.marked, Count(d.rows, "row"), strings.Join(what, "; "), Quieter))
}
