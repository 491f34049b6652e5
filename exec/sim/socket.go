package sim

import (
	"math"
	"slices"
)

// full reports whether another thread would have to share a core.
func (p *coreShare) full() bool { return p.runs >= p.own || p.busy >= p.cores }

func newSocket(s *world, cores int) *socket { return &socket{world: s, cores: cores, due: math.Inf(1)} }

// quantum is the resolution of ratios.
const quantum = 1.0 / 64

// classOf returns the class of calls with that number of threads and about that ratio.
func (p *coreShare) classOf(ratio float64, threads int) int {
	ratio = math.Round(ratio/quantum) * quantum
	for i := range p.class {
		if c := &p.class[i]; c.of == p && c.ratio == ratio && c.threads == threads {
			return i
		}
	}
	p.class = append(p.class, class{of: p, ratio: ratio, threads: threads})
	return len(p.class) - 1
}

// speed returns the present speed of the calls of a class.
func (c *class) speed() float64 {
	p, r := c.of, 1.0
	if c.threads > 1 {
		return c.shared()
	}
	if p.cores > 1 && p.busy > 1 {
		r = 1 / (1 + (c.ratio-1)*float64(min(p.busy, p.cores)-1)/float64(p.cores-1))
	}
	if p.busy > p.cores { // the nodes' threads take turns
		r *= float64(p.cores) / float64(p.busy)
	}
	if p.runs > p.own { // the node's threads take turns
		r *= float64(p.own) / float64(p.runs)
	}
	return r
}

// shared is speed for calls of several threads, which share the cores evenly with all other
// threads. As far as they wait for one another (slow), they are as slow as the thread whose core
// has the most others.
func (c *class) shared() float64 {
	p, threads := c.of, float64(c.threads)
	each := 1.0 // cores for each thread
	if p.runs > p.own {
		each = float64(p.own) / float64(p.runs)
		each -= p.slow * (each - 1/float64((p.runs+p.own-1)/p.own))
	}
	if p.busy > p.cores {
		each *= float64(p.cores) / float64(p.busy)
	}
	n := min(threads, float64(p.cores)) // cores that it would have alone
	if n <= p.few {
		r := 1.0
		if rest := float64(p.cores) - n; rest > 0 && float64(p.busy) > n {
			r = 1 / (1 + (c.ratio-1)*(float64(min(p.busy, p.cores))-n)/rest)
		}
		return r * threads * each / n
	}
	return 1 / (1 + (c.ratio-1)*(1/(threads*each)-1/n)/(1/p.few-1/n))
}

// advance moves all clocks to the present.
func (t *socket) advance() {
	passed := t.world.now - t.set
	if t.set = t.world.now; passed <= 0 {
		return
	}
	for i := range t.class {
		if c := &t.class[i]; len(c.runs.At) > 0 {
			c.clock += passed * c.rate
		}
	}
}

// use occupies a core for so many seconds beside tasks, and then calls then.
func (p *coreShare) use(seconds float64, then func()) {
	if seconds == 0 {
		then()
		return
	}
	p.begin(&run{done: func(*run) { then() }}, 1, 1, seconds)
}

// receive makes a core handle an arriving message for so many seconds, and calls then:
//
//	others are handled   when these are
//	a core is idle       at once: the latency is that of idle nodes
//	all compute          when it is handled. It waits until a core is idle, or the operating
//	                     system takes one from its task
//
// The first case that holds counts. Messages handled together take the time of one: most of that
// time is for a thread to get the core, and for the task to get it back.
func (p *coreShare) receive(seconds float64, then func()) {
	if !p.handling && !p.full() {
		p.cost = max(p.cost, seconds)
		p.handle()
		then()
		return
	}
	p.waits = append(p.waits, then)
	if p.handling {
		return
	}
	p.cost = max(p.cost, seconds)
	if len(p.waits) > 1 {
		return
	}
	if p.world.m.Network.Busy == 0 {
		p.handle()
		return
	}
	p.wait++
	p.waitingShares = append(p.waitingShares, p)
	p.world.calendar.schedule(p.world.now+p.world.m.Network.Busy, p, p.wait)
}

// fire implements [handler]: the operating system takes a core from a task, if messages still
// wait.
func (p *coreShare) fire(wait uint64) {
	if wait == p.wait && len(p.waits) > 0 {
		p.waitingShares = slices.DeleteFunc(p.waitingShares, func(o *coreShare) bool { return o == p })
		p.handle()
	}
}

// handle makes a core handle the waiting messages, and those that arrive meanwhile.
func (p *coreShare) handle() {
	if p.handling { // begun when a core was idle
		return
	}
	cost := p.cost
	p.handling, p.cost = true, 0
	p.use(cost, func() {
		waits := p.waits
		p.handling, p.waits = false, nil
		for _, f := range waits {
			f()
		}
	})
}

// begin starts a call with a number of threads that takes so many seconds on an idle socket.
func (p *coreShare) begin(r *run, threads int, ratio, seconds float64) {
	p.advance()
	p.world.began++
	r.class = p.classOf(ratio, threads)
	c := &p.class[r.class]
	c.runs.Push(ending{Key: c.clock + seconds, Seq: p.world.began, Value: r})
	p.addRuns(threads)
}

// stop ends r without calling done.
func (p *coreShare) stop(r *run) {
	if r.class >= len(p.class) {
		return
	}
	c := &p.class[r.class]
	if i := slices.IndexFunc(c.runs.At, func(d ending) bool { return d.Value == r }); i >= 0 { // else it has not begun
		p.advance()
		c.runs.Remove(i)
		p.addRuns(-c.threads)
	}
}

// addRuns adds by, which may be negative, to the node's running threads.
func (p *coreShare) addRuns(by int) {
	before := min(p.runs, p.own)
	p.runs += by
	p.busy += min(p.runs, p.own) - before
	p.settle()
}

// settle sets the speeds of all classes, and the socket's next event.
func (t *socket) settle() {
	next := math.Inf(1)
	for i := range t.class {
		c := &t.class[i]
		c.rate = c.speed()
		if len(c.runs.At) > 0 {
			next = min(next, t.world.now+max(c.runs.At[0].Key-c.clock, 0)/c.rate)
		}
	}
	// If the end is later than before, one event finds nothing to end.
	if next < t.due {
		t.due = next
		t.world.calendar.schedule(next, t, math.Float64bits(next))
	}
}

// fire implements [handler]: calls may have ended.
func (t *socket) fire(due uint64) {
	if math.Float64frombits(due) != t.due {
		return
	}
	t.due = math.Inf(1)
	t.advance()
	for {
		var first *ending
		for i := range t.class {
			c := &t.class[i]
			if len(c.runs.At) == 0 {
				continue
			}
			// A rest below the resolution of the time is none.
			r := &c.runs.At[0]
			if left := (r.Key - c.clock) / c.rate; t.world.now+left > t.world.now+1e-12 {
				continue
			}
			if first == nil || r.Seq < first.Seq {
				first = r
			}
		}
		if first == nil {
			break
		}
		r := first.Value
		c := &t.class[r.class]
		c.runs.Remove(0)
		c.of.addRuns(-c.threads)
		r.done(r)
	}
	t.settle()
	for i := 0; i < len(t.waitingShares); i++ {
		if p := t.waitingShares[i]; !p.full() {
			t.waitingShares = slices.Delete(t.waitingShares, i, i+1)
			i--
			p.handle()
		}
	}
}
