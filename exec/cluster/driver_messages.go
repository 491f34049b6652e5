package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/internal/core"
)

// handle receives the messages of agents, and logs those that it refuses.
func (d *Driver) handle(from string, message []byte) {
	if err := d.receive(from, message); err != nil {
		d.opt.Log.Warn("message refused", "from", from, "error", err)
	}
}

// receive acts on a message of an agent. The error says why the message is refused.
func (d *Driver) receive(from string, message []byte) error {
	k, body, err := split(from, message)
	switch {
	case err != nil:
		if k == kindHello {
			d.noteRefusal(from, nil, err)
		}
		return err
	case k == kindHello:
		return d.onHello(from, body)
	case k == kindEnded:
		return d.onEnded(from, body)
	case k == kindStatus:
		return d.onStatus(from, body)
	case k == kindCall: // a call of another driver, or of this one
		return nil
	}
	return &MessageError{from, fmt.Sprintf("of kind %d", k)}
}

// onHello handles what an agent says of itself.
func (d *Driver) onHello(from string, body []byte) error {
	now := d.exec.meter.clock(time.Now())
	var m hello
	if err := decode(from, body, &m); err != nil {
		return err
	}
	offer, err := m.check(len(body))
	if err != nil {
		return &MessageError{from, err.Error()}
	}
	if m.Parent != d.opt.Transport.Self() && (m.Parent != "" || d.onBelowChanged != nil) {
		d.noteMove(from, &m)
		return nil
	}
	d.placing.Lock()
	d.lock.Lock()
	then, err := d.admit(from, &m, offer, now)
	d.lock.Unlock()
	d.placing.Unlock()
	if then != nil {
		then()
	}
	return err
}

// noteMove notes that a node is below another one. If it was this driver's until now it is lost.
func (d *Driver) noteMove(name string, m *hello) {
	why := &MessageError{name, fmt.Sprintf("it is below %q", m.Parent)}
	d.noteRefusal(name, m, why)
	d.lock.Lock()
	n := d.nodeNamed(name)
	moved := n != nil && n.unavailable == nil && (m.Epoch == 0 || m.Epoch == n.epoch)
	d.lock.Unlock()
	if moved {
		d.loseNode(n, why)
	}
}

// admit makes the node available that says hello, and returns what to do without the locks, nil if
// nothing. The caller holds placing and the lock.
func (d *Driver) admit(from string, m *hello, offer *core.Offer, now int64) (then func(), err error) {
	n := d.nodeNamed(from)
	switch {
	case n == nil && d.onBelowChanged != nil && m.Epoch == 0:
		return func() { d.call(from) }, nil
	case n != nil && m.Epoch != n.epoch && m.Epoch == 0:
		return func() { d.readmit(n) }, nil
	case n == nil || n.givenUp && m.Epoch != n.epoch:
		return nil, &MessageError{from, "from a node that has not joined"}
	case n.givenUp || m.Epoch != n.epoch: // it has left since, or has been called again
		return nil, nil
	}
	if m.Called != unasked {
		n.clock.update(m, now)
	}
	if n.clock.heard < clockSamples {
		d.sendCall(n)
	}
	if n.unavailable == nil { // it is available: this is about its clock, or the nodes below it
		if n.offer.Below != m.Below {
			then = d.onBelowChanged
		}
		n.offer.Below = m.Below
		return then, nil
	}
	n.memory.Cap = m.Memory
	n.workers, n.unavailable, n.elsewhere, n.since = offer.Workers(), nil, nil, time.Now()
	n.row = d.record.addRows(n.name, n.workers)
	n.program, n.offer, n.jobs, offer.Below = m.Program, offer, m.Jobs, m.Below
	d.notify()
	jobs := slices.Collect(maps.Values(d.jobs))
	return func() {
		for _, j := range jobs {
			j.addNodes(n)
		}
		if d.onBelowChanged != nil {
			d.onBelowChanged()
		}
	}, nil
}

// onEnded handles an agent's report about tasks of a job.
func (d *Driver) onEnded(from string, body []byte) error {
	var m ended
	m.Ends, _ = d.spareEnds.Get().([]end)
	if err := decode(from, body, &m); err != nil {
		return err
	}
	defer func(all []end) {
		clear(all)
		d.spareEnds.Put(all[:0])
	}(m.Ends)
	if err := m.check(); err != nil {
		return &MessageError{from, err.Error()}
	}
	d.lock.Lock()
	j, n := d.jobs[m.Job], d.nodeNamed(from)
	late := n == nil || n.epoch != m.Epoch
	d.lock.Unlock()
	if late {
		return nil
	}
	if j == nil { // the job has ended
		d.placing.Lock()
		d.addUsage(n, &m, nil)
		d.placing.Unlock()
		return nil
	}
	if m.Ends = j.takeCopyEnds(n, m.Ends); len(m.Ends) > 0 {
		j.onEnded(n, m)
	}
	return nil
}

// onStatus handles an agent's answer to a query.
func (d *Driver) onStatus(from string, body []byte) error {
	var m status
	if err := decode(from, body, &m); err != nil {
		return err
	}
	if err := m.check(); err != nil {
		return &MessageError{from, err.Error()}
	}
	d.lock.Lock()
	n := d.nodeNamed(from)
	d.lock.Unlock()
	if n != nil {
		d.placing.Lock()
		n.status, n.statusAt = m, time.Now()
		d.placing.Unlock()
	}
	return nil
}
