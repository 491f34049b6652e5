package exec

import (
	"errors"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// ErrHostOnly is why an accelerator refuses a task one of whose operands is
// renamed or reduced: the graph makes, combines and drops their values on the
// host.
var ErrHostOnly = errors.New("exec: an operand that is renamed or reduced stays on the host")

// accepts returns nil if the accelerator can execute t, or why it cannot.
func (d *device) accepts(t *graph.Task) error {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return errors.New("exec: not an op with versions")
	}
	if d.lost.Load() {
		return d.acc.Lost()
	}
	if err := d.rt.unfit(t, d.info.Target); err != nil {
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
	return d.acc.Fits(call.Args, d.beside(op, &call))
}

// beside returns the memory that a call needs beside its operands, in the version
// that needs least. A call that makes no sense needs none: it is going to say so
// when it runs.
func (d *device) beside(op *versions.Op, call *versions.Call) (least int64) {
	defer func() {
		if recover() != nil {
			least = 0
		}
	}()
	least = -1
	for i := range op.Versions {
		v := &op.Versions[i]
		if v.Constraints.Unmet(d.info.Target) != "" {
			continue
		}
		if n := v.Beside(call); least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// refuse hands a task that d has taken to others.
func (d *device) refuse(t *graph.Task) {
	l := d.rt
	if !l.hostFit(t) && l.elsewhere(t) {
		d.over(nil)
		return
	}
	l.mu.Lock()
	l.ready.Refuse(t, d.info.ID)
	l.count()
	w := l.rise(anyone)
	l.mu.Unlock()
	w.rouse()
}

// elsewhere gives t to an accelerator that can execute it, that which misses the
// fewest of its bytes, and reports whether there is one.
func (l *Local) elsewhere(t *graph.Task) bool {
	var best *device
	least := int64(0)
	for _, d := range l.devices {
		if d.accepts(t) != nil {
			continue
		}
		if m := d.missing(t); best == nil || m < least {
			best, least = d, m
		}
	}
	if best == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if best.lost.Load() { // and has given away what it had
		return false
	}
	l.ready.Direct(t, best.info.ID)
	l.count()
	l.rouseDevices()
	return true
}
