package cluster

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// refusals returns why nodes were refused, nil if none was.
func (d *Driver) refusals() (err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, n := range d.nodes {
		if bad := (*MessageError)(nil); errors.As(n.unavailable, &bad) {
			err = errors.Join(err, bad)
		}
	}
	return err
}

// noteRefusal notes why a node cannot be an agent of this driver. elsewhere is its hello if it is an agent of
// another node, nil otherwise.
func (d *Driver) noteRefusal(name string, elsewhere *hello, why error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if n := d.nodeNamed(name); n != nil && n.unavailable != nil {
		n.unavailable, n.elsewhere = &NodeLostError{Node: name, Err: why}, elsewhere
	}
}

// event notes that a node has come or left.
func (d *Driver) event(e transport.Event) {
	if e.Node == d.opt.Transport.Self() {
		d.setDeaf(e.Err)
		return
	}
	d.exec.store.shared.event(e)
	d.lock.Lock()
	n := d.nodeNamed(e.Node)
	left := n != nil && n.givenUp
	d.lock.Unlock()
	if e.Joined {
		if d.opt.Admit != nil && !d.opt.Admit(e.Node) {
			return
		}
		if d.onBelowChanged == nil || left { // nodes below an agent say so by themselves
			d.call(e.Node)
		}
		return
	}
	if n != nil {
		d.loseNode(n, e.Err)
	}
}

// setDeaf fails all jobs, now and in future: other nodes cannot reach this one any more.
func (d *Driver) setDeaf(why error) {
	d.lock.Lock()
	d.deaf = why
	d.notify()
	jobs := slices.Collect(maps.Values(d.jobs))
	d.lock.Unlock()
	for _, j := range jobs {
		j.outcome.Abort(why)
	}
}

// call asks a node whether it is an agent. It is unavailable until it answers.
func (d *Driver) call(name string) {
	d.calling.Lock() // otherwise both of two calls at a time could be answered
	defer d.calling.Unlock()
	d.lock.Lock()
	old := d.nodeNamed(name)
	d.lock.Unlock()
	if old != nil {
		d.loseNode(old, errDropped)
	}
	d.lock.Lock()
	n := newNode(len(d.nodes), name)
	n.out = newOutbox(d.opt.Transport, name, func(err error) { d.loseNode(n, err) })
	n.unavailable = &NodeLostError{Node: name}
	d.assignEpoch(n)
	d.nodes = append(d.nodes, n)
	if old != nil {
		n.out.add(func() []byte { // messages to the previous node must not come after the call
			old.out.close()
			return nil
		})
	}
	d.sendCall(n)
	d.lock.Unlock()
}

// sendCall asks a node for its hello and its clock. The caller holds the lock.
func (d *Driver) sendCall(n *node) {
	epoch := n.epoch
	n.out.add(func() []byte {
		m := call{Epoch: epoch}
		if d.above != nil {
			m.Above = d.above()
		}
		m.At = d.exec.meter.clock(time.Now())
		return encode(kindCall, m)
	})
}

// loseNode gives up a node. It does nothing if the node is unavailable already. The node's tasks go to
// other nodes. The transport's events call loseNode, and so does the node's outbox; so another
// goroutine closes the outbox, which waits for its caller.
func (d *Driver) loseNode(n *node, why error) {
	d.lock.Lock()
	n.givenUp = true
	if n.unavailable != nil {
		d.lock.Unlock()
		return
	}
	n.since = time.Now()
	d.lastLoss = NodeLostError{Node: n.name, Err: why}
	d.losses++
	n.unavailable = &NodeLostError{Node: n.name, Err: why}
	d.notify()
	jobs, closed := slices.Collect(maps.Values(d.jobs)), d.closed
	d.lock.Unlock()
	if why != errDropped && !closed {
		d.opt.Log.Info("a node has left", "node", n.name, "error", why)
	}
	d.placing.Lock()
	for _, e := range d.kept {
		e.LoseNode(n.index)
	}
	d.directory.LoseNode(n.index)
	n.memory.Clear()
	d.placing.Unlock()
	for _, j := range jobs {
		j.loseNode(n)
		j.loseCopies(n)
	}
	go n.out.close()
	if d.onBelowChanged != nil {
		d.onBelowChanged()
	}
}

// readmit handles an agent whose hello has no epoch. The agent believed that the driver had left, and
// has dropped all that it had of this driver's jobs. The caller holds neither placing nor the lock.
func (d *Driver) readmit(n *node) {
	d.placing.Lock()
	d.lock.Lock()
	late, left, there := d.nodeNamed(n.name) != n, n.givenUp, n.unavailable == nil
	if !late && !left && !there { // the agent has dropped the call, or that is on its way
		d.assignEpoch(n)
		d.sendCall(n)
	}
	d.lock.Unlock()
	d.placing.Unlock()
	if !late && (left || there) {
		d.call(n.name)
	}
}
