package cluster

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// drivers is what an agent knows of its drivers. A driver chooses a new epoch for the agent each time that it
// calls the agent:
//
//	absent ── call(e) ──► epoch e ── it leaves, or calls by e+1 ──► closing ──► absent, e is denied
//
//	call of an older epoch    ignored: a later call was heard
//	call of the same epoch    answered again
//	call of a denied epoch    answered with epoch 0: the agent has nothing of the driver's any more
//	tasks of another epoch    dropped; if the epoch is newer, answered with epoch 0, once
//
// The successor of a closing driver is greeted when nothing of its predecessor is left.
type drivers struct {
	opt    Options
	known  known
	offer  offered
	fetch  *sharedFetches
	domain domain

	mu           sync.Mutex              // before the locks of outboxes, domain.mu and the domain's fleet.lock
	byName       map[string]*driverState // those that are there
	closing      map[string]*driverState // by name: the last one that has left, until its data are dropped
	deniedEpochs map[string]uint64       // by name of drivers that have left: their last epoch here
	owners       map[uint64]string       // the driver of each job
	parent       string                  // the node above this one, the first one of chain that has not left; "": there is none
	chain        []string                // Options.Parent, the node above that, and so on
	closed       bool                    // the agent ends
	background   sync.WaitGroup          // jobs and drivers that end
}

// driverState is a driver as an agent sees it. drivers.mu guards its fields from unreported on.
type driverState struct {
	exec        *executor
	out         *outbox
	predecessor chan struct{} // closedAll of the previous driver of this name; nil if there is none
	closedAll   chan struct{} // closed when the data of this driver are dropped

	unreported  map[uint64][]end // by job: ends that the driver has not been told
	spareEnds   []end            // memory for the next slice in unreported
	epoch       uint64           // 0 until it has called this node
	deniedEpoch uint64           // the epoch of the last tasks that were denied
}

// acceptCall returns the driver that calls this node by an epoch, nil if the node has heard a call by a later
// epoch. If the epoch is newer than the driver's, the driver believes that this node had left; then the agent
// first drops the data and jobs of the driver. denied reports that the agent has dropped this epoch before.
func (a *drivers) acceptCall(name string, epoch uint64) (d *driverState, denied bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d = a.byName[name]; d != nil && epoch < d.epoch {
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

// greet answers a driver as soon as the data of its predecessor are dropped: data of the new driver
// may have the same names.
func (a *drivers) greet(d *driverState, m call) {
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
	a.background.Go(func() {
		<-d.predecessor
		answer()
	})
}

// deny tells a driver, which may not know that the agent has dropped it, that this node has nothing of the
// driver's. The driver answers with a call, and the agent greets it when the data are gone.
func (a *drivers) deny(d *driverState) {
	d.out.add(func() []byte { return encode(kindHello, a.hello()) })
}

// hello returns the description of the agent, without the fields that answer a call.
func (a *drivers) hello() hello {
	a.mu.Lock()
	defer a.mu.Unlock()
	return hello{
		Memory: a.opt.Memory, Program: a.opt.Program, Jobs: len(a.owners),
		Parent: a.parent, Below: a.domain.sums(), Offer: a.offer,
	}
}

// announce tells drivers that the nodes below this one have changed.
func (a *drivers) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.byName {
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

// present returns a driver that is there, nil if it has left. The last messages of a driver that has left may
// be handled late, and must have no effect.
func (a *drivers) present(name string) *driverState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byName[name]
}

// ensure returns a driver, and adds it if it is not there. The caller holds mu.
func (a *drivers) ensure(name string) *driverState {
	if d := a.byName[name]; d != nil {
		return d
	}
	d := &driverState{
		exec:       newExecutor(&a.opt, a.known, a.fetch),
		unreported: map[uint64][]end{}, closedAll: make(chan struct{}),
	}
	d.exec.lower, d.exec.store.changing = &a.domain, d.exec.withdrawn
	if before := a.closing[name]; before != nil {
		d.predecessor = before.closedAll
	}
	d.out = newOutbox(a.opt.Transport, name, func(err error) { a.dropUnreachable(name, d, err) })
	a.byName[name] = d
	return d
}

// dropUnreachable drops a driver to which a message could not be sent. It also sends a denial: if the driver
// is there nevertheless, it then calls again.
func (a *drivers) dropUnreachable(name string, d *driverState, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byName[name] != d { // dropped already
		return
	}
	a.drop(name, why)
	if d.epoch != 0 && !a.closed {
		a.deny(a.ensure(name))
	}
}

// jobOf returns a driver that is there, nil if it has left. The error is a *MessageError if the job is
// another driver's.
func (a *drivers) jobOf(name string, job uint64) (*driverState, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.byName[name]
	if d == nil {
		return nil, nil
	}
	return a.claim(d, name, job)
}

// claim returns the driver d if a job is its own. The first driver that names a job owns it. The caller
// holds mu and has seen that the driver is there: its jobs go when it leaves.
func (a *drivers) claim(d *driverState, name string, job uint64) (*driverState, error) {
	if _, ok := a.owners[job]; !ok {
		a.owners[job] = name
	}
	if a.owners[job] != name {
		return nil, &MessageError{name, fmt.Sprintf("job %d is another driver's", job)}
	}
	return d, nil
}

// acceptTasks returns the driver that sends tasks of a job to this node under an epoch, nil if the
// epoch is not the current one. The error is that of jobOf.
func (a *drivers) acceptTasks(name string, epoch, job uint64) (*driverState, error) {
	a.mu.Lock()
	d := a.ensure(name)
	if d.epoch == epoch {
		defer a.mu.Unlock()
		return a.claim(d, name, job)
	}
	deny := d.epoch < epoch && d.deniedEpoch != epoch
	if deny {
		d.deniedEpoch = epoch
	}
	a.mu.Unlock()
	if deny { // the driver believes that this node has data that it does not have
		a.deny(d)
	}
	return nil, nil
}

// work returns the work for a driver's job.
func (a *drivers) work(d *driverState, job uint64) *work {
	return d.exec.work(context.Background(), job, func(e end) { a.report(d, job, e) })
}

// promptTime is the least time of a task whose end the worker itself sends, which takes it 10 µs (two cores of
// an EPYC, Turin, 2026-11-26). The ends of shorter tasks are sent together.
const promptTime = 100 * time.Microsecond

// report sends the end of a task to its driver, together with ends that were not sent yet. The caller holds
// no lock.
func (a *drivers) report(d *driverState, job uint64, e end) {
	a.mu.Lock()
	ends := d.unreported[job]
	first := len(ends) == 0
	if first {
		ends, d.spareEnds = d.spareEnds, nil
	}
	d.unreported[job] = append(ends, e)
	a.mu.Unlock()
	var message func() []byte // nil if a pending message will contain this end, too
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
	// Yield the core: the goroutine that sends the message and the one that begins the next task both
	// wait for it. Without Gosched they wait until the kernel preempts this thread, some milliseconds.
	runtime.Gosched()
}

// endedMessage returns the message with the ends of a job that a driver has not been told.
func (a *drivers) endedMessage(d *driverState, job uint64) []byte {
	a.mu.Lock()
	ends, epoch := d.unreported[job], d.epoch
	delete(d.unreported, job)
	a.mu.Unlock()
	all := d.exec.endedMessage(job, ends)
	all.Epoch = epoch
	message := encode(kindEnded, all)
	clear(ends)
	a.mu.Lock()
	d.spareEnds = ends[:0]
	a.mu.Unlock()
	return message
}

// endJob drops the data of a job on this node, which makes room for what the driver sends next. If tasks of
// the job still run, a goroutine waits for them and drops the data then.
func (a *drivers) endJob(d *driverState, job uint64) {
	end := func() {
		d.exec.endJob(job)
		a.mu.Lock()
		delete(a.owners, job)
		a.mu.Unlock()
	}
	if d.exec.isIdle(job) {
		end()
	} else {
		a.background.Go(end)
	}
}

// event notes that a driver has come or left. When a driver leaves, the agent drops it: it cancels tasks that
// have not begun, waits for those that run, and drops the data. The lease of a driver is the silence that the
// transport allows. A driver that comes back is a new driver, with nothing here.
//
// A driver that joins calls this node. A driver that was dropped may not know of it, for example because its
// process was stopped, so the agent sends it a denial. The agent also sends one to its parent, which calls
// only nodes that have named it as their parent.
func (a *drivers) event(e transport.Event) {
	a.fetch.event(e)
	a.domain.event(e)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !e.Joined {
		a.drop(e.Node, e.Err)
	}
	if a.chooseParent() || !e.Joined {
		return
	}
	d := a.byName[e.Node]
	if (a.deniedEpochs[e.Node] != 0 || e.Node == a.parent) && !a.closed && (d == nil || d.epoch == 0) {
		a.deny(a.ensure(e.Node))
	}
}

// maxDenied bounds the number of drivers that have left and that an agent remembers.
const maxDenied = 1000

// drop drops a driver that has left: its jobs, and on a goroutine its tasks and data. The caller holds mu.
func (a *drivers) drop(name string, why error) {
	d := a.byName[name]
	if d == nil || a.closed {
		return
	}
	delete(a.byName, name)
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
	a.background.Go(func() {
		if d.predecessor != nil {
			<-d.predecessor
		}
		d.out.close() // do not report the cancelled tasks: other nodes have them now
		bytes := d.exec.store.currentBytes()
		d.exec.close(&NodeLostError{Node: name, Err: why})
		a.mu.Lock()
		if a.closing[name] == d {
			delete(a.closing, name)
		}
		a.mu.Unlock()
		close(d.closedAll)
		if bytes > 0 && why != nil { // a driver that closes in order needs no such line
			a.opt.Log.Info("a driver has left, and what there was of its jobs is dropped",
				"driver", name, "bytes", bytes, "error", why)
		}
	})
}

// close ends the tasks of all drivers and drops their data. The transport is closed, so that no message
// begins anything new.
func (a *drivers) close(why error) {
	a.mu.Lock()
	a.closed = true
	all := slices.Collect(maps.Values(a.byName))
	a.mu.Unlock()
	a.domain.stop()
	for _, d := range all { // stop all before the first wait, since they share the workers
		d.exec.stop(why)
	}
	for _, d := range all {
		d.exec.close(why)
		d.out.close()
	}
	a.background.Wait()
	a.domain.close()
}

// What is above an agent is a chain:
//
//	Options.Parent ─► its parent ─► … ─► "", the drivers of programs
//
// Its first node that has not left is the agent's parent. A parent tells the names of those above it when it calls
// this node. So what a lost node had below it goes to the next one above, and comes back when the lost one does.

// maxAbove bounds the nodes that a node has above it.
const maxAbove = 64

// above returns the names of the nodes above this one, the nearest first, and at last "".
func (a *drivers) above() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(a.chain[max(slices.Index(a.chain, a.parent), 0):])
	if all[len(all)-1] != "" {
		all = append(all, "")
	}
	return all
}

// noteAbove notes which nodes are above one that calls this node. A driver of a program says nothing of them.
func (a *drivers) noteAbove(from string, above []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.Index(a.chain, from)
	if at < 0 || above == nil {
		return
	}
	chain := slices.Clone(a.chain[:at+1])
	for _, name := range above[:min(len(above), maxAbove)] {
		if name != a.opt.Transport.Self() && !slices.Contains(chain, name) {
			chain = append(chain, name)
		}
	}
	if slices.Equal(chain, a.chain) {
		return
	}
	if a.chain = chain; !a.chooseParent() && !a.closed {
		a.background.Go(a.domain.tellAbove)
	}
}

// chooseParent reports whether another node is the parent now. All drivers are told then. Those that had this node
// lose it, so it drops what it has of them. If the whole chain has left, the agent waits for the last parent. The
// caller holds mu.
func (a *drivers) chooseParent() bool {
	i := slices.IndexFunc(a.chain, func(name string) bool { return !a.fetch.hasLeft(name) })
	if i < 0 || a.chain[i] == a.parent || a.closed {
		return false
	}
	a.parent = a.chain[i]
	names := map[string]bool{a.parent: true}
	for name, d := range a.byName {
		if d.epoch != 0 {
			names[name] = true
		}
	}
	for name := range a.deniedEpochs {
		names[name] = true
	}
	for name := range names {
		if name == "" || a.fetch.hasLeft(name) {
			continue
		}
		if d := a.byName[name]; d != nil && d.epoch != 0 {
			a.drop(name, nil)
		}
		a.deny(a.ensure(name))
	}
	a.opt.Log.Info("the node above has changed", "parent", a.parent)
	a.background.Go(a.domain.tellAbove)
	return true
}
