package quiet

import (
	"fmt"
	"math"
)

// Load is what went on beside a measurement, on the CPUs that this process may use.
type Load struct {
	Seconds float64 `json:"seconds"` // watched
	CPUs    int     `json:"cpus"`    // that this process may use
	Others  float64 `json:"others"`  // CPUs that other programs kept busy, on average
	Steal   float64 `json:"steal"`   // CPUs that the hypervisor gave to other machines, on average
}

// tolerance is the part of the workers' time that others may have without a word.
const tolerance = 0.05

// Disturbs reports whether so many busy workers were slower for it: whether others took more
// CPUs than the workers leave, or the hypervisor kept some.
func (l Load) Disturbs(workers int) bool {
	spare := float64(max(l.CPUs-workers, 0))
	busy := tolerance * float64(min(workers, l.CPUs))
	return l.Others > spare+busy || l.Steal > busy
}

// String says it in words.
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

// Spread returns by what part the longest of some times exceeds the shortest: 0.5 says that it
// took half as long again. It is 0 for fewer than two.
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

// Wide is the spread from which the times of runs say that something disturbed them: the
// median may then be off by as much.
const Wide = 0.25
