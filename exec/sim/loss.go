package sim

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// Nodes are lost by script (Machine.Failures). What is decided then is the core's, which is that of
// live drivers: who gets the tasks of the node, and which tasks make again what nobody has.
//
//	dies ─► timeout ─► the driver hears of it ─► loses ─► tasks are ready again
//	                                                  └─► who waits for a value of the node asks another one,
//	                                                      or gives the task back
//	a task is to read what nobody has ─► halted ─► mends: a job of its own ─► … ─► mended

// losing is what a driver has where nodes may be lost.
type losing struct {
	lossy    bool
	scripted bool // the failures have their times
	mending  *clusterJob
	remaking *core.Recovery // its tasks
	latest   string         // the last node to be lost
	losses   Losses
}

// loss is a failure that is going to happen.
type loss struct {
	s    *drive
	node *node
	of   int // the node in the file
}

// What happens to a node that is lost.
const (
	dies = iota
	noticed
	returns
)

// script has the failures of the machine happen, in seconds from now on.
func (s *Cluster) script() {
	s.scripted = true
	for _, f := range s.m.Failures {
		l := &loss{s: s.drive, of: f.Node}
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
		for _, n := range s.nodes { // the last one that is this node of the file
			if n.crew.slot == l.of {
				l.node = n
			}
		}
		s.dies(l.node)
		s.calendar.note(s.now+s.m.Network.Timeout, l, noticed)
	case noticed:
		l.notice()
	case returns:
		l.notice() // as one that greets is a new one
		was := l.node.crew
		c := s.world.crew(len(s.crews), was.speeds, was.host, was.clock, false)
		c.slot = was.slot
		s.hears(ended{news: func() { s.joins(c) }})
	}
}

// notice has the driver hear that the node is lost.
func (l *loss) notice() {
	if n := l.node; !n.lost {
		n.lost = true
		l.s.hears(ended{news: func() { l.s.loses(n) }})
	}
}

// joins has a node that has come be given tasks.
func (s *drive) joins(c *crew) {
	n := s.newNode(c)
	s.nodes, s.of = append(s.nodes, n), append(s.of, n)
	s.program.AddNode(n.id, c.kind.Memory, c.offers(), s.selector)
	s.program.RebuildQueue()
}

// dies has a node do nothing any more. What it gives others now does not come.
func (s *drive) dies(n *node) {
	n.dead = true
	n.crew.dies()
	own := func(i int32) bool { return int(i) == n.id }
	for i := range s.values {
		v := &s.values[i]
		v.nodes, v.before, v.lent = slices.DeleteFunc(v.nodes, own), slices.DeleteFunc(v.before, own), slices.DeleteFunc(v.lent, own)
		for _, c := range v.coming {
			if c.node == n.id || c.by.need.From == n.id && c.by.begun && !v.asks(c.by) {
				c.by.cut = true
			}
		}
		v.came(n.id)
		v.askers = slices.DeleteFunc(v.askers, func(x coming) bool { return x.by.n == n })
	}
}

// loses has the driver see to what was lost with a node.
func (s *drive) loses(n *node) {
	s.latest = name(n.crew.slot)
	s.losses.Nodes++
	for i := range s.values { // the driver has not heard of what it made last
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

// asks reports whether a fetch waits for a node that has yet to get the value.
func (v *value) asks(f *fetch) bool {
	return slices.ContainsFunc(v.askers, func(x coming) bool { return x.by == f })
}

// returns reports whether a node has the value under another name, which goes now.
func (v *value) returns(n *node) bool {
	i := slices.Index(v.lent, int32(n.id))
	if i >= 0 {
		v.lent = slices.Delete(v.lent, i, i+1)
	}
	return i >= 0
}

// soonMost is the seconds for which a node waits for another one to get a value that it is to give, as
// nodes of package cluster do.
const soonMost = 2

// waitsFor has a fetch not wait for ever.
func (f *fetch) waitsFor(giver *node) {
	s := f.n.s
	at := s.now + soonMost
	if giver.lost {
		at = s.now
	}
	s.calendar.note(at, f, waited)
}

// reroutes has a value come from another node than that which was to give it. If nobody has it, the
// tasks that wait for it go back to the driver.
func (s *drive) reroutes(v *value, f *fetch) {
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

// mends makes again what nobody has, when no task is under way, and lets the program's tasks go on.
func (s *drive) mends() {
	if m := s.mending; m != nil {
		if m.done < m.count && !s.core.IsHalted() {
			return
		}
		s.losses.Again += m.done
		s.remaking.Adopt()
		s.mending, s.remaking, s.core = nil, nil, s.program
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
	s.mending = j
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

// mended waits until what nobody has is made again of which a job has data.
func (s *drive) mended(j *clusterJob) {
	for j.Err() == nil && j.core.HaltIfLost() {
		s.place()
		j.await(func() bool { return s.mending == nil && !j.core.Paused })
	}
}
