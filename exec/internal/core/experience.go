package core

import (
	"math"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Experience is what a driver has learned from its nodes' reports: how long tasks take on each, and
// transfers between them. Older reports weigh less; about the last dozen count. It is pure.
type Experience struct {
	Ops      map[string]*opTimes // by op
	order    []*opTimes          // Ops in order of arrival: the order of sums decides their last bits
	recent   [4]recentTimes      // a cache for some ops, as OpName concatenates the name each time
	next     int                 // the index in recent to replace
	links    table[link]         // by sender and receiver: see between
	allLinks link                // of all pairs of nodes
	Work     float64             // of all tasks that have run, of ops that define it

	call versions.Call // scratch of workOf
}

// opTimes is how long tasks of an op take.
type opTimes struct {
	perNode []tally // seconds for a unit of work
	sum     float64 // of the known ratios
	known   int     // number of known ratios
	Spent   float64 // seconds, on all nodes
}

// recentTimes is a cached entry of Experience.Ops.
type recentTimes struct {
	op *versions.Op
	of *opTimes
}

// timesFor returns the times of an op, nil if there are none yet.
func (x *Experience) timesFor(op graph.Op) *opTimes {
	o, ok := op.(*versions.Op)
	if !ok {
		return x.Ops[op.OpName()]
	}
	for i := range x.recent {
		if x.recent[i].op == o {
			return x.recent[i].of
		}
	}
	all := x.Ops[o.OpName()]
	if all != nil {
		x.recent[x.next] = recentTimes{o, all}
		x.next = (x.next + 1) % len(x.recent)
	}
	return all
}

// mean returns the mean of the known ratios, 0 if none is known.
func (t *opTimes) mean() float64 {
	if t == nil || t.known == 0 {
		return 0
	}
	return t.sum / float64(t.known)
}

// workOf returns the work of a task in units of its op.
func (x *Experience) workOf(t *graph.Task) (work float64) {
	op, ok := t.Op.(*versions.Op)
	if !ok || op.Work == nil {
		return 1
	}
	c := &x.call
	c.Params, c.Args = t.Params, c.Args[:0]
	for i := range t.Len() {
		c.Args = append(c.Args, t.Operand(i).Datum.Value)
	}
	work = WorkOf(op, c)
	clear(c.Args) // so that x does not keep them alive
	c.Params = nil
	return work
}

// WorkOf returns the work of a call, 1 if the op does not define it. A Work that panics fails the
// task when it runs; here it counts as 1.
func WorkOf(op *versions.Op, c *versions.Call) (work float64) {
	if op.Work == nil {
		return 1
	}
	defer func() {
		if recover() != nil {
			work = 1
		}
	}()
	if w := op.Work(c); w > 1 && !math.IsInf(w, 1) {
		return w
	}
	return 1
}

// learnRun learns from a task that a node has executed, and reports whether it is the first of its
// op.
func (x *Experience) learnRun(node int, t *graph.Task, work float64, took time.Duration) (first bool) {
	if took <= 0 {
		return false
	}
	if x.Ops == nil {
		x.Ops = map[string]*opTimes{}
	}
	all := x.timesFor(t.Op)
	if first = all == nil; first {
		all = &opTimes{}
		x.Ops[t.Op.OpName()] = all
		x.order = append(x.order, all)
	}
	for len(all.perNode) <= node {
		all.perNode = append(all.perNode, tally{})
	}
	y := &all.perNode[node]
	if y.in == 0 {
		all.known++
	}
	all.sum -= y.ratio()
	y.add(took.Seconds(), work)
	if work > 1 {
		x.Work += work
	}
	all.sum += y.ratio()
	all.Spent += took.Seconds()
	return first
}

// slowness returns how long a node takes relative to the mean of the nodes that have executed the
// same ops, 1 if nothing is known.
func (x *Experience) slowness(node int) float64 {
	var sum, weights float64
	for _, all := range x.order {
		if node >= len(all.perNode) || all.perNode[node].in == 0 {
			continue
		}
		sum += all.Spent * all.perNode[node].ratio() / all.mean()
		weights += all.Spent
	}
	if weights == 0 {
		return 1
	}
	return sum / weights
}

// Speed returns how fast a node's workers are relative to other nodes. A difference of less than 15
// % counts as noise.
func (x *Experience) Speed(node int) float64 {
	if s := x.slowness(node); math.Abs(s-1) > 0.15 {
		return 1 / s
	}
	return 1
}

// runTime returns the seconds that a worker of a node is expected to take for a task, 0 if nothing
// is known of its op.
func (x *Experience) runTime(node int, t *graph.Task) float64 {
	if r := x.secondsPerUnit(node, t.Op); r > 0 {
		return r * x.workOf(t)
	}
	return 0
}

// secondsPerUnit returns runTime for one unit of work.
func (x *Experience) secondsPerUnit(node int, op graph.Op) float64 {
	all := x.timesFor(op)
	if all != nil && node < len(all.perNode) && all.perNode[node].in > 0 {
		return all.perNode[node].ratio()
	}
	if m := all.mean(); m > 0 {
		return m * x.slowness(node)
	}
	return 0
}

// link holds weighted sums over the values that one node has fetched from another: n counts them, x
// and y are sums of bytes and seconds, xx and xy of their products.
type link struct{ n, x, y, xx, xy float64 }

// between returns the key of a link.
func between(from, to int) uint64 { return uint64(from)<<32 | uint64(to+1) }

// LearnTransfer learns from values that have come from one node to another.
func (x *Experience) LearnTransfer(from, to int, values, bytes int64, took time.Duration) {
	if values <= 0 || bytes <= 0 || took <= 0 {
		return
	}
	l := x.links.Of(between(from, to))
	if l == nil && x.links.N < maxLinks {
		l = &link{}
		x.links.put(between(from, to), l)
	}
	if l != nil {
		l.add(float64(values), float64(bytes), took.Seconds())
	}
	x.allLinks.add(float64(values), float64(bytes), took.Seconds())
}

func (l *link) add(n, bytes, seconds float64) {
	b, s, left := bytes/n, seconds/n, math.Pow(decay, n)
	l.n = left*l.n + n
	l.x, l.y = left*l.x+n*b, left*l.y+n*s
	l.xx, l.xy = left*l.xx+n*b*b, left*l.xy+n*b*s
}

// maxLinks bounds the number of known links: all pairs of 64 nodes. Further pairs count in allLinks
// only.
const maxLinks = 1 << 12

// seconds returns the expected time for a value: a latency plus a time for each byte if the sizes
// so far differ enough to separate the two, else the mean time for each byte.
func (l *link) seconds(bytes float64) float64 {
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

// guessedRate is the assumed bytes a second of an unknown link, that of 10 Gbit/s. guessedLatency
// is the assumed seconds for each value. Half and twice as much make no difference between links of
// 1 and 100 Gbit/s; with no time at all runs take 3 % longer, some half as long again
// (docs/internals/measurements.md, constants of the runtime).
const (
	guessedRate    = 1.25e9
	guessedLatency = 2e-4
)

// transferTime returns the seconds that a value is expected to take from the nearest holder to a
// node.
func (x *Experience) transferTime(from []int, to int, bytes int64) float64 {
	best := math.Inf(1)
	for _, f := range from[:min(len(from), maxSources)] {
		l := x.links.Of(between(f, to))
		if l == nil {
			l = &x.allLinks
		}
		s := l.seconds(float64(bytes))
		if l.n == 0 {
			s = guessedLatency + float64(bytes)/guessedRate
		}
		best = min(best, s)
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}
