package quiet

import (
	"fmt"
	"math"
)

// Load is what else ran during a measurement, on the CPUs that this process may use.
type Load struct {
	Seconds float64 `json:"seconds"` // how long the measurement took
	CPUs    int     `json:"cpus"`    // that this process may use
	Others  float64 `json:"others"`  // CPUs that other programs kept busy, on average
	Steal   float64 `json:"steal"`   // CPUs that the hypervisor gave to other machines, on average
}

// tolerance is the part of the workers' CPU time that others may take before [Load.Disturbs] says so.
const tolerance = 0.05

// Disturbs reports whether the load slowed down the given number of busy workers: other programs took more CPUs
// than the workers leave free, or the hypervisor took some.
func (l Load) Disturbs(workers int) bool {
	spare := float64(max(l.CPUs-workers, 0))
	busy := tolerance * float64(min(workers, l.CPUs))
	return l.Others > spare+busy || l.Steal > busy
}

// String describes the load in words.
func (l Load) String() string {
	text := ""
	if l.Others >= 0.005 {
		text = fmt.Sprintf("other programs had %.2f of %s", l.Others, cpus(l.CPUs))
	}
	if l.Steal >= 0.005 {
		if text != "" {
			text += ", and "
		}
		text += fmt.Sprintf("the hypervisor kept %.2f of %s", l.Steal, cpus(l.CPUs))
	}
	if text == "" {
		return "nothing else ran"
	}
	return text
}

func cpus(n int) string {
	if n == 1 {
		return "1 CPU"
	}
	return fmt.Sprintf("%d CPUs", n)
}

// Spread returns by what part the longest of the times exceeds the shortest: 0.5 means that it is one and a half
// times as long. It returns 0 for fewer than two.
func Spread(seconds []float64) float64 {
	lo, hi := math.Inf(1), 0.0
	for _, t := range seconds {
		lo, hi = min(lo, t), max(hi, t)
	}
	if len(seconds) < 2 || lo <= 0 {
		return 0
	}
	return hi/lo - 1
}

// Wide is the spread above which the runs count as disturbed: the median may then be off by as much.
const Wide = 0.25
