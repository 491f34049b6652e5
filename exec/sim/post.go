package sim

import "fmt"

// enqueue puts a message into the driver's inbox.
func (d *driver) enqueue(m ended) {
	d.inbox = append(d.inbox, m)
	d.scheduleRead()
}

// scheduleRead makes the driver read its inbox as soon as it is free.
func (d *driver) scheduleRead() {
	if !d.readScheduled && len(d.inbox) > d.taken {
		d.readScheduled = true
		d.calendar.schedule(max(d.now, d.clock.free), d, 0)
	}
}

// arrival returns when a message from or to the node arrives that leaves at a time.
func (n *node) arrival(at float64) float64 {
	if n.id == 0 {
		return at
	}
	return at + n.driver.m.Network.Latency
}

// Events of a node.
const (
	tasksArrive = iota // tasks arrive at the node
	endsArrive         // ends arrive at the driver
	tasksLeave         // tasks leave the driver …
	endsLeave          // … and ends the node, if messages take time of cores
)

// sendBatch sends the node's batch as soon as its channel is free.
func (n *node) sendBatch() {
	if !n.to.due && len(n.batch) > 0 {
		n.to.due = true
		n.depart(max(n.driver.clock.free, n.to.free), tasksArrive)
	}
}

// sendEnds sends ends to the driver as soon as the channel is free.
func (n *node) sendEnds() {
	if !n.from.due && len(n.ends) > 0 {
		n.from.due = true
		n.depart(max(n.driver.now, n.from.free), endsArrive)
	}
}

// depart makes a message leave at a time; it arrives as tasksArrive or endsArrive.
func (n *node) depart(at float64, as uint64) {
	if n.id == 0 || !n.driver.m.Network.measured() {
		n.driver.calendar.schedule(n.arrival(at), n, as)
		return
	}
	n.driver.calendar.schedule(at, n, tasksLeave+as)
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
