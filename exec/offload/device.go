package offload

import (
	"errors"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// ErrHostOnly is the error of a device for a task with a renamed or reduced operand: the graph
// makes, combines and drops such values on the host.
var ErrHostOnly = errors.New("exec: an operand that is renamed or reduced stays on the host")

// Device is an accelerator as a worker of a runtime. Its methods are safe for concurrent use, and
// wait only for the accelerator's own lock.
type Device struct {
	Accelerator
	target *versions.Target
	unfit  func(*graph.Task, *versions.Target) error
	lost   atomic.Bool // it starts no more calls
}

// NewDevice returns a as a device. unfit returns why no worker with a target can run a task, by the
// constraints of its op's versions, nil if one can.
func NewDevice(a Accelerator, unfit func(*graph.Task, *versions.Target) error) *Device {
	return &Device{Accelerator: a, target: a.Target(), unfit: unfit}
}

// Gone reports whether the device starts no more calls: its accelerator is lost, and its worker has
// handed on its tasks.
func (d *Device) Gone() bool { return d.lost.Load() }

// Accepts returns nil if the device can execute t, else the reason: the device is lost, no version
// runs there, or the operands never fit at once.
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

// beside returns the memory that a call needs beside its operands, in the version that needs least.
// An invalid call needs none: it will report its error when it runs.
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

// missing returns the number of bytes that t reads and the device does not have.
func (d *Device) missing(t *graph.Task) (bytes int64) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 {
			bytes += d.Missing(o.Datum.Value)
		}
	}
	return bytes
}

// price returns the cost of starting t now in copied bytes: those that t reads and the device does
// not have. Bytes that t writes as well count twice, as they must be copied back.
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
