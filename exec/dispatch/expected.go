package dispatch

import (
	"math"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Expected are the [Costs] that follow from a selector's measurements and the places of values.
type Expected struct {
	Selector *versions.Selector
	// Targets and Locations are the workers', the devices' last.
	Targets   []*versions.Target
	Locations []int
	// Fixed are the locations of workers on cores, among which values do not move.
	Fixed graph.Locations
	// Devices are the devices; nil if there are none.
	Devices interface {
		// Accepts returns nil if a device can execute t, or why it cannot.
		Accepts(device int, t *graph.Task) error
		// Moving returns the time, in seconds, to bring the inputs of t to a device, or to the host
		// for -1.
		Moving(t *graph.Task, device int) float64
	}
	Hosts int // workers on cores

	call versions.Call
}

// Run implements [Costs]. An op whose Work panics costs nothing: the panic comes again when the
// task runs, and is its failure.
func (c *Expected) Run(t *graph.Task, worker int) (seconds float64) {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return 0
	}
	defer func() {
		if recover() != nil {
			seconds = 0
		}
	}()
	if worker >= c.Hosts && c.Devices.Accepts(worker-c.Hosts, t) != nil {
		return math.Inf(1)
	}
	c.call.Params, c.call.Args = t.Params, c.call.Args[:0]
	for i := range t.Len() {
		c.call.Args = append(c.call.Args, t.Operand(i).Datum.Value)
	}
	seconds = c.Selector.Expect(op, &c.call, c.Targets[worker])
	clear(c.call.Args) // keeps no data alive
	c.call.Params = nil
	return seconds
}

// remoteBytes is the assumed bandwidth to another NUMA node, in bytes per second. It keeps tasks
// where their data are when all else is equal. Half and twice as much change the bytes from other
// nodes by 10 and 5 %, and the time by less than 1.5 %, whether the machine has half or twice as much
// (docs/internals/measurements.md, constants of the runtime).
const remoteBytes = 10e9

// Move implements [Costs]: from the memory of another NUMA node, or from and to devices.
func (c *Expected) Move(t *graph.Task, worker int) (seconds float64) {
	if worker >= c.Hosts {
		return c.Devices.Moving(t, worker-c.Hosts)
	}
	if c.Devices != nil {
		seconds = c.Devices.Moving(t, -1)
	}
	here := c.Locations[worker]
	for i := range t.Len() {
		o := t.Operand(i)
		if o.Mode&graph.In == 0 {
			continue
		}
		if at := o.Datum.At() & c.Fixed; at != 0 && !at.Has(here) {
			seconds += float64(o.Datum.Bytes) / remoteBytes
		}
	}
	return seconds
}
