package sim

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

func (d *driver) newNode(c *crew) *node {
	c.extra = d.m.Costs.Node
	return &node{driver: d, id: len(d.nodes), crew: c, gate: core.NewGate[*graph.Task](len(c.workers))}
}

// fire implements [handler].
func (n *node) fire(what uint64) {
	switch {
	case n.dead:
	case what >= tasksLeave:
		n.post(what - tasksLeave)
	case what == tasksArrive:
		n.to.due, n.to.free = false, n.arrival(n.driver.now)
		batch := n.batch
		n.batch = n.batch[len(n.batch):]
		n.receive(batch)
		if len(n.batch) == 0 {
			n.batch = batch[:0]
		}
	default:
		n.from.due, n.from.free = false, n.arrival(n.driver.now)
		n.driver.enqueue(n.message())
	}
}

// receive handles a message with tasks.
func (n *node) receive(batch []*execution) {
	n.drop()
	for i, e := range batch {
		batch[i] = nil
		n.accept(e)
	}
}

// post sends a message. A core of the sender handles it now, and one of the receiver when it
// arrives: the latency is that between idle nodes.
func (n *node) post(as uint64) {
	s, l := n.driver, &letter{n: n}
	if as == endsArrive {
		l.ended = n.message()
	} else {
		l.batch, n.batch = n.batch, nil
	}
	from, _ := n.sides(as)
	from.use(s.m.Network.Message, func() { n.posted(as) })
	s.calendar.schedule(s.now+s.m.Network.Latency, l, as)
}

// sides returns the cores of the sender and of the receiver of a message.
func (n *node) sides(as uint64) (from, to *coreShare) {
	from, to = n.driver.nodes[0].crew.shares[0], n.crew.shares[0]
	if as == endsArrive {
		from, to = to, from
	}
	return from, to
}

// posted sends the next message, if there is something to send.
func (n *node) posted(as uint64) {
	if as == endsArrive {
		n.from.due = false
		n.sendEnds()
		return
	}
	n.to.due = false
	n.sendBatch()
}

// fire implements [handler]: the letter arrives.
func (l *letter) fire(what uint64) {
	n := l.n
	s := n.driver
	if n.dead {
		return
	}
	_, to := n.sides(what)
	to.receive(s.m.Network.Message, func() {
		switch {
		case n.dead:
		case what == tasksArrive:
			n.receive(l.batch)
		default:
			s.enqueue(l.ended)
		}
	})
}

// drop drops the values that the core says no task will read.
func (n *node) drop() {
	n.driver.core.TakeDrops(n.id, func(d, version int) {
		v := &n.driver.values[d]
		if v.version == version {
			i := slices.Index(v.nodes, int32(n.id))
			if i < 0 {
				return
			}
			v.nodes[i] = v.nodes[len(v.nodes)-1]
			v.nodes = v.nodes[:len(v.nodes)-1]
			n.crew.forget(v.of)
			if v.takeLent(n) {
				return
			}
		}
		n.addBytes(-v.bytes)
	})
}

// accept receives a task, which is ready when all its operands are there.
func (n *node) accept(e *execution) {
	for _, x := range e.needs {
		if n.await(x, e) {
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

// await makes a task wait for a value. It reports false if the value is there.
func (n *node) await(x core.Need, e *execution) bool {
	v := &n.driver.values[x.Datum]
	if v.has(n.id, x.Version) {
		return false
	}
	f := n.fetch(v, x)
	f.waits = append(f.waits, e)
	return true
}

// ended ends a task of a worker: the node has the versions that it wrote, and the driver is told.
// It appends the tasks that the gate admits in its place to freed.
func (n *node) ended(f flight, w int, freed []*graph.Task) []*graph.Task {
	s, t := n.driver, f.task
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
		if !v.has(n.id, v.version) || s.lossy && v.takeLent(n) {
			n.addBytes(v.bytes)
		}
		if s.lossy {
			v.before, v.maker = append(v.before[:0], v.nodes...), n.id
		}
		v.version, v.nodes = s.core.Version(d)+1, append(v.nodes[:0], int32(n.id))
	}
	freed = n.gate.Leave(t, core.At(duration(s.now)), freed)
	n.ends = append(n.ends, end{task: t.ID(), took: s.now - f.start})
	n.sendEnds()
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
	n.sendEnds()
}
