package sim

import (
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/trace"
)

// node is a node of a cluster that executes tasks: it fetches their operands, and starts as many
// tasks as its gate admits.
//
//	driver: batch ─► to ─► takes ─► gets ─► fetches ─► ready ─► gate ─► crew
//	driver: inbox ◄─ from ◄─ ends ◄──────────────────────────────────────┘
type node struct {
	s    *driver
	id   int
	crew *crew
	gate core.Gate[*graph.Task]

	to    channel      // messages from the driver: tasks
	batch []*execution // tasks to be sent
	from  channel      // messages to the driver: ends
	ends  []end
	flows []flow
	old   ended // memory of a handled message, for the next one

	queue    []*fetch // fetches to be started
	fetching int      // started and not ended

	dead bool // it has stopped …
	lost bool // … and the driver knows
}

// channel carries one message at a time. The next one leaves when a core has handled the previous
// one, since nodes do not wait for answers; if messages take no time of cores, when the previous
// one has arrived. What is to be sent meanwhile goes into the next message.
type channel struct {
	free float64
	due  bool // the next message is about to leave
}

// maxFetches is how many values a node fetches at once, as nodes of package cluster do.
const maxFetches = 8

// execution is a task that a node has received and that has not reached its gate.
type execution struct {
	task    *graph.Task
	needs   []core.Need
	missing int
	lacks   []core.Need // values that no node has
	next    *execution  // of those to be used again
}

// value is a datum and the nodes that have its latest version. It takes three cache lines; the
// first has what each task uses.
type value struct {
	of      *graph.Datum
	version int
	nodes   []int32
	coming  []coming // its transfers under way, in no order
	bytes   int64
	askers  []coming // fetches that wait for their source, by that node, to get it first

	// Where nodes may be lost:
	lent   []int32 // nodes that have it as another datum
	before []int32 // nodes that had the previous version when the latest was made …
	maker  int     // … by this one

	_ [40]byte
}

// coming is a transfer to a node, or of a node that a fetch waits for.
type coming struct {
	node int
	by   *fetch
}

// has reports whether a node has the version.
func (v *value) has(node, version int) bool {
	return v.version == version && slices.Contains(v.nodes, int32(node))
}

// fetch is the transfer of a value from another node.
//
//	queue ─► begin ─► asked ─► given ─► begins ─► ends ─► the value is there
//	           └─► the source has yet to get it: askers ─► asks
type fetch struct {
	n     *node
	need  core.Need
	then  func()
	waits []*execution
	since float64
	still int    // steps that are not over: the transfer, and the cores' work on either node
	next  *fetch // of those to be used again
	begun bool
	cut   bool // cancelled: a node is lost
}

func (s *driver) newNode(c *crew) *node {
	c.extra = s.m.Costs.Node
	return &node{s: s, id: len(s.nodes), crew: c, gate: core.NewGate[*graph.Task](len(c.workers))}
}

// comes returns when a message from or to the node arrives that leaves at a time.
func (n *node) comes(at float64) float64 {
	if n.id == 0 {
		return at
	}
	return at + n.s.m.Network.Latency
}

// Events of a node.
const (
	gets  = iota // tasks arrive at the node
	told         // ends arrive at the driver
	sends        // tasks leave the driver …
	tells        // … and ends the node, if messages take time of cores
)

// send sends the node's batch as soon as its channel is free.
func (n *node) send() {
	if !n.to.due && len(n.batch) > 0 {
		n.to.due = true
		n.leaves(max(n.s.clock.free, n.to.free), gets)
	}
}

// tell sends ends to the driver as soon as the channel is free.
func (n *node) tell() {
	if !n.from.due && len(n.ends) > 0 {
		n.from.due = true
		n.leaves(max(n.s.now, n.from.free), told)
	}
}

// leaves makes a message leave at a time; it arrives as gets or told.
func (n *node) leaves(at float64, as uint64) {
	if n.id == 0 || !n.s.m.Network.measured() {
		n.s.calendar.note(n.comes(at), n, as)
		return
	}
	n.s.calendar.note(at, n, sends+as)
}

// happens implements [handler].
func (n *node) happens(what uint64) {
	switch {
	case n.dead:
	case what >= sends:
		n.posts(what - sends)
	case what == gets:
		n.to.due, n.to.free = false, n.comes(n.s.now)
		batch := n.batch
		n.batch = n.batch[len(n.batch):]
		n.takes(batch)
		if len(n.batch) == 0 {
			n.batch = batch[:0]
		}
	default:
		n.from.due, n.from.free = false, n.comes(n.s.now)
		n.s.hears(n.says())
	}
}

// takes handles a message with tasks.
func (n *node) takes(batch []*execution) {
	n.drop()
	for i, e := range batch {
		batch[i] = nil
		n.gets(e)
	}
}

// says returns the message of what there is to tell the driver.
func (n *node) says() ended {
	m := ended{node: n, ends: n.ends, flows: n.flows}
	n.ends, n.flows = n.old.ends[:0], n.old.flows[:0]
	n.old = ended{}
	return m
}

// letter is a message that cores handle: tasks for a node, or its ends for the driver.
type letter struct {
	n     *node
	batch []*execution
	ended ended
}

// posts sends a message. A core of the sender handles it now, and one of the receiver when it
// arrives: the latency is that between idle nodes.
func (n *node) posts(as uint64) {
	s, l := n.s, &letter{n: n}
	if as == told {
		l.ended = n.says()
	} else {
		l.batch, n.batch = n.batch, nil
	}
	from, _ := n.sides(as)
	from.takes(s.m.Network.Message, func() { n.posted(as) })
	s.calendar.note(s.now+s.m.Network.Latency, l, as)
}

// sides returns the cores of the sender and of the receiver of a message.
func (n *node) sides(as uint64) (from, to *coreShare) {
	from, to = n.s.nodes[0].crew.shares[0], n.crew.shares[0]
	if as == told {
		from, to = to, from
	}
	return from, to
}

// posted sends the next message, if there is something to send.
func (n *node) posted(as uint64) {
	if as == told {
		n.from.due = false
		n.tell()
		return
	}
	n.to.due = false
	n.send()
}

// happens implements [handler]: the letter arrives.
func (l *letter) happens(what uint64) {
	n := l.n
	s := n.s
	if n.dead {
		return
	}
	_, to := n.sides(what)
	to.hears(s.m.Network.Message, func() {
		switch {
		case n.dead:
		case what == gets:
			n.takes(l.batch)
		default:
			s.hears(l.ended)
		}
	})
}

// drop drops the values that the core says no task will read.
func (n *node) drop() {
	n.s.core.TakeDrops(n.id, func(d, version int) {
		v := &n.s.values[d]
		if v.version == version {
			i := slices.Index(v.nodes, int32(n.id))
			if i < 0 {
				return
			}
			v.nodes[i] = v.nodes[len(v.nodes)-1]
			v.nodes = v.nodes[:len(v.nodes)-1]
			n.crew.forgets(v.of)
			if v.returns(n) {
				return
			}
		}
		n.grows(-v.bytes)
	})
}

// grows adds by, which may be negative, to the node's bytes.
func (n *node) grows(by int64) {
	n.crew.held += by
	n.crew.tally.Peak = max(n.crew.tally.Peak, n.crew.held)
}

// gets receives a task, which is ready when all its operands are there.
func (n *node) gets(e *execution) {
	for _, x := range e.needs {
		if n.waits(x, e) {
			e.missing++
		}
	}
	if e.missing > 0 {
		n.crew.measure()
		n.crew.meter.waiting++
		return
	}
	n.ready(e)
}

// waits makes a task wait for a value. It reports false if the value is there.
func (n *node) waits(x core.Need, e *execution) bool {
	v := &n.s.values[x.Datum]
	if v.has(n.id, x.Version) {
		return false
	}
	f := n.fetch(v, x)
	f.waits = append(f.waits, e)
	return true
}

// fetch returns the fetch of a value, which it starts or queues if there is none.
func (n *node) fetch(v *value, x core.Need) *fetch {
	for i := range v.coming {
		if v.coming[i].node == n.id {
			return v.coming[i].by
		}
	}
	s := n.s
	f := s.spareFetch
	if f == nil {
		f = &fetch{}
	} else {
		s.spareFetch = f.next
	}
	*f = fetch{n: n, need: x, waits: f.waits[:0]}
	v.coming = append(v.coming, coming{n.id, f})
	if n.fetching < maxFetches {
		f.begin()
	} else {
		n.queue = append(n.queue, f)
	}
	return f
}

// begin asks the source for the value. If the source has yet to get it, the request waits there.
func (f *fetch) begin() {
	s := f.n.s
	f.n.fetching++
	f.since, f.begun = s.now, true
	if v := &s.values[f.need.Datum]; !v.has(f.need.From, f.need.Version) {
		v.askers = append(v.askers, coming{f.need.From, f})
		if s.lossy {
			f.waitsFor(s.nodes[f.need.From])
		}
		return
	}
	f.asks()
}

// asks sends the request to the source.
func (f *fetch) asks() {
	s := f.n.s
	if !s.m.Network.measured() {
		f.given(s.now + s.m.Network.Latency)
		return
	}
	s.calendar.note(s.now+s.m.Network.Latency, f, asked)
}

// given sends the value from its source, not before a time and after earlier values.
func (f *fetch) given(at float64) {
	s := f.n.s
	if f.cut {
		return
	}
	w := &s.m.Network
	giver := s.nodes[f.need.From]
	start := max(at, giver.crew.out, giver.crew.bring(s.values[f.need.Datum].of))
	giver.crew.out = start + w.Value + float64(f.need.Bytes)/w.Bandwidth
	giver.crew.tally.Out += f.need.Bytes
	f.still = 1
	f.handled(giver.crew.shares[0], w.Message)
	s.calendar.note(start+w.Value+w.Latency, f, begins)
}

// handled makes a core handle the bytes of the value, after so many seconds for something else.
func (f *fetch) handled(p *coreShare, before float64) {
	if core := before + f.n.s.m.Network.Core*float64(f.need.Bytes); core > 0 {
		f.still++
		p.takes(core, f.passes)
	}
}

// Events of a fetch.
const (
	asked  = iota // the request arrives at the source
	begins        // the first byte arrives
	ends          // the last byte arrives
	waited        // it has waited long enough for its source to get the value
)

// happens implements [handler].
func (f *fetch) happens(what uint64) {
	s, n := f.n.s, f.n
	w := &s.m.Network
	if f.cut {
		return
	}
	switch what {
	case asked:
		s.nodes[f.need.From].crew.shares[0].hears(0, func() { f.given(s.now) })
	case begins:
		n.crew.in = max(s.now, n.crew.in) + float64(f.need.Bytes)/w.Bandwidth
		s.calendar.note(n.crew.in, f, ends)
		if w.measured() {
			f.still++
			n.crew.shares[0].hears(w.Message, func() {
				f.handled(n.crew.shares[0], 0)
				f.passes()
			})
		}
	case ends:
		f.passes()
	case waited:
		if v := &s.values[f.need.Datum]; v.asks(f) {
			s.reroutes(v, f)
		}
	}
}

// passes counts a finished step. After the last one the value is there.
func (f *fetch) passes() {
	if f.still--; f.still > 0 || f.cut {
		return
	}
	n := f.n
	s := n.s
	v := &s.values[f.need.Datum]
	v.came(n.id)
	v.nodes = append(v.nodes, int32(n.id))
	n.crew.forgets(v.of)
	n.grows(v.bytes)
	n.fetching--
	n.crew.tally.In += f.need.Bytes
	n.flows = append(n.flows, flow{f.need.From, f.need.Bytes, s.now - f.since})
	if s.rec != nil {
		giver := s.nodes[f.need.From]
		s.rec.copies = append(s.rec.copies, trace.Copy{Worker: n.crew.first, Bytes: f.need.Bytes,
			Start: duration(f.since), End: duration(s.now), Node: name(giver.crew.node), From: giver.crew.first})
	}
	n.begins()
	v.askers = slices.DeleteFunc(v.askers, func(x coming) bool {
		if x.node != n.id {
			return false
		}
		x.by.asks()
		return true
	})
	if f.then != nil {
		f.then()
	}
	for i, e := range f.waits {
		f.waits[i] = nil
		n.got(e)
	}
	if !s.lossy { // else a waiting event may still refer to f
		f.next, s.spareFetch = s.spareFetch, f
	}
}

// came removes the transfer to a node.
func (v *value) came(node int) {
	for i, last := 0, len(v.coming)-1; i <= last; i++ {
		if v.coming[i].node == node {
			v.coming[i], v.coming[last] = v.coming[last], coming{}
			v.coming = v.coming[:last]
			break
		}
	}
}

// begins starts the next queued fetch.
func (n *node) begins() {
	if len(n.queue) > 0 {
		next := n.queue[0]
		n.queue[0] = nil
		n.queue = n.queue[1:]
		next.begin()
	}
}

// got notes that a value that a task waits for has arrived, or will not.
func (n *node) got(e *execution) {
	if e.missing--; e.missing == 0 {
		n.crew.measure()
		n.crew.meter.waiting--
		n.ready(e)
	}
}

// ready passes a task to the gate, which starts it or makes it wait.
func (n *node) ready(e *execution) {
	t := e.task
	e.task, e.next = nil, n.s.spare
	n.s.spare = e
	if e.lacks != nil {
		n.ends = append(n.ends, end{task: t.ID(), lacks: e.lacks})
		n.tell()
		return
	}
	if n.gate.Enter(core.Gated[*graph.Task]{Task: t, Priority: t.Priority, ID: uint64(t.ID()), Width: 1}) {
		n.crew.one[0] = t
		n.crew.push(n.crew.one[:])
	}
}

// ended ends a task of a worker: the node has the versions that it wrote, and the driver is told.
// It appends the tasks that the gate admits in its place to freed.
func (n *node) ended(f flight, w int, freed []*graph.Task) []*graph.Task {
	s, t := n.s, f.task
	if s.rec != nil {
		s.rec.ended(t.Graph().Owner.(*job), t, f.cost.version, n.crew.first+w, f.start, f.end)
	}
	for k := range t.Len() {
		o := t.Operand(k)
		if o.Mode&graph.Out == 0 {
			continue
		}
		d := s.core.Datum(o.Datum)
		v := &s.values[d]
		if !v.has(n.id, v.version) || s.lossy && v.returns(n) {
			n.grows(v.bytes)
		}
		if s.lossy {
			v.before, v.maker = append(v.before[:0], v.nodes...), n.id
		}
		v.version, v.nodes = s.core.Version(d)+1, append(v.nodes[:0], int32(n.id))
	}
	freed = n.gate.Leave(t, core.At(duration(s.now)), freed)
	n.ends = append(n.ends, end{task: t.ID(), took: s.now - f.start})
	n.tell()
	return freed
}

// giveBack returns at most most of the tasks ids that have not started to the driver, and then
// tells it that these were all.
func (n *node) giveBack(ids []uint64, most int) {
	if n.dead {
		return
	}
	for _, t := range n.gate.TakeBack(0, ids, most) {
		n.ends = append(n.ends, end{task: t.ID(), back: true})
	}
	n.ends = append(n.ends, end{back: true})
	n.tell()
}

// name returns the name of a node.
func name(id int) string {
	if id == 0 {
		return "driver"
	}
	return fmt.Sprint("node", id)
}
