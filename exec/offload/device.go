package offload

import (
	"errors"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// ErrHostOnly is why a device refuses a task one of whose operands is renamed or
// reduced: the graph makes, combines and drops their values on the host.
var ErrHostOnly = errors.New("exec: an operand that is renamed or reduced stays on the host")

// Device is an accelerator among the workers of a runtime. Its methods are safe for
// concurrent use, and wait for nothing but the accelerator's own lock.
type Device struct {
	Accelerator
	target *versions.Target
	unfit  func(*graph.Task, *versions.Target) error
	lost   atomic.Bool // nothing is started there any more
}

// NewDevice returns an accelerator as a device. Unfit says why no worker with a
// target can run a task, nil if one can: the constraints of its op's versions.
func NewDevice(a Accelerator, unfit func(*graph.Task, *versions.Target) error) *Device {
	return &Device{Accelerator: a, target: a.Target(), unfit: unfit}
}

// Gone reports whether the device starts nothing any more: its accelerator is lost,
// and its worker has given away the tasks that it had.
func (d *Device) Gone() bool { return d.lost.Load() }

// Accepts returns nil if the device can execute t, or why it cannot: it is lost, no
// version runs there, or the operands never have room at once.
func (d *Device) Accepts(t *graph.Task) error {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return errors.New("exec: not an op with versions")
	}
	if d.lost.Load() {
		return d.Lost()
	}
	if err := d.unfit(t, d.target); err != nil {
		return err
	}
	if t.Shadowed() {
		return ErrHostOnly
	}
	var room [8]any
	call := versions.Call{Params: t.Params, Args: room[:0]}
	for i := range t.Len() {
		call.Args = append(call.Args, t.Operand(i).Datum.Value)
	}
	return d.Fits(call.Args, d.beside(op, &call))
}

// beside returns the memory that a call needs beside its operands, in the version
// that needs least. A call that makes no sense needs none: it is going to say so
// when it runs.
func (d *Device) beside(op *versions.Op, call *versions.Call) (least int64) {
	defer func() {
		if recover() != nil {
			least = 0
		}
	}()
	least = -1
	for i := range op.Versions {
		v := &op.Versions[i]
		if v.Constraints.Unmet(d.target) != "" {
			continue
		}
		if n := v.Beside(call); least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// missing returns how many bytes t reads that the device does not have.
func (d *Device) missing(t *graph.Task) (bytes int64) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 {
			bytes += d.Missing(o.Datum.Value)
		}
	}
	return bytes
}

// price is what starting t now costs in copies: the bytes that it reads and that
// the device does not have, those that it writes as well twice, as they have to
// leave again if they are not there to stay.
func (d *Device) price(t *graph.Task) (bytes int64) {
	for i := range t.Len() {
		switch o := t.Operand(i); o.Mode & graph.InOut {
		case graph.In:
			bytes += d.Missing(o.Datum.Value)
		case graph.InOut:
			bytes += 2 * d.Missing(o.Datum.Value)
		}
	}
	return bytes
}
