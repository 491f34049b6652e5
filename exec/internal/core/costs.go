package core

import (
	"math"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Experience is what a driver has learned of its nodes from their reports: how long tasks take
// on them, and values between them. It is pure. What is older counts less: it is as the last
// some dozen tasks, or values, were.
type Experience struct {
	Ops   map[string]*times
	order []*times    // these, as they came: sums in another order have other last bits
	last  [4]timesOf  // some of these, by op: OpName puts a name together each time
	next  int         // of last, to be replaced
	links table[link] // from a node to another one: see between
	all   link        // any two nodes
	Done  float64     // the work of all tasks that ran, of ops that say theirs

	call versions.Call // that of the last question
}

// times is how long tasks of an op take.
type times struct {
	by    []tally // by node: seconds for a unit of work
	sum   float64 // of the ratios that are known …
	known int     // … and how many these are
	Spent float64 // seconds, on all nodes
}

// timesOf is the times of an op.
type timesOf struct {
	op *versions.Op
	of *times
}

// known returns the times of an op, nil if there are none yet.
func (x *Experience) known(op graph.Op) *times {
	o, ok := op.(*versions.Op)
	if !ok {
		return x.Ops[op.OpName()]
	}
	for i := range x.last {
		if x.last[i].op == o {
			return x.last[i].of
		}
	}
	all := x.Ops[o.OpName()]
	if all != nil {
		x.last[x.next] = timesOf{o, all}
		x.next = (x.next + 1) % len(x.last)
	}
	return all
}

// mean returns the mean of the ratios that are known, 0 if none is.
func (t *times) mean() float64 {
	if t == nil || t.known == 0 {
		return 0
	}
	return t.sum / float64(t.known)
}

// workOf returns the work of a task, in units of its op. A Work that panics has the task
// fail when it is to run; here it says nothing.
func (x *Experience) workOf(t *graph.Task) (work float64) {
	op, ok := t.Op.(*versions.Op)
	if !ok || op.Work == nil {
		return 1
	}
	defer func() {
		if recover() != nil {
			work = 1
		}
	}()
	c := &x.call
	c.Params, c.Args = t.Params, c.Args[:0]
	for i := range t.Len() {
		c.Args = append(c.Args, t.Operand(i).Datum.Value)
	}
	w := op.Work(c)
	clear(c.Args) // keeps no data alive
	c.Params = nil
	if w > 1 && !math.IsInf(w, 1) {
		return w
	}
	return 1
}

// ran learns from a task of so much work that a node has executed, and reports whether it is the first
// of its op.
func (x *Experience) ran(node int, t *graph.Task, work float64, took time.Duration) (first bool) {
	if took <= 0 {
		return false
	}
	if x.Ops == nil {
		x.Ops = map[string]*times{}
	}
	all := x.known(t.Op)
	if first = all == nil; first {
		all = &times{}
		x.Ops[t.Op.OpName()] = all
		x.order = append(x.order, all)
	}
	for len(all.by) <= node {
		all.by = append(all.by, tally{})
	}
	y := &all.by[node]
	if y.in == 0 {
		all.known++
	}
	all.sum -= y.ratio()
	y.add(took.Seconds(), work)
	if work > 1 {
		x.Done += work
	}
	all.sum += y.ratio()
	all.Spent += took.Seconds()
	return first
}

// slowness returns how long a node takes, as a multiple of what the mean of those takes that
// have executed the same ops: 1 if nothing is known.
func (x *Experience) slowness(node int) float64 {
	var sum, weights float64
	for _, all := range x.order {
		if node >= len(all.by) || all.by[node].in == 0 {
			continue
		}
		sum += all.Spent * all.by[node].ratio() / all.mean()
		weights += all.Spent
	}
	if weights == 0 {
		return 1
	}
	return sum / weights
}

// Speed returns how fast a worker of a node is, relative to others. What is alike but for
// noise counts as equal: less than 15 % from the mean.
func (x *Experience) Speed(node int) float64 {
	if s := x.slowness(node); math.Abs(s-1) > 0.15 {
		return 1 / s
	}
	return 1
}

// run returns the seconds that a worker of a node is expected to take for a task, 0 if nothing
// is known of its op.
func (x *Experience) run(node int, t *graph.Task) float64 {
	if r := x.ratio(node, t.Op); r > 0 {
		return r * x.workOf(t)
	}
	return 0
}

// ratio is run for a unit of the op's work.
func (x *Experience) ratio(node int, op graph.Op) float64 {
	all := x.known(op)
	if all != nil && node < len(all.by) && all.by[node].in > 0 {
		return all.by[node].ratio()
	}
	if m := all.mean(); m > 0 {
		return m * x.slowness(node)
	}
	return 0
}

// link is how values come from one node to another one: sums over values of 1, bytes, seconds,
// and their products, the later ones more.
type link struct{ n, x, y, xx, xy float64 }

// between is the number of a link.
func between(from, to int) uint64 { return uint64(from)<<32 | uint64(to+1) }

// Moved learns from values that have come from one node to another one.
func (x *Experience) Moved(from, to int, values, bytes int64, took time.Duration) {
	if values <= 0 || bytes <= 0 || took <= 0 {
		return
	}
	l := x.links.Of(between(from, to))
	if l == nil && x.links.N < linksMost {
		l = &link{}
		x.links.put(between(from, to), l)
	}
	if l != nil {
		l.add(float64(values), float64(bytes), took.Seconds())
	}
	x.all.add(float64(values), float64(bytes), took.Seconds())
}

func (l *link) add(n, bytes, seconds float64) {
	b, s, left := bytes/n, seconds/n, math.Pow(forgets, n)
	l.n = left*l.n + n
	l.x, l.y = left*l.x+n*b, left*l.y+n*s
	l.xx, l.xy = left*l.xx+n*b*b, left*l.xy+n*b*s
}

// linksMost is how many pairs of nodes are told apart: all of 64 nodes. Others count as any two.
const linksMost = 1 << 12

// takes returns the seconds for a value: a time for each, and one for each byte, where sizes
// were unlike enough to tell the two apart; or else as those that have come, by their bytes.
func (l *link) takes(bytes float64) float64 {
	if l.n == 0 {
		return 0
	}
	perByte, each := l.y/l.x, 0.0
	if spread := l.n*l.xx - l.x*l.x; spread > 0.01*l.x*l.x {
		slope := (l.n*l.xy - l.x*l.y) / spread
		if at := (l.y - slope*l.x) / l.n; slope > 0 && at >= 0 {
			perByte, each = slope, at
		}
	}
	return each + perByte*bytes
}

// guessed is how many bytes come in a second where nothing is known yet, those of a network of
// 10 Gbit/s, and guessedEach the seconds for each value besides. Not measured.
const (
	guessed     = 1.25e9
	guessedEach = 2e-4
)

// move returns the seconds that bytes are expected to take from the nearest of those that have
// them to another one.
func (x *Experience) move(from []int, to int, bytes int64) float64 {
	best := math.Inf(1)
	for _, f := range from[:min(len(from), giversMost)] {
		l := x.links.Of(between(f, to))
		if l == nil {
			l = &x.all
		}
		s := l.takes(float64(bytes))
		if l.n == 0 {
			s = guessedEach + float64(bytes)/guessed
		}
		best = min(best, s)
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}
