package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
)

// domain is the nodes below an agent, and the driver that the agent is for them. These nodes name the agent
// as their parent (Options.Parent). The driver is made at the hello of the first of them.
//
//	the driver above ─► run ─► agent ─► a task ─► exec.Nested ─► domain.driver ─► run ─► agents below
//	                 ◄─ ended ◄─       its end ◄─ its children's ◄─             ◄─ ended ◄─
//
// Agent and driver share a transport, since they never get the same kinds of messages. Data of children have
// their own names, in a job of the domain's driver. Their first versions come from the memory of the parent
// task, and their last versions go back there. So the nodes above a domain and the nodes in it know nothing
// of each other.
type domain struct {
	opt     Options
	known   known
	changed func()          // called without locks when nodes have come or gone
	above   func() []string // the names of the nodes above this one, as in call

	mu     sync.Mutex // Driver.placing and fleet.lock are not taken inside it
	driver *Driver    // nil before there are nodes
	closed bool

	learning  sync.Mutex          // a leaf
	records   map[string]opRecord // by op; learning guards it, and what follows
	delegated int                 // tasks of this node that nodes below have
}

// opRecord says what an agent knows of the tasks of an op.
type opRecord struct {
	parents bool          // some have children
	took    time.Duration // by the last one that this node has executed
}

// shared is the node's transport for its domain's driver. The agent starts and closes the
// transport.
type shared struct{ transport.Transport }

func (s shared) Close() error { return nil }

// current returns the driver, nil if there is none.
func (x *domain) current() *Driver {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.driver
}

// receive handles messages for a driver.
func (x *domain) receive(from string, message []byte) error {
	d, err := x.driverFor(from, message)
	if err == nil {
		err = d.receive(from, message)
	}
	return err
}

// driverFor returns the driver that handles a message. It makes the driver at the first hello of a
// node below this one.
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
	x.driver.onBelowChanged, x.driver.above = x.changed, x.above
	if opt.Watchdog != nil {
		x.driver.dog = newWatchdog(x.driver.fleet, x.driver.activeJobs, opt.Watchdog)
	}
	return x.driver, nil
}

// event notes that a node has come or left.
func (x *domain) event(e transport.Event) {
	if d := x.current(); d != nil {
		d.event(e)
	}
}

// tellAbove tells nodes below that the nodes above this one have changed.
func (x *domain) tellAbove() {
	d := x.current()
	if d == nil {
		return
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, n := range d.nodes[1:] {
		if n.unavailable == nil {
			d.sendCall(n)
		}
	}
}

// sums returns the sums over the nodes below, at any depth.
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

// children returns a job for the children of a task, and its window. The job is nil if there are no nodes
// below.
func (x *domain) children(ctx context.Context) (exec.Job, int) {
	if x.sums().Nodes == 0 {
		return nil, 0
	}
	d := x.current()
	return d.NewJob(ctx), d.opt.Window
}

// stop ends the tasks of nodes below, which cannot reach this node any more. Children that begin
// later run here.
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
		d.loseNode(n, errDropped) // they do not answer any more
	}
}

// close closes the driver when the tasks that have children there have ended.
func (x *domain) close() {
	if d := x.current(); d != nil {
		_ = d.Close() // without an error, as the transport is the agent's
	}
}
