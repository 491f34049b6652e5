package sim

import "fmt"

// hear puts a message into the driver's inbox.
func (s *driver) hear(m ended) {
	s.inbox = append(s.inbox, m)
	s.look()
}

// look makes the driver read its inbox as soon as it is free.
func (s *driver) look() {
	if !s.due && len(s.inbox) > s.taken {
		s.due = true
		s.calendar.note(max(s.now, s.clock.free), s, 0)
	}
}

// arrival returns when a message from or to the node arrives that leaves at a time.
func (n *node) arrival(at float64) float64 {
	if n.id == 0 {
		return at
	}
	return at + n.s.m.Network.Latency
}

// Events of a node.
const (
	tasksArrive = iota // tasks arrive at the node
	endsArrive         // ends arrive at the driver
	tasksLeave         // tasks leave the driver …
	endsLeave          // … and ends the node, if messages take time of cores
)

// send sends the node's batch as soon as its channel is free.
func (n *node) send() {
	if !n.to.due && len(n.batch) > 0 {
		n.to.due = true
		n.depart(max(n.s.clock.free, n.to.free), tasksArrive)
	}
}

// tell sends ends to the driver as soon as the channel is free.
func (n *node) tell() {
	if !n.from.due && len(n.ends) > 0 {
		n.from.due = true
		n.depart(max(n.s.now, n.from.free), endsArrive)
	}
}

// depart makes a message leave at a time; it arrives as tasksArrive or endsArrive.
func (n *node) depart(at float64, as uint64) {
	if n.id == 0 || !n.s.m.Network.measured() {
		n.s.calendar.note(n.arrival(at), n, as)
		return
	}
	n.s.calendar.note(at, n, tasksLeave+as)
}

// message returns the message of what there is to tell the driver.
func (n *node) message() ended {
	m := ended{node: n, ends: n.ends, flows: n.flows}
	n.ends, n.flows = n.old.ends[:0], n.old.flows[:0]
	n.old = ended{}
	return m
}

// name returns the name of a node.
func name(id int) string {
	if id == 0 {
		return "driver"
	}
	return fmt.Sprint("node", id)
}
