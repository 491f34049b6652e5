package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// agent is a node that executes what drivers give it. It decides nothing: what it is told,
// it does as soon as the operands are there, and it tells the driver of each end. A job
// belongs to the driver that named it first; others may not touch it. To nodes below it, it is
// a driver itself.
type agent struct {
	opt     Options
	known   known
	offer   offered
	fetch   *sharedFetches
	domain  domain
	stopped chan error // has room for why Options.Driver has left, nil if it was closed

	mu           sync.Mutex              // before the locks of outboxes, domain.mu and the domain's fleet.lock
	drivers      map[string]*driverState // by name
	closing      map[string]*driverState // by name: the last one that has left, until nothing of it is there
	deniedEpochs map[string]uint64       // by name of drivers that have left: their last epoch here
	owners       map[uint64]string       // the driver of each job
	closed       bool                    // nothing new ends any more
	background   sync.WaitGroup          // jobs, and drivers, that end
}

// driverState is a driver as an agent sees it.
type driverState struct {
	exec       *executor
	out        *outbox
	unreported map[uint64][]end // by job: what it has not been told; agent.mu guards it
	spareEnds  []end            // memory of what it has been told
	// epoch is what this node is called by the driver, 0 if it was not called.
	// agent.mu guards it.
	epoch       uint64
	deniedEpoch uint64        // the epoch of the tasks that were refused last; agent.mu guards it
	predecessor chan struct{} // closed when nothing is there of the one before it; nil if nothing is
	closedAll   chan struct{} // closed when nothing of it is there any more
}

// Serve has this node execute the tasks that drivers give it, until ctx ends, the driver that
// Options.Driver names leaves, or the transport cannot be started. Then it cancels what has not
// started, waits for tasks that run, and closes the transport. It returns nil if that driver
// was closed, and a *[NodeLostError] if it is lost: its process has ended without closing it,
// or it was not heard for the time that the transport allows. Otherwise the error is an
// *OptionsError, the transport's, which is a *transport.DeafError if others cannot reach this node
// any more, or the cause of the context's end.
func Serve(ctx context.Context, opt Options) error {
	k, err := opt.check()
	if err != nil {
		return err
	}
	if opt.Driver == opt.Transport.Self() {
		return &OptionsError{"Driver is the node itself, " + opt.Driver}
	}
	return newAgent(opt, k).serve(ctx)
}

func newAgent(opt Options, k known) *agent {
	a := &agent{opt: opt, known: k, offer: offeredBy(opt.Ops, opt.Runtime), fetch: newFetching(), stopped: make(chan error, 1), drivers: map[string]*driverState{}, closing: map[string]*driverState{}, deniedEpochs: map[string]uint64{}, owners: map[uint64]string{}}
	a.domain = domain{opt: opt, known: k, changed: a.announce}
	return a
}

// serve is [Serve].
func (a *agent) serve(ctx context.Context) error {
	opt := a.opt
	if err := opt.Transport.Start(a.handle, a.event); err != nil {
		return err
	}
	var why error
	select {
	case <-ctx.Done():
		why = context.Cause(ctx)
	case why = <-a.stopped:
	}
	// First nobody can reach this node any more; then nothing new begins.
	err := opt.Transport.Close()
	a.mu.Lock()
	a.closed = true
	drivers := slices.Collect(maps.Values(a.drivers))
	a.mu.Unlock()
	a.domain.stop()
	for _, d := range drivers { // all before one is waited for, as they share the workers
		d.exec.stop(why)
	}
	for _, d := range drivers {
		d.exec.close(why)
		d.out.close()
	}
	a.background.Wait()
	a.domain.close()
	return cmp.Or(err, why)
}

// handle gets the messages of drivers. What makes no sense is logged, and nothing else
// happens.
func (a *agent) handle(from string, message []byte) {
	if err := a.receive(from, message); err != nil {
		a.opt.Log.Warn("message refused", "from", from, "error", err)
	}
}

func (a *agent) receive(from string, message []byte) error {
	k, body, err := split(from, message)
	if k == kindCall { // of whatever protocol: the answer says which one is spoken here
		var m call
		if err == nil {
			err = decode(from, body, &m)
		}
		switch d, denied := a.acceptCall(from, m.Epoch); {
		case d == nil:
		case denied:
			a.deny(d)
		default:
			a.greet(d, m)
		}
	}
	if err != nil {
		return err
	}
	switch k {
	case kindCall:
	case kindRun:
		var m run
		if err := decode(from, body, &m); err != nil {
			return err
		}
		return a.run(from, &m)
	case kindRecall:
		var m recall
		if err := decode(from, body, &m); err != nil {
			return err
		}
		switch d, mine := a.claimJob(from, m.Job); {
		case d == nil:
		case !mine:
			return &MessageError{from, fmt.Sprintf("job %d is another driver's", m.Job)}
		default:
			a.work(d, m.Job).giveBack(m.Tasks, m.Count)
		}
	case kindQuery:
		if d := a.present(from); d != nil {
			d.out.add(func() []byte { return encode(kindStatus, d.exec.status()) })
		}
	case kindHello, kindEnded, kindStatus:
		return a.domain.receive(from, message)
	case kindForget:
		var m forget
		if err := decode(from, body, &m); err != nil {
			return err
		}
		if d, mine := a.claimJob(from, m.Job); mine {
			a.endJob(d, m.Job)
		}
	default:
		return &MessageError{from, fmt.Sprintf("of kind %d", k)}
	}
	return nil
}

// acceptCall returns the driver that calls this node by an epoch, nil if a later call was heard
// already. If it was an earlier epoch before, the driver believes that this node had left: what
// there is of that time goes. Denied says that the epoch is one of which everything has gone.
func (a *agent) acceptCall(name string, epoch uint64) (d *driverState, denied bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d = a.drivers[name]; d != nil && epoch < d.epoch {
		return nil, false
	}
	if d != nil && d.epoch != 0 && d.epoch < epoch {
		a.drop(name, nil)
	}
	d = a.ensure(name)
	if epoch <= a.deniedEpochs[name] {
		return d, true
	}
	delete(a.deniedEpochs, name)
	d.epoch = epoch
	return d, false
}

// greet answers a driver, as soon as nothing is left of the one of its name that was there
// before: what that one had would be dropped under the names of what this one brings.
func (a *agent) greet(d *driverState, m call) {
	heard := d.exec.meter.clock(time.Now())
	answer := func() {
		d.out.add(func() []byte {
			h := a.hello()
			h.Called, h.Heard, h.Said, h.Epoch = m.At, heard, d.exec.meter.clock(time.Now()), m.Epoch
			return encode(kindHello, h)
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.predecessor == nil || a.closed {
		answer()
		return
	}
	a.background.Add(1)
	go func() {
		defer a.background.Done()
		<-d.predecessor
		answer()
	}()
}

// deny tells a driver that this node has nothing of it: it may know nothing of its loss. The
// answer is a call, which waits until that is so.
func (a *agent) deny(d *driverState) {
	d.out.add(func() []byte { return encode(kindHello, a.hello()) })
}

// hello returns what the agent says of itself.
func (a *agent) hello() hello {
	a.mu.Lock()
	defer a.mu.Unlock()
	return hello{Memory: a.opt.Memory, Program: a.opt.Program, Jobs: len(a.owners), Parent: a.opt.Parent, Below: a.domain.sums(), Offer: a.offer}
}

// announce tells drivers what is below this node now.
func (a *agent) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.drivers {
		if d.epoch == 0 || a.closed {
			continue
		}
		d.out.add(func() []byte {
			h := a.hello()
			a.mu.Lock()
			h.Epoch, h.Called = d.epoch, unasked
			a.mu.Unlock()
			return encode(kindHello, h)
		})
	}
}

// present returns a driver of which something is there, nil if it has left: its last messages may be
// handled after that, and leave nothing.
func (a *agent) present(name string) *driverState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.drivers[name]
}

// ensure returns what the agent knows of a driver, which may be its name only. The caller holds mu.
func (a *agent) ensure(name string) *driverState {
	if d := a.drivers[name]; d != nil {
		return d
	}
	d := &driverState{exec: newExecutor(&a.opt, a.known, a.fetch), unreported: map[uint64][]end{}, closedAll: make(chan struct{})}
	d.exec.children = a.domain.children
	if before := a.closing[name]; before != nil {
		d.predecessor = before.closedAll
	}
	d.out = newOutbox(a.opt.Transport, name, func(err error) { a.dropUnreachable(name, d, err) })
	a.drivers[name] = d
	return d
}

// dropUnreachable ends what there is of a driver that cannot be told what it has to know. If it is
// there all the same, it learns so.
func (a *agent) dropUnreachable(name string, d *driverState, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.drivers[name] != d { // it is another one by now
		return
	}
	a.drop(name, why)
	if d.epoch != 0 && !a.closed {
		a.deny(a.ensure(name))
	}
}

// claimJob returns a driver of which something is there, nil if it has left, and whether a job is its own.
func (a *agent) claimJob(name string, job uint64) (d *driverState, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d = a.drivers[name]
	return d, d != nil && a.claim(name, job)
}

// claim reports whether a job is a driver's, and makes it so if it is nobody's. The caller holds mu,
// and has seen that the driver has not left: when it leaves its jobs go.
func (a *agent) claim(name string, job uint64) bool {
	if _, ok := a.owners[job]; !ok {
		a.owners[job] = name
	}
	return a.owners[job] == name
}

// run begins tasks, after it has dropped what nobody will read: a task may bring a later
// version of the same datum.
func (a *agent) run(from string, m *run) error {
	a.mu.Lock()
	d := a.ensure(from)
	late, refused := d.epoch != m.Epoch, d.epoch < m.Epoch && d.deniedEpoch != m.Epoch
	if refused {
		d.deniedEpoch = m.Epoch
	}
	mine := !late && a.claim(from, m.Job)
	a.mu.Unlock()
	switch {
	case refused: // the driver believes that this node has what it has not
		a.deny(d)
		return nil
	case late: // for the node that this one was
		return nil
	case !mine:
		return &MessageError{from, fmt.Sprintf("job %d is another driver's", m.Job)}
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

// work returns the work for a driver's job.
func (a *agent) work(d *driverState, job uint64) *work {
	return d.exec.work(context.Background(), job, func(e end) { a.report(d, job, e) })
}

// promptTime is how long a task takes at least whose end the worker tells itself. To do so takes it
// 10 µs (two cores of an EPYC, Turin, 2026-11-26). The ends of shorter tasks go together.
const promptTime = 100 * time.Microsecond

// report tells a driver of the end of a task, with those of others that it has not been
// told of yet. The caller holds no lock.
func (a *agent) report(d *driverState, job uint64, e end) {
	a.mu.Lock()
	ends := d.unreported[job]
	first := len(ends) == 0
	if first {
		ends, d.spareEnds = d.spareEnds, nil
	}
	d.unreported[job] = append(ends, e)
	a.mu.Unlock()
	var message func() []byte // nil: one is going to be made that has it, too
	if first {
		message = func() []byte { return a.endedMessage(d, job) }
	}
	if e.Took >= promptTime {
		d.out.flush(message)
	} else if first {
		d.out.add(message)
	} else {
		return
	}
	// Others want this core now: who sends the message, if this thread has not, and who begins the next
	// task. Otherwise they get it when the system takes it away, after up to some milliseconds.
	runtime.Gosched()
}

// endedMessage returns the message of what a driver has not been told of a job.
func (a *agent) endedMessage(d *driverState, job uint64) []byte {
	a.mu.Lock()
	ends, epoch := d.unreported[job], d.epoch
	delete(d.unreported, job)
	a.mu.Unlock()
	all := d.exec.endedMessage(job, ends)
	all.Epoch = epoch
	m := encode(kindEnded, all)
	clear(ends)
	a.mu.Lock()
	d.spareEnds = ends[:0]
	a.mu.Unlock()
	return m
}

// endJob ends the work for a job. What the job has is dropped before it returns, so that there is
// room for what the driver sends next; but tasks that still run do not hold up who calls.
func (a *agent) endJob(d *driverState, job uint64) {
	over := func() {
		d.exec.endJob(job)
		a.mu.Lock()
		delete(a.owners, job)
		a.mu.Unlock()
	}
	if d.exec.isIdle(job) {
		over()
		return
	}
	a.background.Add(1)
	go func() {
		defer a.background.Done()
		over()
	}()
}

// event ends what there is of a driver that has left: nobody will want its results. A driver
// that says nothing for the time that the transport allows has left: that is its lease. What
// of its tasks has not begun is cancelled, what runs ends, and its values are dropped. If it
// comes back it is another one, with nothing. A driver that joins calls; one that was there
// before may know nothing of its loss, as its process was stopped, and is told. So is the
// agent above this one, which calls only nodes that have said that they are below it.
func (a *agent) event(e transport.Event) {
	if e.Node == a.opt.Transport.Self() { // nobody reaches this node any more
		select {
		case a.stopped <- e.Err:
		default:
		}
		return
	}
	a.fetch.event(e)
	a.domain.event(e)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !e.Joined {
		a.drop(e.Node, e.Err)
		if e.Node == a.opt.Driver {
			a.stop(e.Err)
		}
		return
	}
	if d := a.drivers[e.Node]; (a.deniedEpochs[e.Node] != 0 || e.Node == a.opt.Parent) && !a.closed && (d == nil || d.epoch == 0) {
		a.deny(a.ensure(e.Node))
	}
}

// stop ends the agent, as its driver has left, unless it ends already.
func (a *agent) stop(why error) {
	if why != nil {
		why = &NodeLostError{Node: a.opt.Driver, Err: why}
	}
	select {
	case a.stopped <- why:
	default:
	}
}

// maxDenied is how many drivers that have left an agent remembers.
const maxDenied = 1000

// drop ends what there is of a driver. The caller holds mu.
func (a *agent) drop(name string, why error) {
	d := a.drivers[name]
	if d == nil || a.closed {
		return
	}
	delete(a.drivers, name)
	for job, owner := range a.owners {
		if owner == name {
			delete(a.owners, job)
		}
	}
	a.closing[name] = d
	if d.epoch != 0 {
		for other := range a.deniedEpochs {
			if len(a.deniedEpochs) < maxDenied {
				break
			}
			delete(a.deniedEpochs, other)
		}
		a.deniedEpochs[name] = d.epoch
	}
	a.background.Add(1)
	go func() {
		defer a.background.Done()
		if d.predecessor != nil {
			<-d.predecessor
		}
		d.out.close() // it is not told that its tasks are cancelled: they are others' now
		bytes := d.exec.store.currentBytes()
		d.exec.close(&NodeLostError{Node: name, Err: why})
		a.mu.Lock()
		if a.closing[name] == d {
			delete(a.closing, name)
		}
		a.mu.Unlock()
		close(d.closedAll)
		if bytes > 0 && why != nil { // who goes in order has no use for it
			a.opt.Log.Info("a driver has left, and what there was of its jobs is dropped", "driver", name, "bytes", bytes, "error", why)
		}
	}()
}
