package trace

import (
	"cmp"
	"slices"
	"time"
)

// usages sums usage by op and version.
type usages map[versionKey]*Usage

func (m usages) of(op, version string) *Usage {
	k := versionKey{op, version}
	u := m[k]
	if u == nil {
		u = &Usage{Op: op, Version: version}
		m[k] = u
	}
	return u
}

// sorted returns the sums, by op and version.
func (m usages) sorted() []Usage {
	all := make([]Usage, 0, len(m))
	for _, u := range m {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// Totals returns how often each version ran and for how long since the start or the last Reset,
// including events that are not kept any more. It may be called at any time.
func (r *Recorder) Totals() []Usage {
	sum := usages{}
	for _, b := range r.snapshot() {
		b.mu.Lock()
		for _, part := range b.totals {
			u := sum.of(part.Op, part.Version)
			u.Calls += part.Calls
			u.Failed += part.Failed
			u.Busy += part.Busy
		}
		b.mu.Unlock()
	}
	return sum.sorted()
}

// Summary summarizes a recording.
type Summary struct {
	Usage []Usage         // by op and version, sorted by name
	Busy  []time.Duration // by worker: time inside tasks; overlaps count once
	Span  time.Duration   // from the first start to the last end
	// Transfers are the copies to and from accelerators, by accelerator; Waited is each worker's
	// wait for some, nil if none waited.
	Transfers []Transfer
	Waited    []time.Duration
}

// Summary summarizes the recording. Calls are attempts; a member of a gang adds to the time of its
// version, and is no call.
func (r *Recording) Summary() Summary {
	var s Summary
	usage := usages{}
	for i := range r.Events {
		e := &r.Events[i]
		usage.of(e.Op, e.Version).add(e)
	}
	for i := range r.Shares {
		e := &r.Shares[i]
		usage.of(e.Op, e.Version).Busy += e.End - e.Start
	}
	for _, intervals := range r.busy() {
		var sum time.Duration
		for _, t := range intervals {
			sum += t.to - t.from
		}
		s.Busy = append(s.Busy, sum)
	}
	s.Transfers = r.transfers()
	for _, w := range r.Waits {
		if s.Waited == nil {
			s.Waited = make([]time.Duration, r.workers())
		}
		s.Waited[w.Worker] += w.End - w.Start
	}
	first, last := r.span()
	s.Usage, s.Span = usage.sorted(), last-first
	return s
}

// Summary summarizes everything recorded so far.
func (r *Recorder) Summary() Summary { return r.Recording().Summary() }
