package offload

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Devices are the devices of one runtime. They are few, so a value is looked for on all of them.
type Devices []*Device

// Fetch prepares the operands of t for an attempt on the device at, nil for the host. Other devices
// copy their latest values back to the host, and drop values that t writes. With saved set, values
// that t updates in place are on the host, too, when Fetch returns, so that they can be saved
// before the first attempt. The error says that a value is lost.
func (all Devices) Fetch(t *graph.Task, at *Device, saved bool) error {
	for i := range t.Len() {
		o := t.Operand(i)
		for _, d := range all {
			var err error
			switch {
			case d != at:
				// A reduction adds to the datum's own value at its end, on the host, whichever
				// worker does it.
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

// Away reports whether only a device other than but has the latest state of the value.
func (all Devices) Away(value any, but *Device) bool {
	for _, d := range all {
		if d != but && d.Back(value) > 0 {
			return true
		}
	}
	return false
}

// Drop drops the devices' copies of data that t updates in place: the host is about to restore
// them.
func (all Devices) Drop(t *graph.Task) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode.InPlace() {
			all.Forget(o.Datum.Value)
		}
	}
}

// Forget drops the devices' copies of a value: the host is about to write it, or no task uses it
// any more.
func (all Devices) Forget(value any) {
	for _, d := range all {
		// Even if it is lost: no task is going to read it.
		_ = d.Fetch(value, versions.Writes)
	}
}

// Retain lets copies of values stay on the devices when jobs end, until Discard.
func (all Devices) Retain(values []any) {
	for _, d := range all {
		if r, ok := d.Accelerator.(Retainer); ok {
			r.Retain(values)
		}
	}
}

// Discard undoes Retain.
func (all Devices) Discard(values []any) {
	for _, d := range all {
		if r, ok := d.Accelerator.(Retainer); ok {
			r.Discard(values)
		}
	}
}

// Bring copies the latest state of a datum to the host.
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

// Moving returns the expected time, in seconds, to bring the inputs of t to a device, or to the
// host for -1. Values of other devices go by way of the host.
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

// Nearest returns the number of the device that can execute t and misses the fewest bytes of its
// inputs, the first among equals; -1 if there is none.
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

// use returns the use of an operand with mode m.
func use(m graph.Mode) (u versions.Use) {
	if m&graph.In != 0 {
		u |= versions.Reads
	}
	if m&graph.Out != 0 {
		u |= versions.Writes
	}
	return u
}
