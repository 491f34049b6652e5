package sim

import (
	"math"
	"slices"
)

// tank is the cores of a socket, and what runs on them: how fast it gets on depends on how many
// have something to do.
//
// Several nodes may be processes on one computer. Each has its part of the tank: as many cores as it
// has, which what it does beside its tasks shares with these.
//
// What runs is in classes: all of a class are slowed down by the same factor. So a class has a
// clock, which runs as fast as they get on, and each of them ends at a time by that clock which
// does not change. Whatever begins or ends, only the clocks are set anew, of which there are
// few, and no task is looked at.
type tank struct {
	s     *world
	cores int
	busy  int // cores that have something to do, or are asked for by several nodes
	set   float64
	class []class
	// hearers are the parts in which messages wait for a core.
	hearers []*part
	due     float64 // when it is going to be looked at; +Inf: not
}

// part is the cores of a tank that a node has at most at a time.
type part struct {
	*tank
	own  int // cores
	runs int // threads of what runs
	// few is the cores of a task while all workers have one, and slow is [Kind.Waits].
	few, slow float64
	waits     []func() // messages that wait for a core, or until those before them have been handled
	cost      float64  // seconds that it takes to handle these
	handling  bool     // some are handled
	wait      uint64   // how often some have begun to wait for a core
}

// full reports whether who comes now has to share a core.
func (p *part) full() bool { return p.runs >= p.own || p.busy >= p.cores }

// class is calls of a node with so many threads and one ratio of the times with and without
// neighbours.
type class struct {
	of      *part
	threads int
	ratio   float64
	clock   float64  // seconds that a task would have got on that has the socket to itself
	rate    float64  // of the clock, in seconds a second
	runs    []ending // a heap
}

// ending is when something ends by the clock of its class. Of several that end at once that with the
// lowest number does so first. It is apart from what runs, so that a heap of them is in few lines of
// the cache.
type ending struct {
	end float64
	seq uint64
	run *run
}

// run is something that runs.
type run struct {
	class int
	done  func(*run)
	next  *run // of those to be used again

	crew   *crew
	worker int
	flight flight
}

func newTank(s *world, cores int) *tank { return &tank{s: s, cores: cores, due: math.Inf(1)} }

// quantum is how finely ratios are told apart.
const quantum = 1.0 / 64

// classOf returns the class of calls with so many threads and about that ratio.
func (p *part) classOf(ratio float64, threads int) int {
	ratio = math.Round(ratio/quantum) * quantum
	for i := range p.class {
		if c := &p.class[i]; c.of == p && c.ratio == ratio && c.threads == threads {
			return i
		}
	}
	p.class = append(p.class, class{of: p, ratio: ratio, threads: threads})
	return len(p.class) - 1
}

// speed returns how fast the calls of a class get on now.
func (c *class) speed() float64 {
	p, r := c.of, 1.0
	if c.threads > 1 {
		return c.shared()
	}
	if p.cores > 1 && p.busy > 1 {
		r = 1 / (1 + (c.ratio-1)*float64(min(p.busy, p.cores)-1)/float64(p.cores-1))
	}
	if p.busy > p.cores { // they take turns
		r *= float64(p.cores) / float64(p.busy)
	}
	if p.runs > p.own { // those of the node do
		r *= float64(p.own) / float64(p.runs)
	}
	return r
}

// shared is speed for calls of several threads, which share the cores evenly with what else runs. As
// far as they wait for one another they get on as the slowest one, which has a core with the most
// others.
func (c *class) shared() float64 {
	p, threads := c.of, float64(c.threads)
	each := 1.0 // cores of a thread
	if p.runs > p.own {
		each = float64(p.own) / float64(p.runs)
		each -= p.slow * (each - 1/float64((p.runs+p.own-1)/p.own))
	}
	if p.busy > p.cores {
		each *= float64(p.cores) / float64(p.busy)
	}
	n := min(threads, float64(p.cores)) // that it has alone
	if n <= p.few {
		r := 1.0
		if rest := float64(p.cores) - n; rest > 0 && float64(p.busy) > n {
			r = 1 / (1 + (c.ratio-1)*(float64(min(p.busy, p.cores))-n)/rest)
		}
		return r * threads * each / n
	}
	return 1 / (1 + (c.ratio-1)*(1/(threads*each)-1/n)/(1/p.few-1/n))
}

// advance sets the clocks.
func (t *tank) advance() {
	passed := t.s.now - t.set
	if t.set = t.s.now; passed <= 0 {
		return
	}
	for i := range t.class {
		if c := &t.class[i]; len(c.runs) > 0 {
			c.clock += passed * c.rate
		}
	}
}

// takes has a core do something beside tasks for so many seconds, and then something happen.
func (p *part) takes(seconds float64, then func()) {
	if seconds == 0 {
		then()
		return
	}
	p.begin(&run{done: func(*run) { then() }}, 1, 1, seconds)
}

// hears has a core handle a message that comes, for so many seconds, and something happen:
//
//	others are handled   when these are
//	a core is idle       at once: the latency is that of idle nodes
//	all compute          when it is handled. For that it waits until a core is idle, or the system
//	                     takes one from its task
//
// The first of these that is so counts. What is handled together takes the time of one: most of that
// is for a thread to get the core, and for the task to get it back.
func (p *part) hears(seconds float64, then func()) {
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
	if p.s.m.Network.Busy == 0 {
		p.handle()
		return
	}
	p.wait++
	p.hearers = append(p.hearers, p)
	p.s.calendar.note(p.s.now+p.s.m.Network.Busy, p, p.wait)
}

// happens implements [handler]: the system takes a core from a task, if messages still wait.
func (p *part) happens(wait uint64) {
	if wait == p.wait && len(p.waits) > 0 {
		p.hearers = slices.DeleteFunc(p.hearers, func(o *part) bool { return o == p })
		p.handle()
	}
}

// handle has a core handle what waits, and what comes meanwhile.
func (p *part) handle() {
	if p.handling { // it began when a core was idle, before who waits was called
		return
	}
	cost := p.cost
	p.handling, p.cost = true, 0
	p.takes(cost, func() {
		waits := p.waits
		p.handling, p.waits = false, nil
		for _, f := range waits {
			f()
		}
	})
}

// begin has something of so many threads run that takes so many seconds if it has the socket to
// itself.
func (p *part) begin(r *run, threads int, ratio, seconds float64) {
	p.advance()
	p.s.began++
	r.class = p.classOf(ratio, threads)
	c := &p.class[r.class]
	c.push(ending{c.clock + seconds, p.s.began, r})
	p.changed(threads)
}

// stops has what runs not do so any more.
func (p *part) stops(r *run) {
	if r.class >= len(p.class) {
		return
	}
	c := &p.class[r.class]
	if i := slices.IndexFunc(c.runs, func(d ending) bool { return d.run == r }); i >= 0 { // or else it has not begun
		p.advance()
		c.remove(i)
		p.changed(-c.threads)
	}
}

// changed notes that so many more threads of the node have something to do.
func (p *part) changed(by int) {
	before := min(p.runs, p.own)
	p.runs += by
	p.busy += min(p.runs, p.own) - before
	p.settle()
}

// settle sets how fast what runs gets on, and when it is looked at.
func (t *tank) settle() {
	next := math.Inf(1)
	for i := range t.class {
		c := &t.class[i]
		c.rate = c.speed()
		if len(c.runs) > 0 {
			next = min(next, t.s.now+max(c.runs[0].end-c.clock, 0)/c.rate)
		}
	}
	// If it is later than it was, it is looked at in vain once.
	if next < t.due {
		t.due = next
		t.s.calendar.note(next, t, math.Float64bits(next))
	}
}

// happens implements [handler]: something may have ended.
func (t *tank) happens(due uint64) {
	if math.Float64frombits(due) != t.due {
		return
	}
	t.due = math.Inf(1)
	t.advance()
	for {
		var first *ending
		for i := range t.class {
			c := &t.class[i]
			if len(c.runs) == 0 {
				continue
			}
			// What is left is nothing if it is less than time has digits for.
			r := &c.runs[0]
			if left := (r.end - c.clock) / c.rate; t.s.now+left > t.s.now+1e-12 {
				continue
			}
			if first == nil || r.seq < first.seq {
				first = r
			}
		}
		if first == nil {
			break
		}
		r := first.run
		c := &t.class[r.class]
		c.remove(0)
		c.of.changed(-c.threads)
		r.done(r)
	}
	t.settle()
	for i := 0; i < len(t.hearers); i++ {
		if p := t.hearers[i]; !p.full() {
			t.hearers = slices.Delete(t.hearers, i, i+1)
			i--
			p.handle()
		}
	}
}

func (d *ending) before(o *ending) bool { return d.end < o.end || d.end == o.end && d.seq < o.seq }

func (c *class) push(d ending) {
	c.runs = append(c.runs, d)
	c.up(len(c.runs)-1, d)
}

func (c *class) up(i int, d ending) {
	for i > 0 && d.before(&c.runs[(i-1)/2]) {
		c.runs[i] = c.runs[(i-1)/2]
		i = (i - 1) / 2
	}
	c.runs[i] = d
}

// remove takes what is at a place out.
func (c *class) remove(i int) {
	n := len(c.runs) - 1
	d := c.runs[n]
	c.runs[n] = ending{}
	c.runs = c.runs[:n]
	if i == n {
		return
	}
	for k := 2*i + 1; k < n; k = 2*i + 1 {
		if k+1 < n && c.runs[k+1].before(&c.runs[k]) {
			k++
		}
		if !c.runs[k].before(&d) {
			break
		}
		c.runs[i] = c.runs[k]
		i = k
	}
	c.up(i, d)
}
