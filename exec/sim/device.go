package sim

import (
	"iter"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// each yields the devices of a node, one by one.
func (k *Kind) each() iter.Seq[*Device] {
	return func(yield func(*Device) bool) {
		for i := range k.Devices {
			for range max(k.Devices[i].Count, 1) {
				if !yield(&k.Devices[i]) {
					return
				}
			}
		}
	}
}

// target returns the device's target.
func (d *Device) target() *versions.Target { return &versions.Target{Kind: "cuda", Ops: d.Ops} }

// timeIn returns the seconds of a copy of so many bytes to the device, and backs of one to the
// host.
func (d *Device) timeIn(bytes int64) float64 { return d.Latency + float64(bytes)/d.Bandwidth }

func (d *Device) timeBack(bytes int64) float64 {
	if d.BackBandwidth == 0 {
		return d.timeIn(bytes)
	}
	return d.BackLatency + float64(bytes)/d.BackBandwidth
}

// device returns the device of a worker, nil if it is on cores.
func (c *crew) device(worker int) *device {
	if at := worker - len(c.workers) + len(c.devices); at >= 0 {
		return c.devices[at]
	}
	return nil
}

// offers returns the kinds of the node's workers, for the core.
func (c *crew) offers() []core.Kind {
	all := []core.Kind{{Workers: c.kind.Tasks(), Target: *c.speeds.target}}
	for i := range c.kind.Devices {
		d := &c.kind.Devices[i]
		all = append(all, core.Kind{Workers: max(d.Count, 1), Target: *d.target(), Accelerator: d.Name})
	}
	return all
}

// fits reports whether an op has a version for workers with a target.
func fits(op *versions.Op, on *versions.Target) bool {
	if on.Ops != nil && !slices.Contains(on.Ops, op.Name) && !slices.Contains(on.Ops, op.OpName()) {
		return false
	}
	return slices.ContainsFunc(op.Versions, func(v versions.Version) bool { return v.Constraints.Unmet(on) == "" })
}

// accepts reports whether the device can execute a task.
func (x *device) accepts(t *graph.Task) bool {
	op, _ := t.Op.(*versions.Op)
	if op == nil || t.Shadowed() {
		return false
	}
	able, known := x.able[op]
	if !known {
		able = fits(op, x.speeds.target) && x.speeds.of(op).err == nil
		x.able[op] = able
	}
	if asks, _ := t.Constraints().(*versions.Constraints); asks.Admit(op, x.speeds.target) != nil {
		return false
	}
	return able && (x.kind.Memory == 0 || sizeOfAll(t) <= x.kind.Memory)
}

// sizeOfAll returns the bytes of all data of a task.
func sizeOfAll(t *graph.Task) (bytes int64) {
	for d := range dataOf(t) {
		bytes += d.Bytes
	}
	return bytes
}

// dataOf yields the data of a task that go to a device, each once, with its modes. Values that are
// no matrices, pivots say, stay on the host.
func dataOf(t *graph.Task) iter.Seq2[*graph.Datum, graph.Mode] {
	return func(yield func(*graph.Datum, graph.Mode) bool) {
		for i := range t.Len() {
			o := t.Operand(i)
			if _, goes := o.Datum.Value.(versions.Stored); !goes && o.Datum.Value != nil {
				continue
			}
			mode, again := o.Mode, false
			for k := range t.Len() {
				if p := t.Operand(k); k != i && p.Datum == o.Datum {
					mode |= p.Mode
					again = again || k < i
				}
			}
			if !again && !yield(o.Datum, mode) {
				return
			}
		}
	}
}

// nearest returns the device that can execute a task at the lowest price, nil if there is none.
func (c *crew) nearest(t *graph.Task) (best *device) {
	least := int64(math.MaxInt64)
	for _, x := range c.devices {
		if x.accepts(t) {
			if m := x.price(t); m < least {
				best, least = x, m
			}
		}
	}
	return best
}

// rouse makes the device look for tasks, if it has room for one and there may be one.
func (x *device) rouse() {
	if !x.scheduled && x.room() > 0 && x.crew.queue.Any(x.worker) {
		x.scheduled = true
		x.crew.world.calendar.schedule(x.crew.world.now, x, lookForTasks)
	}
}

// room returns the number of tasks that the device takes now.
func (x *device) room() int {
	n := offload.Ahead + offload.InFlight
	if x.kind.Returns {
		n = 1
	}
	if x.now != nil {
		n--
	}
	return n - x.waiting.Len()
}

// Events of a device.
const (
	lookForTasks = iota // it looks for tasks
	taskBegins          // the operands of its task are there
	taskEnds            // the task has been executed
	resultsBack         // its results are back
)

// price returns the missing bytes of a task's inputs; those that it writes as well count twice.
func (x *device) price(t *graph.Task) (bytes int64) {
	for d, mode := range dataOf(t) {
		if mode&graph.In != 0 && x.memory.of[d] == nil {
			if bytes += d.Bytes; mode&graph.Out != 0 {
				bytes += d.Bytes
			}
		}
	}
	return bytes
}

// fetch brings a datum for a task that begins at then or later, and returns when it is there.
func (x *device) fetch(d *graph.Datum, mode graph.Mode, then float64) float64 {
	if v := x.memory.of[d]; v != nil {
		return v.there
	}
	at, _ := x.makeRoom(d.Bytes, true) // all data of one task fit
	then = max(then, at)
	if mode&graph.In == 0 {
		return x.memory.put(d, then).there
	}
	return x.copyIn(d, max(then, x.crew.bring(d)))
}

// copyIn copies a datum to the device, and returns when it is there.
func (x *device) copyIn(d *graph.Datum, then float64) float64 {
	c := x.crew
	start := max(then, x.in)
	x.in = start + x.kind.timeIn(d.Bytes)
	c.tally.DevicesIn += d.Bytes
	c.recordCopy(x, d, start, x.in, false)
	return x.memory.put(d, x.in).there
}

// makeRoom evicts the values used least recently until so many bytes are free, and returns when
// they are. Values of the task that begins or runs stay; those of candidates leave only if need is
// set. It reports false if that is not enough.
func (x *device) makeRoom(bytes int64, need bool) (at float64, ok bool) {
	m := &x.memory
	at = x.crew.world.now
	for m.room >= 0 && m.have+bytes > m.room {
		v := m.last(func(d *graph.Datum) bool { return !need && x.wanted(d) })
		if v == nil {
			return at, false
		}
		if x.crew.where.on(v.of) == x {
			at = x.crew.bring(v.of)
		}
		m.drop(v.of)
	}
	return at, true
}

// wanted reports whether a candidate reads or writes a datum.
func (x *device) wanted(d *graph.Datum) bool {
	return x.waiting.Any(func(t *graph.Task) bool {
		for o := range dataOf(t) {
			if o == d {
				return true
			}
		}
		return false
	})
}

// bring copies a datum that only a device has to the host, and returns when it is there.
func (c *crew) bring(d *graph.Datum) float64 {
	if c.devices == nil {
		return 0
	}
	x := c.where.on(d)
	if x == nil {
		return c.where.back[d]
	}
	start := max(c.world.now, x.out)
	x.out = start + x.kind.timeBack(d.Bytes)
	c.tally.DevicesOut += d.Bytes
	c.recordCopy(x, d, start, x.out, true)
	c.where.both(d, x.out)
	return x.out
}

// home brings the inputs of a task on cores to the host, and returns when they are there. Data that
// the task writes leave the devices.
func (c *crew) home(t *graph.Task) (at float64) {
	if c.devices == nil {
		return 0
	}
	for d, mode := range dataOf(t) {
		if mode&graph.In != 0 {
			at = max(at, c.bring(d))
		}
		if mode&graph.Out != 0 {
			c.forget(d)
		}
	}
	return at
}

// forget drops the devices' copies of a datum.
func (c *crew) forget(d *graph.Datum) {
	if c.devices == nil {
		return
	}
	for _, x := range c.devices {
		x.memory.drop(d)
	}
	c.where.none(d)
}

// flush brings all values that only devices have to the host, and returns when they are there.
func (c *crew) flush() (at float64) {
	for _, x := range c.devices {
		for v := x.memory.first.next; v != &x.memory.first; v = v.next {
			if c.where.on(v.of) == x {
				at = max(at, c.bring(v.of))
			}
		}
	}
	return at
}

// moving returns the seconds to bring the inputs of a task to a device, nil: to the host.
func (c *crew) moving(t *graph.Task, to *device) (seconds float64) {
	for d, mode := range dataOf(t) {
		if mode&graph.In == 0 {
			continue
		}
		if x := c.where.on(d); x != nil && x != to {
			seconds += x.kind.timeBack(d.Bytes)
		}
		if to != nil && to.memory.of[d] == nil {
			seconds += to.kind.timeIn(d.Bytes)
		}
	}
	return seconds
}

// recordCopy records a copy between the host and a device.
func (c *crew) recordCopy(x *device, d *graph.Datum, start, end float64, out bool) {
	if r := c.world.rec; r != nil {
		r.copies = append(r.copies, trace.Copy{Worker: c.first + x.worker, Out: out, Bytes: d.Bytes,
			Start: duration(start), End: duration(end)})
	}
}
