package cluster

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tessera-la/tessera/transport"
)

// agent is a node that executes tasks for drivers. It decides nothing: it begins each task as soon as the
// operands of the task are there, and reports the end of the task. A job belongs to the driver that first
// named it; the agent refuses messages of other drivers about the job. To the nodes below it, an agent is
// a driver itself (domain.go).
//
//	call   ─► greet, or deny               a driver calls this node
//	run    ─► work.run ─► report           tasks, and their ends
//	recall ─► work.giveBack                tasks go back before they begin
//	order  ─► executor.obey                a rank of a group begins, or ends
//	query  ─► status
//	forget ─► endJob                       a job has ended
//	hello, ended, status ─► domain         from nodes below
type agent struct {
	drivers
	stopped chan error // capacity 1: why the agent must end; nil means that Options.Driver was closed
}

// Serve executes on this node the tasks that drivers send. It returns when ctx ends, when the driver
// that Options.Driver names leaves, or when the transport fails. Before that it cancels tasks that
// have not started, waits for those that run, and closes the transport.
//
// It returns nil if that driver was closed, and a *[NodeLostError] if it is lost: its process has
// ended without closing it, or was silent for longer than the transport allows. Otherwise the error
// is an *OptionsError, an error of the transport, or the cause of the context's end. The transport's
// is a *transport.DeafError if other nodes cannot reach this one any more.
func Serve(ctx context.Context, opt Options) error {
	k, err := opt.validate()
	if err != nil {
		return err
	}
	if opt.Driver == opt.Transport.Self() {
		return &OptionsError{[]string{"Driver is the node itself, " + opt.Driver}}
	}
	return newAgent(opt, k).serve(ctx)
}

func newAgent(opt Options, k known) *agent {
	a := &agent{stopped: make(chan error, 1)}
	a.drivers = drivers{
		opt: opt, known: k, offer: offeredBy(opt.Ops, opt.Runtime), fetch: newSharedFetches(),
		byName: map[string]*driverState{}, closing: map[string]*driverState{},
		deniedEpochs: map[string]uint64{}, owners: map[uint64]string{},
		parent: opt.Parent, chain: []string{opt.Parent},
	}
	a.domain = domain{opt: opt, known: k, changed: a.announce, above: a.above}
	return a
}

// serve is [Serve] with checked options.
func (a *agent) serve(ctx context.Context) error {
	if err := a.opt.Transport.Start(a.handle, a.event); err != nil {
		return err
	}
	var why error
	select {
	case <-ctx.Done():
		why = context.Cause(ctx)
	case why = <-a.stopped:
	}
	// Close the transport first, so that no message begins anything new.
	err := a.opt.Transport.Close()
	a.drivers.close(why)
	return cmp.Or(err, why)
}

// handle receives the messages of drivers, and logs those that it refuses.
func (a *agent) handle(from string, message []byte) {
	if err := a.receive(from, message); err != nil {
		a.opt.Log.Warn("message refused", "from", from, "error", err)
	}
}

// receive acts on a message. The error says why the message is refused. The agent answers a call even if the
// call is of another version of the protocol: the answer contains the version of this node.
func (a *agent) receive(from string, message []byte) error {
	k, body, err := split(from, message)
	if k == kindCall {
		return a.onCall(from, body, err)
	}
	if err != nil {
		return err
	}
	switch k {
	case kindRun:
		return a.onRun(from, body)
	case kindRecall:
		return a.onRecall(from, body)
	case kindOrder:
		return a.onOrder(from, body)
	case kindQuery:
		if d := a.present(from); d != nil {
			d.out.add(func() []byte { return encode(kindStatus, d.exec.status()) })
		}
		return nil
	case kindHello, kindEnded, kindStatus:
		return a.domain.receive(from, message)
	case kindForget:
		return a.onForget(from, body)
	}
	return &MessageError{from, fmt.Sprintf("of kind %d", k)}
}

// onCall answers the call of a driver. unread is the error of a call that is of another version of the
// protocol; the body is then not decoded.
func (a *agent) onCall(from string, body []byte, unread error) error {
	var m call
	err := unread
	if err == nil {
		err = decode(from, body, &m)
	}
	a.noteAbove(from, m.Above)
	switch d, denied := a.acceptCall(from, m.Epoch); {
	case d == nil:
	case denied:
		a.deny(d)
	default:
		a.greet(d, m)
	}
	return err
}

// onRun begins tasks. Before that it drops the versions that no task reads any more, because a task may
// bring a later version of the same datum.
func (a *agent) onRun(from string, body []byte) error {
	var m run
	if err := decode(from, body, &m); err != nil {
		return err
	}
	d, err := a.acceptTasks(from, m.Epoch, m.Job)
	if d == nil { // the job is another driver's, or the tasks are for another epoch of this node
		return err
	}
	w := a.work(d, m.Job)
	w.setTracing(m.Trace, m.Story)
	d.exec.meter.trace(m.Trace)
	for _, r := range m.Drops {
		d.exec.store.drop(r)
	}
	w.run(m.Tasks)
	return nil
}

// onRecall gives back tasks that have not begun.
func (a *agent) onRecall(from string, body []byte) error {
	var m recall
	if err := decode(from, body, &m); err != nil {
		return err
	}
	d, err := a.jobOf(from, m.Job)
	if d != nil {
		a.work(d, m.Job).giveBack(m.Tasks, m.Count)
	}
	return err
}

// onOrder begins a rank of a group, or ends it.
func (a *agent) onOrder(from string, body []byte) error {
	var m order
	if err := decode(from, body, &m); err != nil {
		return err
	}
	d, err := a.jobOf(from, m.Job)
	if d != nil {
		d.exec.obey(m)
	}
	return err
}

// onForget ends a job, or drops a set of kept data.
func (a *agent) onForget(from string, body []byte) error {
	var m forget
	if err := decode(from, body, &m); err != nil {
		return err
	}
	d, err := a.jobOf(from, m.Job)
	if d != nil {
		a.endJob(d, m.Job)
	}
	return err
}

// event notes that a node has come or left. The agent stops when its driver has left, or when no
// node can reach this one any more.
func (a *agent) event(e transport.Event) {
	if e.Node == a.opt.Transport.Self() {
		a.stop(e.Err)
		return
	}
	a.drivers.event(e)
	if e.Node == a.opt.Driver && !e.Joined {
		why := e.Err
		if why != nil {
			why = &NodeLostError{Node: e.Node, Err: why}
		}
		a.stop(why)
	}
}

// stop ends the agent, unless it ends already.
func (a *agent) stop(why error) {
	select {
	case a.stopped <- why:
	default:
	}
}
