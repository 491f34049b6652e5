package cluster

import (
	"context"
	"fmt"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
)

// domain is the nodes below an agent, and the driver that the agent is to them. They have said
// so themselves (Options.Parent): the driver is made when the first one does.
//
//	the driver above ─► Run ─► agent ─► a task ─► exec.Nested ─► domain.driver ─► Run ─► agents below
//	                 ◄─ Ended ◄─       its end ◄─ its children's ◄─             ◄─ Ended ◄─
//
// Agent and driver have one transport. They never get the same kinds of messages. What children
// use has names of its own, those of a job of the domain's driver; its first version is in the
// task's memory, and its last one comes back there. So what is above a domain knows nothing
// of what is in it, and what is below nothing of what is above.
type domain struct {
	opt     Options
	known   known
	changed func() // nodes have come or gone: it is called without locks

	mu     sync.Mutex // Driver.placing and fleet.lock are not taken inside it
	driver *Driver    // nil if there were no nodes yet
	closed bool
}

// shared is the transport of a node as its domain's driver has it: the agent starts it and
// closes it.
type shared struct{ transport.Transport }

func (s shared) Close() error { return nil }

// current returns the driver, nil if there is none.
func (x *domain) current() *Driver {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.driver
}

// receive gets messages that are for drivers.
func (x *domain) receive(from string, message []byte) error {
	d, err := x.driverFor(from, message)
	if err == nil {
		err = d.receive(from, message)
	}
	return err
}

// driverFor returns the driver to which a node sends a message, which is made if it is the first
// node that says that it is below this one.
func (x *domain) driverFor(from string, message []byte) (*Driver, error) {
	k, body, err := split(from, message)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.driver != nil {
		return x.driver, nil
	}
	var m hello
	if k == kindHello && !x.closed {
		if err := decode(from, body, &m); err != nil {
			return nil, err
		}
	}
	opt := x.opt
	if m.Parent == "" || m.Parent != opt.Transport.Self() {
		return nil, &MessageError{from, fmt.Sprintf("of kind %d", k)}
	}
	opt.Transport = shared{opt.Transport}
	x.driver = newDriver(opt, x.known)
	x.driver.onBelowChanged = x.changed
	if opt.Watchdog != nil {
		x.driver.dog = newWatchdog(x.driver.fleet, x.driver.activeJobs, opt.Watchdog)
	}
	return x.driver, nil
}

// event notes that a node has come or gone.
func (x *domain) event(e transport.Event) {
	if d := x.current(); d != nil {
		d.event(e)
	}
}

// sums returns what the nodes below have, with those below them.
func (x *domain) sums() (sum core.Below) {
	d := x.current()
	if d == nil {
		return sum
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, node := range d.nodes[1:] {
		if node.unavailable == nil {
			sum = sum.With(node.workers, node.memory.Cap, node.offer.Below)
		}
	}
	return sum
}

// children returns a job for the children of a task, and its window; no job if nobody is below
// this node.
func (x *domain) children(ctx context.Context) (exec.Job, int) {
	if x.sums().Nodes == 0 {
		return nil, 0
	}
	d := x.current()
	return d.NewJob(ctx), d.opt.Window
}

// stop ends what nodes below do for a node that they cannot reach any more. Children that
// there are from then on run here.
func (x *domain) stop() {
	x.mu.Lock()
	x.closed = true
	d := x.driver
	x.mu.Unlock()
	if d == nil {
		return
	}
	for _, j := range d.activeJobs() {
		j.outcome.Abort(exec.ErrClosed)
	}
	for _, n := range d.allNodes()[1:] {
		d.loseNode(n, errDropped) // nobody answers
	}
}

// close ends the domain when the tasks whose children it had have ended.
func (x *domain) close() {
	if d := x.current(); d != nil {
		_ = d.Close() // which has nothing to say: the transport is the agent's
	}
}
