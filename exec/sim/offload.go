package sim

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// fire implements [handler].
func (x *device) fire(what uint64) {
	c := x.crew
	switch what {
	case lookForTasks:
		x.scheduled = false
		x.fill()
	case taskBegins:
		c.measure()
		c.meter.waiting--
		c.addBusy(1)
		x.now.start = c.world.now
		c.world.calendar.schedule(c.world.now+x.now.took, x, taskEnds)
	case taskEnds:
		x.ended()
	case resultsBack:
		f := *x.now
		x.now = nil
		c.tally.OnDevices++
		c.conclude(f, x.worker, 1)
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

// begin executes a task when all its operands are on the device.
func (x *device) begin(t *graph.Task) {
	c := x.crew
	s := c.world
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
		at = max(at, x.fetch(d, mode, at))
		x.memory.use(d)
	}
	t.SetState(graph.Running)
	x.now = &flight{task: t, cost: cost, took: took}
	c.measure()
	c.meter.waiting++
	s.calendar.schedule(at, x, taskBegins)
}

// ended handles the end of the device's task.
func (x *device) ended() {
	c, t := x.crew, x.now.task
	at := c.world.now
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
		at = c.world.converted(t, graph.Out) + at - c.world.now
	} else if x.out <= c.world.now { // copy back while the link is idle: less is left for the end
		if v := x.memory.finished(func(d *graph.Datum) bool { return c.where.on(d) == x }); v != nil {
			c.bring(v.of)
		}
	}
	if at > c.world.now {
		c.world.calendar.schedule(at, x, resultsBack)
		return
	}
	x.fire(resultsBack)
}

// prefetch copies inputs of candidates, as far as there is memory that no candidate needs.
func (x *device) prefetch() {
	x.waiting.Ask(func(t *graph.Task) bool {
		for d, mode := range dataOf(t) {
			if mode&graph.In == 0 || x.memory.of[d] != nil || x.crew.where.on(d) != nil {
				continue
			}
			at, ok := x.makeRoom(d.Bytes, false)
			if !ok {
				return false
			}
			x.copyIn(d, at)
		}
		return true
	})
}
