package trace

import "time"

// interval is a time from and to.
type interval struct{ from, to time.Duration }

// busy returns the times in which each worker was inside tasks, in order and without overlaps. A
// task that waits overlaps tasks that run in its slot meanwhile: their time counts once.
func (r *Recording) busy() [][]interval {
	busy := make([][]interval, r.workers())
	for _, e := range r.byTime() {
		b := &busy[e.Worker]
		if n := len(*b); n > 0 && e.Start < (*b)[n-1].to {
			(*b)[n-1].to = max((*b)[n-1].to, e.End)
			continue
		}
		*b = append(*b, interval{e.Start, e.End})
	}
	return busy
}

// Parallelism returns the mean number of workers inside tasks in each of bins equal parts of the
// time from the first start to the last end. Overlapping tasks of a worker count once. A task
// counts for a part by as much of it as it covers.
func (r *Recording) Parallelism(bins int) []float64 {
	first, last := r.span()
	mean := make([]float64, max(bins, 0))
	if bins <= 0 || last <= first {
		return mean
	}
	width := float64(last-first) / float64(bins)
	for _, intervals := range r.busy() {
		for _, t := range intervals {
			lo, hi := float64(t.from-first)/width, float64(t.to-first)/width
			for b := int(lo); b < bins && float64(b) < hi; b++ {
				mean[b] += min(hi, float64(b+1)) - max(lo, float64(b))
			}
		}
	}
	return mean
}
