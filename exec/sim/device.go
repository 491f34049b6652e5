package sim

import (
	"iter"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// device is an accelerator of a node with its worker, which works as those of package offload:
//
//	queue ─► candidates ─► operands come over the link ─► one after the other ─► end ─► crew
//
// It takes more tasks than it executes, prefetches their operands, and begins first the task with
// the fewest missing bytes. Tasks that cannot run there go to workers on cores.
type device struct {
	crew    *crew
	worker  int // its number in the crew
	kind    *Device
	speeds  *speeds
	able    map[*versions.Op]bool
	waiting offload.Candidates
	now     *flight // the running task, or the one that begins when its operands are there
	noted   bool    // an event that looks for tasks is in the calendar
	in, out float64 // when the link is free to the device, and from it
	memory  memory
}

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

// brings returns the seconds of a copy of so many bytes to the device, and backs of one to the
// host.
func (d *Device) brings(bytes int64) float64 { return d.Latency + float64(bytes)/d.Bandwidth }

func (d *Device) backs(bytes int64) float64 {
	if d.BackBandwidth == 0 {
		return d.brings(bytes)
	}
	return d.BackLatency + float64(bytes)/d.BackBandwidth
}

// addDevices gives a crew the devices of its kind.
func (c *crew) addDevices() {
	for d := range c.kind.each() {
		sp := newSpeeds(&Kind{Name: d.Name, Cores: 1, Ops: d.Ops, Rate: d.Rate, Speeds: d.Speeds})
		sp.target = d.target()
		x := &device{crew: c, worker: len(c.workers), kind: d, speeds: sp, able: map[*versions.Op]bool{}}
		x.memory.init(d.Memory)
		c.devices, c.workers = append(c.devices, x), append(c.workers, worker{})
	}
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

// policy returns a policy for a node with devices of several kinds. Like that of package exec it
// gives workers only tasks that they can execute.
func (k *Kind) policy(m dispatch.Machine, kind dispatch.Kind, build func(dispatch.Machine) dispatch.Policy,
	sp *speeds) dispatch.Policy {
	if kind == dispatch.EarliestFinish || len(k.Devices) < 2 {
		return build(m)
	}
	of := make([]int, k.Tasks())
	targets := []*versions.Target{sp.target}
	for i := range k.Devices {
		targets = append(targets, k.Devices[i].target())
		for range max(k.Devices[i].Count, 1) {
			of = append(of, i+1)
		}
	}
	return dispatch.ByKind(m, of, func(t *graph.Task) (able uint64) {
		for i, on := range targets {
			if op, ok := t.Op.(*versions.Op); ok && fits(op, on) {
				able |= 1 << i
			}
		}
		return able
	}, build)
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

// passesOn hands a task that worker w on cores has taken and cannot execute to the nearest device
// that can. It reports false if there is none, or w can execute the task.
func (c *crew) passesOn(t *graph.Task, w int) bool {
	op, ok := t.Op.(*versions.Op)
	if c.devices == nil || !ok || fits(op, c.speeds.target) {
		return false
	}
	x := c.nearest(t)
	if x == nil {
		return false
	}
	c.queue.Push(nil, w)
	c.queue.Direct(t, x.worker)
	c.workers[w].since = c.s.now
	c.asleep = append(c.asleep, w)
	return true
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
	if !x.noted && x.room() > 0 && x.crew.queue.Any(x.worker) {
		x.noted = true
		x.crew.s.calendar.note(x.crew.s.now, x, looks)
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
	looks    = iota // it looks for tasks
	computes        // the operands of its task are there
	executed        // the task has been executed
	returned        // its results are back
)

// happens implements [handler].
func (x *device) happens(what uint64) {
	c := x.crew
	switch what {
	case looks:
		x.noted = false
		x.fill()
	case computes:
		c.measure()
		c.meter.waiting--
		c.changes(1)
		x.now.start = c.s.now
		c.s.calendar.note(c.s.now+x.now.took, x, executed)
	case executed:
		x.ended()
	case returned:
		f := *x.now
		x.now = nil
		c.tally.OnDevices++
		c.concludes(f, x.worker)
		c.rouse()
		x.fill()
	}
}

// fill takes tasks, begins one, and prefetches operands.
func (x *device) fill() {
	c := x.crew
	for x.room() > 0 {
		t := c.queue.Pop(x.worker)
		if t == nil {
			break
		}
		switch other := c.nearest(t); {
		case x.accepts(t):
			x.waiting.Add(t)
		case other != nil && !fits(t.Op.(*versions.Op), c.speeds.target):
			c.queue.Push(nil, x.worker)
			c.queue.Direct(t, other.worker)
			other.rouse()
		default:
			c.queue.Refuse(t, x.worker)
			if len(c.asleep) > 0 {
				c.wake()
			}
		}
	}
	if x.now == nil && x.waiting.Len() > 0 {
		x.begin(x.waiting.Next(x.price))
	}
	x.prefetch()
}

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

// begin executes a task when all its operands are on the device.
func (x *device) begin(t *graph.Task) {
	c := x.crew
	s := c.s
	cost, err := x.speeds.cost(t)
	if err != nil {
		s.fail(err)
		cost.alone = 0
	}
	took := cost.alone*s.noise() + x.kind.Launch
	at := s.now
	if x.kind.Returns { // one thing after the other
		took += s.m.Costs.Task + c.extra
		at = s.converted(t, graph.In)
	}
	x.memory.tasks++
	for d := range dataOf(t) {
		x.memory.pinned = append(x.memory.pinned, d)
	}
	for d, mode := range dataOf(t) {
		at = max(at, x.gets(d, mode, at))
		x.memory.use(d)
	}
	t.SetState(graph.Running)
	x.now = &flight{task: t, cost: cost, took: took}
	c.measure()
	c.meter.waiting++
	s.calendar.note(at, x, computes)
}

// ended handles the end of the device's task.
func (x *device) ended() {
	c, t := x.crew, x.now.task
	at := c.s.now
	x.memory.pinned = x.memory.pinned[:0]
	for d, mode := range dataOf(t) {
		if mode&graph.Out != 0 {
			for _, y := range c.devices {
				if y != x {
					y.memory.drop(d)
				}
			}
			c.where.only(d, x)
			if x.kind.Returns {
				at = c.bring(d)
			}
		}
		if x.kind.Returns {
			x.memory.drop(d)
		}
	}
	if x.kind.Returns {
		at = c.s.converted(t, graph.Out) + at - c.s.now
	} else if x.out <= c.s.now { // copy back while the link is idle: less is left for the end
		if v := x.memory.finished(func(d *graph.Datum) bool { return c.where.on(d) == x }); v != nil {
			c.bring(v.of)
		}
	}
	if at > c.s.now {
		c.s.calendar.note(at, x, returned)
		return
	}
	x.happens(returned)
}

// prefetch copies inputs of candidates, as far as there is memory that no candidate needs.
func (x *device) prefetch() {
	x.waiting.Ask(func(t *graph.Task) bool {
		for d, mode := range dataOf(t) {
			if mode&graph.In == 0 || x.memory.of[d] != nil || x.crew.where.on(d) != nil {
				continue
			}
			at, ok := x.makesRoom(d.Bytes, false)
			if !ok {
				return false
			}
			x.copies(d, at)
		}
		return true
	})
}

// gets brings a datum for a task that begins at then or later, and returns when it is there.
func (x *device) gets(d *graph.Datum, mode graph.Mode, then float64) float64 {
	if v := x.memory.of[d]; v != nil {
		return v.there
	}
	at, _ := x.makesRoom(d.Bytes, true) // all data of one task fit
	then = max(then, at)
	if mode&graph.In == 0 {
		return x.memory.put(d, then).there
	}
	return x.copies(d, max(then, x.crew.bring(d)))
}

// copies copies a datum to the device, and returns when it is there.
func (x *device) copies(d *graph.Datum, then float64) float64 {
	c := x.crew
	start := max(then, x.in)
	x.in = start + x.kind.brings(d.Bytes)
	c.tally.DevicesIn += d.Bytes
	c.recordCopy(x, d, start, x.in, false)
	return x.memory.put(d, x.in).there
}

// makesRoom evicts the values used least recently until so many bytes are free, and returns when
// they are. Values of the task that begins or runs stay; those of candidates leave only if need is
// set. It reports false if that is not enough.
func (x *device) makesRoom(bytes int64, need bool) (at float64, ok bool) {
	m := &x.memory
	at = x.crew.s.now
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
	start := max(c.s.now, x.out)
	x.out = start + x.kind.backs(d.Bytes)
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
			c.forgets(d)
		}
	}
	return at
}

// forgets drops the devices' copies of a datum.
func (c *crew) forgets(d *graph.Datum) {
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
			seconds += x.kind.backs(d.Bytes)
		}
		if to != nil && to.memory.of[d] == nil {
			seconds += to.kind.brings(d.Bytes)
		}
	}
	return seconds
}

// recordCopy records a copy between the host and a device.
func (c *crew) recordCopy(x *device, d *graph.Datum, start, end float64, out bool) {
	if r := c.s.rec; r != nil {
		r.copies = append(r.copies, trace.Copy{Worker: c.first + x.worker, Out: out, Bytes: d.Bytes,
			Start: duration(start), End: duration(end)})
	}
}
