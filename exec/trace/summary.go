package trace

import (
	"cmp"
	"slices"
	"time"
)

// Usage says how often a version of an op ran and for how long.
type Usage struct {
	Op, Version string
	Calls       int
	Failed      int
	Busy        time.Duration // sum over workers
}

// Summary condenses a recording.
type Summary struct {
	Usage []Usage         // by op and version, sorted by name
	Busy  []time.Duration // by worker: time inside tasks
	Span  time.Duration   // from the first start to the last end
}

// Summary condenses the recording.
func (r *Recording) Summary() Summary {
	type key struct{ op, version string }
	var s Summary
	index := map[key]int{}
	for i := range r.Events {
		e := &r.Events[i]
		k := key{e.Op, e.Version}
		i, ok := index[k]
		if !ok {
			i = len(s.Usage)
			index[k] = i
			s.Usage = append(s.Usage, Usage{Op: e.Op, Version: e.Version})
		}
		u := &s.Usage[i]
		u.Calls++
		if e.Failed {
			u.Failed++
		}
		u.Busy += e.End - e.Start
		for len(s.Busy) <= e.Worker {
			s.Busy = append(s.Busy, 0)
		}
		s.Busy[e.Worker] += e.End - e.Start
	}
	first, last := r.span()
	s.Span = last - first
	slices.SortFunc(s.Usage, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Version, b.Version))
	})
	return s
}
