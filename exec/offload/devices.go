package offload

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Devices are those of one runtime. A value is looked for on all of them: they are
// few.
type Devices []*Device

// Fetch prepares the operands of t for an attempt at a device, nil for the host: what
// other devices have of them comes back to the host, which loses what is going to be
// written elsewhere. With saved set, what t updates in place is on the host as well
// when Fetch returns, to be saved before the first attempt. The error says that a
// value is lost.
func (all Devices) Fetch(t *graph.Task, at *Device, saved bool) error {
	for i := range t.Len() {
		o := t.Operand(i)
		for _, d := range all {
			var err error
			switch {
			case d != at:
				// The datum's own value is what a reduction adds to at its end, on
				// the host, whichever worker does it.
				err = d.Fetch(o.Datum.Value, use(o.Mode))
			case saved && o.Mode.InPlace():
				err = d.Fetch(o.Datum.Value, versions.Reads)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Away reports whether a device other than but has the value as it is, and the host
// has not.
func (all Devices) Away(value any, but *Device) bool {
	for _, d := range all {
		if d != but && d.Back(value) > 0 {
			return true
		}
	}
	return false
}

// Drop gives up what devices have of the data that t updates in place: the host is
// about to restore them.
func (all Devices) Drop(t *graph.Task) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode.InPlace() {
			all.Forget(o.Datum.Value)
		}
	}
}

// Forget gives up what devices have of a value: the host is about to write it, or nobody uses
// it any more.
func (all Devices) Forget(value any) {
	for _, d := range all {
		// It is lost or not: nobody is going to read it.
		_ = d.Fetch(value, versions.Writes)
	}
}

// Bring has the host have a datum as the last task that ended has left it.
func (all Devices) Bring(d *graph.Datum) *graph.Fault {
	for _, a := range all {
		if err := a.Fetch(d.Value, versions.Reads); err != nil {
			return &graph.Fault{Err: err}
		}
	}
	return nil
}

// Accepts returns nil if device i can execute t, or why it cannot.
func (all Devices) Accepts(i int, t *graph.Task) error { return all[i].Accepts(t) }

// Moving returns the expected time, in seconds, to bring what t reads to a device, -1
// for the host: what the others have goes by way of the host.
func (all Devices) Moving(t *graph.Task, to int) (seconds float64) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 {
			for k, d := range all {
				if k != to {
					seconds += d.Back(o.Datum.Value).Seconds()
				}
			}
		}
	}
	if to < 0 {
		return seconds
	}
	if bytes := all[to].missing(t); bytes > 0 {
		seconds += all[to].Accelerator.Bring(bytes).Seconds()
	}
	return seconds
}

// Nearest returns the number of the device that can execute t and misses the fewest of
// the bytes that it reads, the first among equals; -1 if there is none.
func (all Devices) Nearest(t *graph.Task) int {
	best, least := -1, int64(0)
	for i, d := range all {
		if d.Accepts(t) != nil {
			continue
		}
		if m := d.missing(t); best < 0 || m < least {
			best, least = i, m
		}
	}
	return best
}

// use says in the words of versions what a task does with an operand.
func use(m graph.Mode) (u versions.Use) {
	if m&graph.In != 0 {
		u |= versions.Reads
	}
	if m&graph.Out != 0 {
		u |= versions.Writes
	}
	return u
}
