package cluster

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// delegation has the nodes below an agent execute tasks of one of its jobs, beside the agent itself.
//
//	run ─► operands are there ─► gate ─► the node's runtime ─────────────────► Ended
//	                   │           │                                             ▲
//	                   └───────────┴─► delegate ─► job ─► a node below ─► settle ┤
//	                                                                             └─► enter: no node below
//	                                                                                 has executed it
//
// A value of this node is a datum of the delegation's job, which lasts as long as the agent's. So nodes below
// keep copies of the value until it changes here. What a task has made below comes to this node before the
// task's end is reported. So the drivers of this node learn nothing of the nodes below, and a node below that
// is lost costs only the tasks that it had.
type delegation struct {
	*job
	lending sync.Mutex              // taken before the driver's placing and the locks of its store
	lent    map[any]*lent           // by value
	named   map[transport.Ref]*lent // by the name that the drivers of this node have for what it holds
}

// lent is a value of this node as a datum of a delegation.
type lent struct {
	datum graph.Datum
	ref   transport.Ref // the key in named; zero if the value has changed since it was lent
}

// newDelegation returns the delegation of a job, nil if no nodes are below this one.
func (x *domain) newDelegation(w *work) *delegation {
	if x.sums().Nodes == 0 {
		return nil
	}
	d := x.current()
	j := withRecovery(newJob(d, d.fleet, w.ctx, d.allNodes()))
	j.delegated = true
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.begin(); err != nil {
		return nil
	}
	return &delegation{job: j, lent: map[any]*lent{}, named: map[transport.Ref]*lent{}}
}

// delegation returns the job's delegation, nil if it has none.
func (w *work) delegation() *delegation {
	w.delegating.Lock()
	defer w.delegating.Unlock()
	if w.toBelow == nil {
		w.toBelow = w.domain.newDelegation(w)
	}
	return w.toBelow
}

// endDelegation ends the job's delegation, whose tasks have ended.
func (w *work) endDelegation() {
	w.delegating.Lock()
	d := w.toBelow
	w.delegating.Unlock()
	if d != nil {
		d.outcome.Abort(exec.ErrClosed) // nothing has to come
		_ = d.Wait()
	}
}

// withdrawn notes that the version of a name changes here, or goes.
func (x *executor) withdrawn(r transport.Ref) {
	x.mu.Lock()
	var all []*work
	for _, w := range x.jobs {
		all = append(all, w)
	}
	x.mu.Unlock()
	for _, w := range all {
		w.delegating.Lock()
		d := w.toBelow
		w.delegating.Unlock()
		if d != nil {
			d.withdrawn(r)
		}
	}
}

// fits reports whether a node below can execute a task.
func (d *delegation) fits(e *execution) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	op, ok := e.spec.Op.(*versions.Op)
	c, _ := e.spec.Constraints.(*versions.Constraints)
	return ok && d.hasAgents && d.outcome.Why() == nil && d.sched.Fit.AskFor(core.Question{Op: op, Asks: c}).Any
}

// run submits a task. Its end calls execution.settle.
func (d *delegation) run(e *execution) error {
	s := graph.Spec{
		Op: e.spec.Op, Params: e.spec.Params, Priority: e.spec.Priority, Constraints: e.spec.Constraints, Witness: e,
		// The driver above decides what follows a failure.
		Failure: &graph.Failure{Retries: e.failure.Retries, Timeout: e.failure.Timeout, Then: graph.Ignore},
	}
	of := map[*graph.Datum]*graph.Datum{}
	for i := range e.data {
		of[&e.data[i].Datum] = d.lend(&e.data[i])
	}
	for _, o := range e.spec.Operands {
		s.Operands = append(s.Operands, graph.Operand{Datum: of[o.Datum], Mode: o.Mode})
	}
	e.beginWrites()
	_, err := d.Submit(&s)
	return err
}

// lend returns the datum of an operand. If the task writes it, the datum is to hold the next version.
func (d *delegation) lend(x *localDatum) *graph.Datum {
	d.lending.Lock()
	defer d.lending.Unlock()
	l, ref := d.lent[x.Value], x.operand.Ref
	if l == nil {
		l = &lent{datum: graph.Datum{Value: x.Value, Bytes: bytesOf(x.Value)}, ref: ref}
		if x.Key.Matrix < invented { // others may be names that the domain's driver invents, too
			l.datum.Key = x.Key
		}
		d.lent[x.Value] = l
	}
	same := l.ref == ref
	delete(d.named, l.ref)
	if l.ref = ref; x.mode&graph.Out != 0 {
		l.ref.Version++
	}
	d.named[l.ref] = l
	if !same {
		d.change(l, true)
	}
	return &l.datum
}

// withdrawn notes that the value changes, or goes, that has a name here.
func (d *delegation) withdrawn(r transport.Ref) {
	d.lending.Lock()
	defer d.lending.Unlock()
	if l := d.named[r]; l != nil {
		delete(d.named, r)
		l.ref = transport.Ref{}
		d.change(l, false)
	}
}

// change has nodes below drop their copies of a lent value, which holds something else now, or will. If there
// is set they can fetch that. No task below uses the datum. The caller holds lending.
func (d *delegation) change(l *lent, there bool) {
	d.mu.Lock()
	e := d.data.Of(&l.datum)
	if e == nil { // no task has used it
		d.mu.Unlock()
		return
	}
	old, h, work := e.Ref, d.homes[e], d.job.work
	d.sched.Rewrite(e)
	now := e.Ref
	d.mu.Unlock()
	work.store.withdraw(old)
	if there {
		work.store.adopt(now, h)
	}
}

// bring brings what a task has made below to this node, and reports whether all of it has come. Otherwise the
// values here are what they were before the task.
func (d *delegation) bring(e *execution) bool {
	var data []*graph.Datum
	d.lending.Lock()
	for i := range e.data {
		if x := &e.data[i]; x.mode&graph.Out != 0 {
			data = append(data, &d.lent[x.Value].datum)
		}
	}
	d.lending.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	late := map[*core.Entry]*home{}
	for _, of := range data {
		made := d.data.Of(of)
		late[made] = d.homes[made]
	}
	for failures := 0; !d.fetchAll(late, d.job.work.store.fetchBeside); failures++ {
		lost := failures == maxFailedFetches || d.outcome.Why() != nil
		for made := range late {
			lost = lost || made.Lost()
		}
		if lost {
			return false
		}
	}
	if !d.fetchAll(late, d.job.work.store.overwriteHome) {
		return false
	}
	for made := range late {
		made.NoteHome(false)
	}
	return true
}

// takeBack notes that nodes below do not have what a task makes.
func (d *delegation) takeBack(e *execution) {
	for i := range e.data {
		if x := &e.data[i]; x.mode&graph.Out != 0 {
			r := x.operand.Ref
			r.Version++
			d.withdrawn(r)
		}
	}
}

// opRecord says what an agent knows of the tasks of an op.
type opRecord struct {
	parents bool          // some have children
	took    time.Duration // by the last one that this node has executed
}

// A task is worth sending if it takes longer than minDelegated and the time in which its results come at
// delegatedRate.
const (
	minDelegated  = 200 * time.Microsecond
	delegatedRate = 1e9 // bytes a second
)

// learn notes that this node has executed a task of an op. If the task has children, tasks of the op stay on
// this node, so that their children can spread over all nodes below it.
func (x *domain) learn(op string, parent bool, took time.Duration) {
	x.learning.Lock()
	defer x.learning.Unlock()
	if x.records == nil {
		x.records = map[string]opRecord{}
	}
	x.records[op] = opRecord{parent || x.records[op].parents, took}
}

// admit reports whether a task that writes so many bytes is to be executed below, and counts it then. Nodes
// below get as many tasks as they have workers, and each node one more, whose operands it fetches meanwhile.
// Further tasks stay, because a task does not come back before it has ended.
func (x *domain) admit(op string, writes int64) bool {
	sum := x.sums()
	x.learning.Lock()
	defer x.learning.Unlock()
	r := x.records[op]
	pays := r.took > minDelegated+time.Duration(float64(writes)/delegatedRate*float64(time.Second))
	if r.parents || !pays || x.delegated >= sum.Workers+sum.Nodes {
		return false
	}
	x.delegated++
	return true
}

// leave notes that a task has ended that was admitted.
func (x *domain) leave() {
	x.learning.Lock()
	defer x.learning.Unlock()
	x.delegated--
}

// chooseBelow returns the delegation if nodes below are to execute a task, whose operands are there. The task
// then counts as theirs.
func (e *execution) chooseBelow() *delegation {
	d := e.w.domain
	if d == nil || e.stays || e.task.Op == core.OpNone {
		return nil
	}
	var writes int64
	for i := range e.data {
		x := &e.data[i]
		if !e.w.known.canSend(core.FactsOf(x.Value).Kind) {
			return nil
		}
		if x.mode&graph.Out != 0 {
			writes += bytesOf(x.Value)
		}
	}
	if !d.admit(e.task.Op, writes) {
		return nil
	}
	if to := e.w.delegation(); to != nil && to.fits(e) {
		return to
	}
	d.leave()
	return nil
}

// delegate has nodes below execute a task that is aside at the gate.
func (e *execution) delegate(to *delegation) {
	e.below, e.aside = to, true
	if err := to.run(e); err != nil {
		e.settle(false)
	}
}

// delegateMore delegates tasks that wait at the gate, the most urgent first.
func (x *executor) delegateMore() {
	_, waiting := x.gate.Tasks()
	for i := len(waiting) - 1; i >= 0; i-- {
		e := waiting[i]
		to := e.chooseBelow()
		if to == nil {
			continue
		}
		if !x.gate.Divert(e) { // it has begun
			x.domain.leave()
			continue
		}
		e.stageSince.Store(x.meter.change(0, -1))
		e.delegate(to)
	}
}

// noteBelow notes what a node below reports of the end of the task.
func (e *execution) noteBelow(of *end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Version, e.report.Took, e.report.Fault = of.Version, of.Took, of.Fault
	e.report.Worker = e.w.meter.workers // none of this node's: recordings leave it out
}

// settle ends a task that was delegated. done says that a node below has executed it; otherwise this node
// does.
func (e *execution) settle(done bool) {
	e.mu.Lock()
	failed := e.report.Fault != nil
	e.mu.Unlock()
	done = done && (failed || e.below.bring(e))
	if !done || failed {
		e.below.takeBack(e)
	}
	e.w.domain.leave()
	x := e.w.executor
	if done {
		e.Ended(nil) // with its fault, if it has failed
	} else {
		beginAll(x.gate.Leave(e, time.Now(), nil), x.meter.clock(time.Now()))
		e.stays, e.aside, e.below = true, false, nil
		e.enter(0)
	}
	x.delegateMore()
}
