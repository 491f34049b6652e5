package sim

import (
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// push hands over ready tasks that no worker has freed.
func (c *crew) push(ready []*graph.Task) {
	c.queue.Push(ready, -1)
	c.rouse()
}

// rouse wakes a worker if there is a ready task and no worker is on its way to it.
func (c *crew) rouse() {
	for _, x := range c.devices {
		x.rouse()
	}
	if c.queue.Reserves() {
		for i := len(c.asleep) - 1; i >= 0; i-- {
			if w := c.asleep[i]; c.queue.Wants(w) && !c.wide.Holds(c.workers[w].socket) {
				c.asleep = append(c.asleep[:i], c.asleep[i+1:]...)
				c.world.calendar.schedule(c.world.now+c.delay(w), c, uint64(w))
			}
		}
		return
	}
	if c.waking || len(c.asleep) == 0 || c.queue.Common() == 0 {
		return
	}
	c.wake()
}

// wake makes the worker that slept last, of those that may take one, look for a task.
func (c *crew) wake() {
	for i := len(c.asleep) - 1; i >= 0; i-- {
		if w := c.asleep[i]; !c.wide.Holds(c.workers[w].socket) {
			c.waking = true
			c.wakeWorker(w)
			return
		}
	}
}

// wakeWorker makes a worker that sleeps look for a task.
func (c *crew) wakeWorker(w int) {
	i := slices.Index(c.asleep, w)
	c.asleep = slices.Delete(c.asleep, i, i+1)
	if delay := c.delay(w); delay > 0 {
		c.world.calendar.schedule(c.world.now+delay, c, uint64(w))
	} else {
		c.fire(uint64(w))
	}
}

// soon is how long a worker without a task spins before it sleeps.
const soon = 20e-6

// delay returns how long a worker takes to reach the queue.
func (c *crew) delay(w int) float64 {
	if c.world.now-c.workers[w].since > soon {
		return c.world.m.Costs.Wake
	}
	return 0
}

// fire implements [handler]: a worker that was woken looks for a task.
func (c *crew) fire(w uint64) {
	if c.waking = false; !c.dead {
		c.next(int(w))
	}
}

// next makes a worker take a task, or sleep.
func (c *crew) next(w int) {
	t, team := c.take(w)
	if t == nil {
		// Tasks that are left are for other workers, which look for them when something changes.
		c.workers[w].since = c.world.now
		c.asleep = append(c.asleep, w)
		if c.wide.Holds(c.workers[w].socket) {
			c.rouse() // ready tasks are for workers of other sockets
		}
		return
	}
	if !c.passOn(t, w) {
		c.begin(t, w, team)
	}
	c.rouse()
}

// take returns the task that a worker begins next, and the workers that share it, itself first. The task is nil if
// there is none.
func (c *crew) take(w int) (*graph.Task, []int) {
	at := c.workers[w].socket
	onCores := c.device(w) == nil
	if onCores && c.wide.Len() > 0 {
		if x, ok := c.wide.Take(at, 1+c.idleAt(at)); ok {
			return x.Task, c.gather(w, x.Units)
		}
	}
	for !onCores || !c.wide.Holds(at) {
		t := c.queue.Pop(w)
		if t == nil {
			break
		}
		n := c.units(t)
		if n == 1 {
			if onCores {
				c.wide.Pass(at)
			}
			return t, nil
		}
		x := dispatch.WideTask{Task: t, Units: n}
		if c.wide.Fits(&x, at) && c.idleAt(at)+1 >= n {
			return t, c.gather(w, n)
		}
		c.wide.Add(x)
		c.queue.Push(nil, w) // the worker is through with it
		for _, other := range c.asleep {
			if to := c.workers[other].socket; to != at && c.wide.Fits(&x, to) && c.idleAt(to) >= n {
				c.wakeWorker(other)
				break
			}
		}
	}
	return nil, nil
}

// begin starts a task on a worker, or on those of a team, of which it is the first.
func (c *crew) begin(t *graph.Task, w int, team []int) {
	cost, err := c.speeds.cost(t)
	if err != nil {
		c.world.fail(err)
		cost.alone, cost.ratio = 0, 1
	}
	x := &c.workers[w]
	took := cost.alone
	if cost.far > 0 {
		far := int64(0)
		for i := range t.Len() {
			d := t.Operand(i).Datum
			far += c.host.caches[x.socket].Use(d, d.Bytes)
		}
		c.tally.Far += far
		took += cost.far * float64(far)
	}
	units := max(len(team), 1)
	took = took/float64(units)*c.world.noise() + c.world.m.Costs.Task + c.extra
	t.SetState(graph.Running)
	r := c.spare
	if r == nil {
		r = &run{done: c.ended}
	} else {
		c.spare = r.next
	}
	r.crew, r.worker, r.team, r.flight = c, w, team, flight{task: t, cost: cost, start: c.world.now, took: took}
	x.run = r
	c.addBusy(units)
	there := c.home(t)
	if c.world.m.Costs.Serial > 0 || there > c.world.now {
		f := &conversion{r, c.shares[x.socket], units * c.kind.threads(), cost.ratio, took}
		f.convert(graph.In, there)
		return
	}
	c.shares[x.socket].begin(r, units*c.kind.threads(), cost.ratio, took)
}

// conversion is a task whose operands are converted before it computes, and back afterwards.
type conversion struct {
	r           *run
	part        *coreShare
	threads     int
	ratio, took float64
}

// fire implements [handler]: the task computes now, or ends.
func (f *conversion) fire(ends uint64) {
	c := f.r.crew
	if c.dead {
		return
	}
	if ends != 0 {
		f.r.done = c.ended
		c.ended(f.r)
		return
	}
	f.r.done = func(*run) { f.convert(graph.Out, 0) }
	f.part.begin(f.r, f.threads, f.ratio, f.took)
}

// convert makes a thread convert the operands with a mode. Then, but not before the time at, the
// task goes on.
func (f *conversion) convert(mode graph.Mode, at float64) {
	s := f.r.crew.world
	seconds, files := s.conversion(f.r.flight.task, mode)
	at = max(at, files)
	next := uint64(0)
	if mode == graph.Out {
		next = 1
	}
	f.r.done = func(*run) { s.calendar.schedule(max(s.now, at), f, next) }
	if seconds == 0 {
		f.r.done(f.r)
		return
	}
	f.part.begin(f.r, 1, 1, seconds)
}

// ended ends the task of a worker, which takes the next one.
func (c *crew) ended(r *run) {
	w, f, team := r.worker, r.flight, r.team
	c.workers[w].run = nil
	r.flight, r.team = flight{}, nil
	r.next, c.spare = c.spare, r
	c.conclude(f, w, max(len(team), 1))
	if c.queue.Reserves() || c.devices != nil {
		c.rouse() // tasks that w does not get may be for others
	}
	for i := 1; i < len(team); i++ { // they look when the first one has
		c.workers[team[i]].since = c.world.now
		c.asleep = append(c.asleep, team[i])
	}
	c.next(w)
	for i := 1; i < len(team); i++ {
		if slices.Contains(c.asleep, team[i]) {
			c.wakeWorker(team[i])
		}
	}
}

// conclude ends a task of worker w and units−1 others, or starts its children, and hands over the tasks that it
// frees.
func (c *crew) conclude(f flight, w, units int) {
	c.addBusy(-units)
	c.tally.Tasks++
	c.tally.Work += f.cost.work
	c.tally.Busy += float64(units) * (c.world.now - f.start)
	f.end = c.world.now
	j := f.task.Graph().Owner.(*job)
	if body := c.world.body(f.task); body != nil {
		c.freed = c.beginChildren(body, j, f, w, c.freed[:0])
	} else {
		c.freed = j.ends(c, f, w, c.freed[:0])
	}
	c.queue.Push(c.freed, w)
	clear(c.freed)
}

// stop stops all workers: the node is lost.
func (c *crew) stop() {
	c.measure()
	c.dead = true
	for i := range c.workers {
		if r := c.workers[i].run; r != nil {
			c.tally.Busy += float64(max(len(r.team), 1)) * (c.world.now - r.flight.start)
			c.shares[c.workers[i].socket].stop(r)
		}
	}
}

// passOn hands a task that worker w on cores has taken and cannot execute to the nearest device
// that can. It reports false if there is none, or w can execute the task.
func (c *crew) passOn(t *graph.Task, w int) bool {
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
	c.workers[w].since = c.world.now
	c.asleep = append(c.asleep, w)
	return true
}
