package sim

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// Nodes are lost at the times in Machine.Failures. The core decides the rest, as in live drivers:
// which node gets the tasks of a lost one, and which tasks compute lost data again.
//
//	dies ─► timeout ─► notice ─► loses ─► its tasks are ready again
//	                               └─► a node that fetches from it asks another one,
//	                                   or gives the task back
//	a task is to read lost data ─► halted ─► recompute: a job of its own ─► … ─► recovered

// lossState is a driver's state if nodes may be lost.
type lossState struct {
	lossy      bool
	scripted   bool // the failures are in the calendar
	recovering *clusterJob
	remaking   *core.Recovery // the tasks of the recovery
	latest     string         // the last node to be lost
	losses     Losses
}

// loss is a failure to come.
type loss struct {
	s    *driver
	node *node
	of   int // number of the node in the machine
}

// Events of a loss.
const (
	dies = iota
	noticed
	returns
)

// script puts the machine's failures into the calendar, in seconds from now on.
func (s *Cluster) script() {
	s.scripted = true
	for _, f := range s.m.Failures {
		l := &loss{s: s.driver, of: f.Node}
		s.calendar.note(s.now+f.At, l, dies)
		if f.Back > 0 {
			s.calendar.note(s.now+f.Back, l, returns)
		}
	}
}

// happens implements [handler].
func (l *loss) happens(what uint64) {
	s := l.s
	switch what {
	case dies:
		for _, n := range s.nodes { // the latest node with this number
			if n.crew.slot == l.of {
				l.node = n
			}
		}
		s.dies(l.node)
		s.calendar.note(s.now+s.m.Network.Timeout, l, noticed)
	case noticed:
		l.notice()
	case returns:
		l.notice() // a node that comes back shows that the old one is lost
		was := l.node.crew
		c := s.world.crew(len(s.crews), was.speeds, was.host, was.clock, false)
		c.slot = was.slot
		s.hears(ended{news: func() { s.joins(c) }})
	}
}

// notice tells the driver that the node is lost.
func (l *loss) notice() {
	if n := l.node; !n.lost {
		n.lost = true
		l.s.hears(ended{news: func() { l.s.loses(n) }})
	}
}

// joins adds a node that has come.
func (s *driver) joins(c *crew) {
	n := s.newNode(c)
	s.nodes, s.of = append(s.nodes, n), append(s.of, n)
	s.program.AddNode(n.id, c.kind.Memory, c.offers(), s.selector)
	s.program.RebuildQueue()
}

// dies stops a node. Values on their way from it are lost.
func (s *driver) dies(n *node) {
	n.dead = true
	n.crew.dies()
	own := func(i int32) bool { return int(i) == n.id }
	for i := range s.values {
		v := &s.values[i]
		v.nodes, v.before, v.lent = slices.DeleteFunc(v.nodes, own), slices.DeleteFunc(v.before, own),
			slices.DeleteFunc(v.lent, own)
		for _, c := range v.coming {
			if c.node == n.id || c.by.need.From == n.id && c.by.begun && !v.asks(c.by) {
				c.by.cut = true
			}
		}
		v.came(n.id)
		v.askers = slices.DeleteFunc(v.askers, func(x coming) bool { return x.by.n == n })
	}
}

// loses handles the loss of a node at the driver.
func (s *driver) loses(n *node) {
	s.latest = name(n.crew.slot)
	s.losses.Nodes++
	for i := range s.values { // the driver does not know of the node's latest versions
		if v := &s.values[i]; v.of != nil && v.maker == n.id && v.version > s.program.Version(i) {
			v.version--
			v.nodes, v.before = v.before, nil
		}
	}
	s.losses.Tasks += s.program.LoseNode(n.id)
	for i := range s.values {
		v := &s.values[i]
		for _, c := range slices.Clone(v.coming) {
			if c.by.need.From == n.id {
				s.reroutes(v, c.by)
			}
		}
	}
}

// asks reports whether a fetch waits for its source to get the value.
func (v *value) asks(f *fetch) bool {
	return slices.ContainsFunc(v.askers, func(x coming) bool { return x.by == f })
}

// returns reports whether a node has the value as another datum, and removes that entry.
func (v *value) returns(n *node) bool {
	i := slices.Index(v.lent, int32(n.id))
	if i >= 0 {
		v.lent = slices.Delete(v.lent, i, i+1)
	}
	return i >= 0
}

// maxWait is the seconds for which a node waits for a fetch's source to get the value, as nodes of
// package cluster do.
const maxWait = 2

// waitsFor bounds the time for which a fetch waits for its source.
func (f *fetch) waitsFor(giver *node) {
	s := f.n.s
	at := s.now + maxWait
	if giver.lost {
		at = s.now
	}
	s.calendar.note(at, f, waited)
}

// reroutes fetches a value from another node. If no node has it, the tasks that wait for it go back
// to the driver.
func (s *driver) reroutes(v *value, f *fetch) {
	n := f.n
	v.askers = slices.DeleteFunc(v.askers, func(x coming) bool { return x.by == f })
	if v.version == f.need.Version && len(v.nodes) > 0 {
		if f.cut {
			g := &fetch{n: n, need: f.need, then: f.then, waits: f.waits, since: f.since, begun: true}
			v.came(n.id)
			v.coming = append(v.coming, coming{n.id, g})
			f = g
		}
		if f.need.From = int(v.nodes[0]); f.begun {
			f.asks()
		}
		return
	}
	v.came(n.id)
	f.cut = true
	if f.begun {
		n.fetching--
		n.begins()
	} else {
		n.queue = slices.DeleteFunc(n.queue, func(x *fetch) bool { return x == f })
	}
	for _, x := range slices.Clone(v.askers) {
		if x.node == n.id {
			s.reroutes(v, x.by)
		}
	}
	if f.then != nil {
		f.then()
	}
	for _, e := range f.waits {
		e.lacks = append(e.lacks, f.need)
		n.got(e)
	}
}

// recompute computes lost data again when no task is under way, and then lets the program's tasks go
// on.
func (s *driver) recompute() {
	if m := s.recovering; m != nil {
		if m.done < m.count && !s.core.IsHalted() {
			return
		}
		s.losses.Again += m.done
		s.remaking.Adopt()
		s.recovering, s.remaking, s.core = nil, nil, s.program
		s.dropAll()
	}
	if !s.core.IsHalted() {
		return
	}
	r, lost := s.program.Recover()
	switch {
	case lost != nil:
		lost.Node = s.latest
		s.fail(lost)
		return
	case r == nil:
		s.program.Resume()
		s.place()
		return
	}
	s.losses.Data, s.losses.Bytes = s.losses.Data+r.Lost, s.losses.Bytes+r.Bytes
	s.core, s.remaking = r.Core, r
	j := s.newJob(nil, nil, r.Core)
	s.recovering = j
	var ready []*graph.Task
	for _, x := range r.Specs {
		for i := range x.Operands {
			s.datum(r.Core, x.Operands[i].Datum)
		}
		s.clock.works(s.now, s.m.Costs.Driver)
		t, now := j.graph.Add(x)
		if j.count++; now {
			ready = append(ready, t)
		}
	}
	r.Push(ready, -1)
	s.place()
}

// recovered waits until all lost data that a job needs are computed again.
func (s *driver) recovered(j *clusterJob) {
	for j.Err() == nil && j.core.HaltIfLost() {
		s.place()
		j.await(func() bool { return s.recovering == nil && !j.core.Paused })
	}
}
