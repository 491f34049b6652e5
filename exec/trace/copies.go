package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Copies between the host and accelerators, and waits for them. The thread that saw them end
// records them. They are shown as rows of their own beside the workers', one for each accelerator
// and direction.

// Copy records a copy.
func (r *Recorder) Copy(c Copy) { note(r, &r.copies, c) }

// Wait records that a worker waited for data.
func (r *Recorder) Wait(w Wait) { note(r, &r.waits, w) }

// channel is the copies of an accelerator in one direction, in the order of their starts: a row of
// its own.
type channel struct {
	worker int
	out    bool
	title  string
	copies []Copy
}

// channels returns the channels with copies, by worker, in before out.
func (r *Recording) channels() (all []channel) {
	for worker := range r.workers() {
		for _, out := range []bool{false, true} {
			c := channel{worker: worker, out: out,
				title: r.name(worker) + " copies " + map[bool]string{false: "in", true: "out"}[out]}
			for _, x := range r.Copies {
				if x.Worker == worker && x.Out == out {
					c.copies = append(c.copies, x)
				}
			}
			if c.copies == nil {
				continue
			}
			slices.SortStableFunc(c.copies, func(a, b Copy) int { return cmp.Compare(a.Start, b.Start) })
			all = append(all, c)
		}
	}
	return all
}

// Transfer summarizes the copies of an accelerator in one direction.
type Transfer struct {
	Worker int
	Name   string // "cuda0 copies in"
	Out    bool
	Copies int
	Bytes  int64
	Busy   time.Duration // overlapping copies count once
}

// transfers summarizes all copies.
func (r *Recording) transfers() (all []Transfer) {
	for _, c := range r.channels() {
		t := Transfer{Worker: c.worker, Name: c.title, Out: c.out, Copies: len(c.copies)}
		until := time.Duration(0)
		for _, x := range c.copies {
			t.Bytes += x.Bytes
			t.Busy += max(0, x.End-max(x.Start, until))
			until = max(until, x.End)
		}
		all = append(all, t)
	}
	return all
}

// size formats a number of bytes with three digits. Units are powers of 1024.
func size(n int64) string {
	for _, u := range []struct {
		unit float64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if float64(n) >= u.unit {
			return fmt.Sprintf("%.3g %s", float64(n)/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
