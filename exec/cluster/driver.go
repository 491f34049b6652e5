package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Driver is an exec.Runtime on the nodes of a cluster. It is safe for concurrent use.
//
// It knows the nodes; each job knows what it has on them. A node is available from its hello, its
// answer to the driver's call, until the transport says that it has left or a message cannot be
// sent to it. A node that comes back is a new node, without data. Jobs in progress use it, too.
type Driver struct {
	*fleet
	jobs           map[uint64]*job // by number; fleet.lock guards it
	dog            *watchdog       // nil if there is no watchdog
	spareEnds      sync.Pool       // of []end: memory for reports
	onBelowChanged func()          // of an agent's driver: called when nodes below it come or go; nil on others
	above          func() []string // of an agent's driver: what its calls say of nodes above; nil on others
	calling        sync.Mutex      // held by call, which takes placing and fleet.lock inside it
	deaf           error           // why other nodes cannot reach this one, nil if they can; fleet.lock guards it
}

// NewDriver makes this node a driver. The error is an *OptionsError, or the transport's.
// The caller must Close the driver.
func NewDriver(opt Options) (*Driver, error) {
	k, err := opt.check()
	if err != nil {
		return nil, err
	}
	d := newDriver(opt, k)
	if err := opt.Transport.Start(d.handle, d.event); err != nil {
		return nil, err
	}
	if opt.Watchdog != nil {
		d.dog = newWatchdog(d.fleet, d.activeJobs, opt.Watchdog)
	}
	return d, nil
}

// newDriver returns a driver that gets no messages and events yet.
func newDriver(opt Options, k known) *Driver {
	return &Driver{fleet: newFleet(opt, k), jobs: map[uint64]*job{}}
}

// activeJobs returns the jobs that have tasks, by number.
func (d *Driver) activeJobs() map[uint64]*job {
	d.lock.Lock()
	defer d.lock.Unlock()
	return maps.Clone(d.jobs)
}

// Await waits until the given number of agents is available. If ctx ends before that, the error names
// the available agents and says why other nodes that have answered are no agents of this driver. A
// *transport.DeafError says that other nodes cannot reach this one.
func (d *Driver) Await(ctx context.Context, agents int) error {
	for {
		d.lock.Lock()
		var there []string
		news, deaf := d.changed, d.deaf
		for i, n := range d.nodes {
			if i > 0 && n.unavailable == nil {
				there = append(there, n.name)
			}
		}
		d.lock.Unlock()
		if deaf != nil {
			return deaf
		}
		if len(there) >= agents {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			names := ""
			if len(there) > 0 {
				names = ", " + strings.Join(there, ", ")
			}
			late := fmt.Errorf("cluster: %d of %d agents are there%s: %w", len(there), agents, names, context.Cause(ctx))
			return errors.Join(late, d.refusals())
		}
	}
}

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

// NewJob implements [exec.Runtime]. The job uses the nodes that are available now, and nodes that
// join.
func (d *Driver) NewJob(ctx context.Context) exec.Job {
	if ctx == nil {
		ctx = context.Background()
	}
	return withReplication(withRecovery(newJob(d, d.fleet, ctx, d.allNodes())))
}

// Workers implements [exec.Runtime]: the workers of this node, then those of other nodes, kind by
// kind. This node's are spare if Options.Idle is set and there are others.
func (d *Driver) Workers() []exec.Worker {
	all := d.opt.Runtime.Workers()
	own := len(all)
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, n := range d.nodes[1:] {
		if n.unavailable != nil {
			continue
		}
		for i := range n.offer.Kinds {
			for range n.offer.Kinds[i].Workers {
				all = append(all, exec.Worker{ID: len(all), Location: n.index, Host: n.name, Target: &n.offer.Kinds[i].Target})
			}
		}
	}
	for i := range all[:own] {
		all[i].Spare = d.opt.Idle && own < len(all)
	}
	return all
}

// Target implements [exec.Runtime]: this node's target.
func (d *Driver) Target() *versions.Target { return d.opt.Runtime.Target() }

// Selector implements [exec.Runtime]: this node's selector. Each node has its own.
func (d *Driver) Selector() *versions.Selector { return d.opt.Runtime.Selector() }

// Close implements [exec.Runtime]. It closes the transport. Agents end what they have of the
// driver's jobs.
func (d *Driver) Close() error {
	d.lock.Lock()
	again := d.closed
	d.closed = true
	jobs := slices.Collect(maps.Values(d.jobs))
	d.lock.Unlock()
	if again {
		return nil
	}
	// As on one machine: running tasks end, waiting tasks are cancelled.
	for _, j := range jobs {
		j.outcome.Abort(exec.ErrClosed)
	}
	for _, j := range jobs {
		if !j.recovering { // a recovery is waited for by its job
			_ = j.Wait() // which is ErrClosed
		}
	}
	if d.dog != nil {
		d.dog.stop()
	}
	err := d.opt.Transport.Close() // until now nodes may come
	for _, n := range d.allNodes() {
		n.out.close()
	}
	d.exec.close(exec.ErrClosed)
	return err
}

// beginJob implements [host].
func (d *Driver) beginJob(j *job) (number uint64, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.closed {
		return 0, exec.ErrClosed
	}
	if d.deaf != nil {
		return 0, d.deaf
	}
	d.last++
	d.jobs[d.last] = j
	return d.last, nil
}

// endJob implements [host].
func (d *Driver) endJob(number uint64, nodes []*node, data []*core.Entry) {
	d.lock.Lock()
	delete(d.jobs, number)
	d.lock.Unlock()
	d.forget(number, nodes, data)
}

// forget makes nodes forget a job, or a set of data. The memory of data counts as free once the message
// is made: a node gets tasks that are assigned later after the message.
func (d *Driver) forget(number uint64, nodes []*node, data []*core.Entry) {
	d.placing.Lock()
	for _, n := range nodes[1:] {
		n.memory.PendingForgets++
		n.out.add(func() []byte {
			d.placing.Lock()
			defer d.placing.Unlock()
			n.memory.PendingForgets--
			d.directory.ForgetJob(n.index, number)
			for _, e := range data {
				n.memory.Forget(e)
			}
			d.retryStarving(nil)
			return encode(kindForget, forget{Job: number})
		})
	}
	d.directory.ForgetJob(0, number)
	d.placing.Unlock()
	d.exec.endJob(number)
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
