package sim

import "math"

// tank is the cores of a socket, and what runs on them: how fast it gets on depends on how many
// have something to do.
//
// What runs is in classes: all of a class are slowed down by the same factor. So a class has a
// clock, which runs as fast as they get on, and each of them ends at a time by that clock which
// does not change. Whatever begins or ends, only the clocks are set anew, of which there are
// few, and no task is looked at.
type tank struct {
	s     *world
	cores int
	busy  int // cores that have something to do
	set   float64
	class []class
	due   float64 // when it is going to be looked at; +Inf: not
}

// class is calls with one ratio of the times with and without neighbours.
type class struct {
	ratio float64
	clock float64 // seconds that a task would have got on that has the socket to itself
	rate  float64 // of the clock, in seconds a second
	runs  []*run  // a heap by end
}

// run is something that runs.
type run struct {
	end   float64 // by the clock of its class
	seq   uint64  // which of several that end at once does so first
	tank  *tank
	class int
	place int // in the heap
	done  func(*run)
	next  *run // of those to be used again

	crew   *crew
	worker int
	flight flight
}

func newTank(s *world, cores int) *tank { return &tank{s: s, cores: cores, due: math.Inf(1)} }

// quantum is how finely ratios are told apart.
const quantum = 1.0 / 64

// classOf returns the class of calls with about that ratio.
func (t *tank) classOf(ratio float64) int {
	ratio = math.Round(ratio/quantum) * quantum
	for i := range t.class {
		if t.class[i].ratio == ratio {
			return i
		}
	}
	t.class = append(t.class, class{ratio: ratio, rate: t.rate(ratio)})
	return len(t.class) - 1
}

// rate returns how fast calls of a ratio get on now.
func (t *tank) rate(ratio float64) float64 {
	r := 1.0
	if t.cores > 1 && t.busy > 1 {
		r = 1 / (1 + (ratio-1)*float64(min(t.busy, t.cores)-1)/float64(t.cores-1))
	}
	if t.busy > t.cores { // they take turns
		r *= float64(t.cores) / float64(t.busy)
	}
	return r
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

// works has a core do something else for so many seconds, and then something happen.
func (t *tank) works(seconds float64, then func()) {
	t.begin(&run{done: func(*run) { then() }}, 1, seconds)
}

// begin has something run that takes so many seconds if it has the socket to itself.
func (t *tank) begin(r *run, ratio, seconds float64) {
	t.advance()
	t.s.began++
	r.tank, r.class, r.seq = t, t.classOf(ratio), t.s.began
	c := &t.class[r.class]
	r.end = c.clock + seconds
	c.push(r)
	t.changed(1)
}

// changed notes that so many more cores have something to do.
func (t *tank) changed(by int) {
	t.busy += by
	next := math.Inf(1)
	for i := range t.class {
		c := &t.class[i]
		c.rate = t.rate(c.ratio)
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
		var first *run
		for i := range t.class {
			c := &t.class[i]
			if len(c.runs) == 0 {
				continue
			}
			// What is left is nothing if it is less than time has digits for.
			r := c.runs[0]
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
		t.class[first.class].remove(first.place)
		t.changed(-1)
		first.done(first)
	}
	t.changed(0)
}

func (r *run) before(o *run) bool { return r.end < o.end || r.end == o.end && r.seq < o.seq }

func (c *class) push(r *run) {
	c.runs = append(c.runs, r)
	c.up(len(c.runs)-1, r)
}

func (c *class) put(i int, r *run) { c.runs[i], r.place = r, i }

func (c *class) up(i int, r *run) {
	for i > 0 && r.before(c.runs[(i-1)/2]) {
		c.put(i, c.runs[(i-1)/2])
		i = (i - 1) / 2
	}
	c.put(i, r)
}

// remove takes what is at a place out.
func (c *class) remove(i int) {
	n := len(c.runs) - 1
	r := c.runs[n]
	c.runs[n] = nil
	c.runs = c.runs[:n]
	if i == n {
		return
	}
	for k := 2*i + 1; k < n; k = 2*i + 1 {
		if k+1 < n && c.runs[k+1].before(c.runs[k]) {
			k++
		}
		if !c.runs[k].before(r) {
			break
		}
		c.put(i, c.runs[k])
		i = k
	}
	c.up(i, r)
}
