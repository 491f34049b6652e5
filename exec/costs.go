package exec

import (
	"math"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// costs tells the policy EarliestFinish what the selector knows, and what the
// accelerators know of where values are.
type costs struct {
	rt   *Local
	call versions.Call
}

// Run implements dispatch.Costs. An op whose Work panics costs nothing; the panic
// comes again, and is the task's failure, when it is to run.
func (c *costs) Run(t *graph.Task, worker int) (seconds float64) {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return 0
	}
	defer func() {
		if recover() != nil {
			seconds = 0
		}
	}()
	if worker >= c.rt.hosts && c.rt.devices[worker-c.rt.hosts].accepts(t) != nil {
		return math.Inf(1)
	}
	c.call.Params, c.call.Args = t.Params, c.call.Args[:0]
	for i := range t.Len() {
		c.call.Args = append(c.call.Args, t.Operand(i).Datum.Value)
	}
	seconds = c.rt.selector.Expect(op, &c.call, c.rt.workers[worker].info.Target)
	clear(c.call.Args) // keeps no data alive
	c.call.Params = nil
	return seconds
}

// remoteBytes is what a second brings from the memory of another NUMA node, in
// bytes: a cautious guess that keeps tasks where their data are when all else is
// equal. Nothing here was measured.
const remoteBytes = 10e9

// Move implements dispatch.Costs: from the memory of another node, if a value
// lies there, and from accelerators, or to one.
func (c *costs) Move(t *graph.Task, worker int) (seconds float64) {
	l := c.rt
	if worker >= l.hosts {
		return l.devices[worker-l.hosts].moving(t)
	}
	here := l.workers[worker].info.Location
	for i := range t.Len() {
		o := t.Operand(i)
		if o.Mode&graph.In == 0 {
			continue
		}
		if at := o.Datum.At() & l.fixed; at != 0 && !at.Has(here) {
			seconds += float64(o.Datum.Bytes) / remoteBytes
		}
		for _, d := range l.devices {
			seconds += d.acc.Back(o.Datum.Value).Seconds()
		}
	}
	return seconds
}

// moving returns the expected time to bring what t reads to the accelerator, by
// way of the host if another one has it.
func (d *device) moving(t *graph.Task) (seconds float64) {
	for i := range t.Len() {
		o := t.Operand(i)
		if o.Mode&graph.In == 0 {
			continue
		}
		for _, other := range d.rt.devices {
			if other != d {
				seconds += other.acc.Back(o.Datum.Value).Seconds()
			}
		}
	}
	if bytes := d.missing(t); bytes > 0 {
		seconds += d.acc.Bring(bytes).Seconds()
	}
	return seconds
}
