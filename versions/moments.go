package versions

import "math"

// maxCount bounds the counts in a profile: above it float64 would no longer
// count exactly.
const maxCount = 1 << 53

// moments are mean and variance of the seconds per unit of work, by Welford's
// update (Technometrics 4, 1962) and its merge (Chan, Golub, LeVeque 1979).
type moments struct {
	runs  uint64 // runs timed, warm-ups included
	count uint64 // runs that are in mean and m2
	mean  float64
	m2    float64 // sum of squared deviations from the mean
}

func (m *moments) add(x float64) {
	if m.runs >= maxCount {
		return
	}
	m.runs++
	m.count++
	d := x - m.mean
	m.mean += d / float64(m.count)
	m.m2 += d * (x - m.mean)
}

// merge adds the runs of o. It ignores them if the counts would pass maxCount: at that size nothing
// more is to be learned.
func (m *moments) merge(o moments) {
	if m.runs+o.runs > maxCount {
		return
	}
	m.runs += o.runs
	if o.count == 0 {
		return
	}
	if m.count == 0 {
		m.count, m.mean, m.m2 = o.count, o.mean, o.m2
		return
	}
	n, k := float64(m.count), float64(o.count)
	d := o.mean - m.mean
	m.count += o.count
	m.mean += d * k / (n + k)
	m.m2 += o.m2 + d*d*n*k/(n+k)
}

// sd returns the sample standard deviation, 0 for fewer than two runs.
func (m *moments) sd() float64 {
	if m.count < 2 {
		return 0
	}
	return math.Sqrt(m.m2 / float64(m.count-1))
}
