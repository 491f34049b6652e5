package sim

import "slices"

// Nodes are lost at the times in Machine.Failures. The core decides the rest, as in live drivers:
// which node gets the tasks of a lost one, and which tasks compute lost data again.
//
//	kill ─► timeout ─► notice ─► lose ─► its tasks are ready again
//	                              └─► a node that fetches from it asks another one,
//	                                  or gives the task back
//	a task is to read lost data ─► halted ─► recompute: a job of its own ─► … ─► awaitRecovery

// loss is a failure to come.
type loss struct {
	driver *driver
	node   *node
	of     int // number of the node in the machine
}

// Events of a loss.
const (
	nodeDies = iota
	lossNoticed
	nodeReturns
)

// script puts the machine's failures into the calendar, in seconds from now on.
func (d *driver) script() {
	d.scripted = true
	for _, f := range d.m.Failures {
		l := &loss{driver: d, of: f.Node}
		d.calendar.schedule(d.now+f.At, l, nodeDies)
		if f.Back > 0 {
			d.calendar.schedule(d.now+f.Back, l, nodeReturns)
		}
	}
}

// fire implements [handler].
func (l *loss) fire(what uint64) {
	s := l.driver
	switch what {
	case nodeDies:
		for _, n := range s.nodes { // the latest node with this number
			if n.crew.slot == l.of {
				l.node = n
			}
		}
		s.kill(l.node)
		s.calendar.schedule(s.now+s.m.Network.Timeout, l, lossNoticed)
	case lossNoticed:
		l.notice()
	case nodeReturns:
		l.notice() // a node that comes back shows that the old one is lost
		was := l.node.crew
		c := s.world.addCrew(len(s.crews), was.speeds, was.host, was.clock, false)
		c.slot = was.slot
		s.enqueue(ended{news: func() { s.join(c) }})
	}
}

// notice tells the driver that the node is lost.
func (l *loss) notice() {
	if n := l.node; !n.lost {
		n.lost = true
		l.driver.enqueue(ended{news: func() { l.driver.lose(n) }})
	}
}

// join adds a node that has come.
func (d *driver) join(c *crew) {
	n := d.newNode(c)
	d.nodes, d.of = append(d.nodes, n), append(d.of, n)
	d.program.AddNode(n.id, c.kind.Memory, c.offers(), d.selector)
	d.program.RebuildQueue()
}

// kill stops a node. Values on their way from it are lost.
func (d *driver) kill(n *node) {
	n.dead = true
	n.crew.stop()
	own := func(i int32) bool { return int(i) == n.id }
	for i := range d.values {
		v := &d.values[i]
		v.nodes, v.before, v.lent = slices.DeleteFunc(v.nodes, own), slices.DeleteFunc(v.before, own),
			slices.DeleteFunc(v.lent, own)
		for _, c := range v.coming {
			if c.node == n.id || c.by.need.From == n.id && c.by.begun && !v.isAsked(c.by) {
				c.by.cut = true
			}
		}
		v.removeComing(n.id)
		v.askers = slices.DeleteFunc(v.askers, func(x coming) bool { return x.by.n == n })
	}
}

// lose handles the loss of a node at the driver.
func (d *driver) lose(n *node) {
	d.latest = name(n.crew.slot)
	d.losses.Nodes++
	for i := range d.values { // the driver does not know of the node's latest versions
		if v := &d.values[i]; v.of != nil && v.maker == n.id && v.version > d.program.Version(i) {
			v.version--
			v.nodes, v.before = v.before, nil
		}
	}
	d.losses.Tasks += d.program.LoseNode(n.id)
	for i := range d.values {
		v := &d.values[i]
		for _, c := range slices.Clone(v.coming) {
			if c.by.need.From == n.id {
				d.reroute(v, c.by)
			}
		}
	}
}
