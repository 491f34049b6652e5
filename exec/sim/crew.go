package sim

import (
	"math"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// crew is the workers of a node, and the ready tasks that they take from a queue of package
// dispatch.
//
//	push ─► queue ─► a worker that is free ─► socket ─► ended ─► freed tasks ─► push …
//
// As in package exec, new work wakes at most one worker, the one that went to sleep last, and that
// one wakes the next if there is more.
type crew struct {
	s        *world
	node     int
	kind     *Kind
	speeds   *speeds
	host     *host
	shares   []*coreShare // the node's shares of the host's sockets
	queue    *dispatch.Queue
	workers  []worker
	asleep   []int // the last one to sleep at the end
	waking   bool  // a woken worker is on its way to the queue
	freed    []*graph.Task
	one      [1]*graph.Task
	spare    *run
	extra    float64 // seconds for each task beyond Costs.Task
	first    int     // number of the first worker in recordings
	busy     int     // workers that have a task
	tally    Tally
	held     int64           // bytes of values on the node
	fixed    graph.Locations // the locations of its workers, if there are several
	in, out  float64         // when the link is free of what comes from other nodes, and goes to them
	clock    *clock          // of the driver that gives the node tasks
	own      clock           // of submitters on the node itself
	asDriver *clock          // of the node as the driver of children; nil: it is none
	below    []*crew         // the nodes that it drives, itself first
	meter    meter
	devices  []*device // their workers come after those on cores; nil: none
	where    places    // values that are not on the host alone
	slot     int       // the node in predictions
	dead     bool      // the node is lost
}

// worker is a worker of a crew.
type worker struct {
	run    *run // nil if it has no task
	socket int
	since  float64 // since when it has none
}

// flight is a running task.
type flight struct {
	task  *graph.Task
	cost  cost
	start float64
	end   float64 // end of its own run, without children
	took  float64 // seconds that it would take with the socket to itself
}

// Tally counts the work of a node's workers and the reasons of their idle time: their seconds are
// Busy, Starving, Throttled, Driver and Idle.
type Tally struct {
	Tasks int     `json:"tasks"`
	Work  float64 `json:"work"` // in units of the ops, for linear algebra flops
	Busy  float64 `json:"seconds_busy"`
	// Idle seconds by reason: Starving while tasks of the node waited for operands, Throttled while
	// the window was full, Driver while the driver or submitter was busy, and Idle for want of
	// ready tasks.
	Starving  float64 `json:"seconds_starving"`
	Throttled float64 `json:"seconds_throttled"`
	Driver    float64 `json:"seconds_driver"`
	Idle      float64 `json:"seconds_idle"`
	Far       int64   `json:"bytes_far"` // of operands that were not in the cache

	In  int64 `json:"bytes_in"` // of values from other nodes, and to others
	Out int64 `json:"bytes_out"`
	// OnDevices counts the Tasks on accelerators; DevicesIn and DevicesOut are the bytes of values
	// copied to and from them.
	OnDevices  int   `json:"tasks_devices,omitempty"`
	DevicesIn  int64 `json:"bytes_devices_in,omitempty"`
	DevicesOut int64 `json:"bytes_devices_out,omitempty"`
	Peak       int64 `json:"bytes_peak"` // largest bytes of values on the node
}

// meter measures the idle times of a node's workers.
type meter struct {
	at      float64
	waiting int     // tasks that wait for operands
	driver  float64 // seconds that the driver had worked by then
	full    float64 // seconds for which the window had been full by then
}

// changes adds by, which may be negative, to the number of busy workers.
func (c *crew) changes(by int) {
	c.measure()
	c.busy += by
}

// measure adds the time since the last change.
func (c *crew) measure() {
	if c.dead {
		return
	}
	m := &c.meter
	passed, driver, full := c.s.now-m.at, c.clock.working(c.s.now), c.s.throttled()
	if passed > 0 {
		idle := len(c.workers) - c.busy
		starving := min(idle, m.waiting)
		c.tally.Starving += float64(starving) * passed
		rest := float64(idle-starving) * passed
		window := min((full-m.full)/passed, 1)
		part := min((driver-m.driver)/passed, 1-window)
		c.tally.Throttled += rest * window
		c.tally.Driver += rest * part
		c.tally.Idle += rest * (1 - window - part)
	}
	m.at, m.driver, m.full = c.s.now, driver, full
}

// host is a computer: its sockets and their caches.
type host struct {
	sockets []*socket
	caches  []*Cache[*graph.Datum]
}

func newHost(s *world, k *Kind) *host {
	h := &host{}
	for range k.sockets() {
		c := &Cache[*graph.Datum]{}
		c.Init(k.Cache)
		h.sockets, h.caches = append(h.sockets, newSocket(s, k.Cores)), append(h.caches, c)
	}
	return h
}

// newCrew returns the workers of a node of a kind on a host.
func newCrew(s *world, node int, sp *speeds, h *host, by *clock, queue *dispatch.Queue) *crew {
	k := sp.kind
	c := &crew{s: s, node: node, slot: node, kind: k, speeds: sp, host: h, clock: by, queue: queue}
	for _, t := range h.sockets {
		own := min(k.Cores, t.cores)
		few := float64(own) * float64(len(h.sockets)) / float64(k.Tasks())
		c.shares = append(c.shares, &coreShare{socket: t, own: own, few: few, slow: k.Waits})
	}
	n := k.Tasks()
	for i := range n {
		c.workers = append(c.workers, worker{socket: i * len(h.sockets) / n})
		c.asleep = append(c.asleep, n-1-i)
	}
	c.addDevices()
	return c
}

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
			if w := c.asleep[i]; c.queue.Wants(w) {
				c.asleep = append(c.asleep[:i], c.asleep[i+1:]...)
				c.s.calendar.note(c.s.now+c.delay(w), c, uint64(w))
			}
		}
		return
	}
	if c.waking || len(c.asleep) == 0 || c.queue.Common() == 0 {
		return
	}
	c.wake()
}

// wake makes the worker that slept last look for a task.
func (c *crew) wake() {
	w := c.asleep[len(c.asleep)-1]
	c.asleep = c.asleep[:len(c.asleep)-1]
	c.waking = true
	if delay := c.delay(w); delay > 0 {
		c.s.calendar.note(c.s.now+delay, c, uint64(w))
	} else {
		c.happens(uint64(w))
	}
}

// soon is how long a worker without a task spins before it sleeps.
const soon = 20e-6

// delay returns how long a worker takes to reach the queue.
func (c *crew) delay(w int) float64 {
	if c.s.now-c.workers[w].since > soon {
		return c.s.m.Costs.Wake
	}
	return 0
}

// happens implements [handler]: a worker that was woken looks for a task.
func (c *crew) happens(w uint64) {
	if c.waking = false; !c.dead {
		c.next(int(w))
	}
}

// next makes a worker take a task, or sleep.
func (c *crew) next(w int) {
	t := c.queue.Pop(w)
	if t == nil {
		// Tasks that are left are for other workers, which look for them when something changes.
		c.workers[w].since = c.s.now
		c.asleep = append(c.asleep, w)
		return
	}
	if !c.passesOn(t, w) {
		c.begin(t, w)
	}
	c.rouse()
}

// begin starts a task on a worker.
func (c *crew) begin(t *graph.Task, w int) {
	cost, err := c.speeds.cost(t)
	if err != nil {
		c.s.fail(err)
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
	took = took*c.s.noise() + c.s.m.Costs.Task + c.extra
	t.SetState(graph.Running)
	r := c.spare
	if r == nil {
		r = &run{done: c.ended}
	} else {
		c.spare = r.next
	}
	r.crew, r.worker, r.flight = c, w, flight{task: t, cost: cost, start: c.s.now, took: took}
	x.run = r
	c.changes(1)
	there := c.home(t)
	if c.s.m.Costs.Serial > 0 || there > c.s.now {
		f := &form{r, c.shares[x.socket], cost.ratio, took}
		f.converts(graph.In, there)
		return
	}
	c.shares[x.socket].begin(r, c.kind.threads(), cost.ratio, took)
}

// form is a task whose operands are converted before it computes, and back afterwards.
type form struct {
	r           *run
	part        *coreShare
	ratio, took float64
}

// happens implements [handler]: the task computes now, or ends.
func (f *form) happens(ends uint64) {
	c := f.r.crew
	if c.dead {
		return
	}
	if ends != 0 {
		f.r.done = c.ended
		c.ended(f.r)
		return
	}
	f.r.done = func(*run) { f.converts(graph.Out, 0) }
	f.part.begin(f.r, c.kind.threads(), f.ratio, f.took)
}

// converts makes a thread convert the operands with a mode. Then, but not before the time at, the
// task goes on.
func (f *form) converts(mode graph.Mode, at float64) {
	s := f.r.crew.s
	seconds, files := s.conversion(f.r.flight.task, mode)
	at = max(at, files)
	next := uint64(0)
	if mode == graph.Out {
		next = 1
	}
	f.r.done = func(*run) { s.calendar.note(max(s.now, at), f, next) }
	if seconds == 0 {
		f.r.done(f.r)
		return
	}
	f.part.begin(f.r, 1, 1, seconds)
}

// conversion returns how long a thread takes to convert the operands of a task with a mode, and
// when the shared file system has read or written them.
func (s *world) conversion(t *graph.Task, mode graph.Mode) (seconds, files float64) {
	c := &s.m.Costs
	if c.Serial == 0 {
		return 0, s.now
	}
	n := 0.0
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&mode != 0 {
			n += float64(o.Datum.Bytes)
		}
	}
	if c.Files > 0 {
		s.files = max(s.files, s.now) + n/c.Files
	}
	return c.Serial * n, s.files
}

// converted returns when the conversion on an otherwise idle core is over.
func (s *world) converted(t *graph.Task, mode graph.Mode) float64 {
	seconds, files := s.conversion(t, mode)
	return max(s.now+seconds, files)
}

// ended ends the task of a worker, which takes the next one.
func (c *crew) ended(r *run) {
	w, f := r.worker, r.flight
	c.workers[w].run = nil
	r.flight = flight{}
	r.next, c.spare = c.spare, r
	c.concludes(f, w)
	if c.queue.Reserves() || c.devices != nil {
		c.rouse() // tasks that w does not get may be for others
	}
	c.next(w)
}

// concludes ends a task of worker w, or starts its children, and hands over the tasks that it
// frees.
func (c *crew) concludes(f flight, w int) {
	c.changes(-1)
	c.tally.Tasks++
	c.tally.Work += f.cost.work
	c.tally.Busy += c.s.now - f.start
	f.end = c.s.now
	j := f.task.Graph().Owner.(*job)
	if body := c.s.body(f.task); body != nil {
		c.freed = c.beginChildren(body, j, f, w, c.freed[:0])
	} else {
		c.freed = j.ends(c, f, w, c.freed[:0])
	}
	c.queue.Push(c.freed, w)
	clear(c.freed)
}

// dies stops all workers: the node is lost.
func (c *crew) dies() {
	c.measure()
	c.dead = true
	for i := range c.workers {
		if r := c.workers[i].run; r != nil {
			c.tally.Busy += c.s.now - r.flight.start
			c.shares[c.workers[i].socket].stops(r)
		}
	}
}

// noise returns the random factor of the next time.
func (s *world) noise() float64 {
	if s.m.Noise.Spread == 0 {
		return 1
	}
	return math.Exp(s.m.Noise.Spread * s.rng.NormFloat64())
}
