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

// delegation gives tasks of one of an agent's jobs to the nodes below the agent. The agent executes the others.
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
	named   map[transport.Ref]*lent // by the drivers' name for the version that it holds
}

// lent is a value of this node as a datum of a delegation.
type lent struct {
	datum graph.Datum
	ref   transport.Ref // the key in named; zero if the value has changed since it was lent
}

// delegate implements [lower].
func (x *domain) delegate(w *work) delegate {
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

// end implements [delegate].
func (d *delegation) end() {
	tasks := d.Completed()
	d.outcome.Abort(exec.ErrClosed) // nothing has to come
	_ = d.Wait()
	d.opt.Log.Info("nodes below had tasks of a job", "tasks", tasks)
}

// fits implements [delegate].
func (d *delegation) fits(e *execution) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	op, ok := e.spec.Op.(*versions.Op)
	c, _ := e.spec.Constraints.(*versions.Constraints)
	return ok && d.hasAgents && d.outcome.Why() == nil && d.sched.Fit.AskFor(core.Question{Op: op, Asks: c}).Any
}

// run implements [delegate].
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

// withdrawn implements [delegate].
func (d *delegation) withdrawn(r transport.Ref) {
	d.lending.Lock()
	defer d.lending.Unlock()
	if l := d.named[r]; l != nil {
		delete(d.named, r)
		l.ref = transport.Ref{}
		d.change(l, false)
	}
}

// change makes nodes below drop their copies of a lent value, because the value has changed or will change. If there
// is set, they can fetch the new version. No task below uses the datum. The caller holds lending.
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

// bring implements [delegate].
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

// takeBack implements [delegate].
func (d *delegation) takeBack(e *execution) {
	for i := range e.data {
		if x := &e.data[i]; x.mode&graph.Out != 0 {
			r := x.operand.Ref
			r.Version++
			d.withdrawn(r)
		}
	}
}

// A task is worth sending if it takes longer than minDelegated plus the time that its results take to arrive at
// delegatedRate.
const (
	minDelegated  = 200 * time.Microsecond
	delegatedRate = 1e9 // bytes a second
)

// learn implements [lower]. Tasks of an op that have children stay on this node, so that the children can spread
// over all nodes below it.
func (x *domain) learn(op string, parent bool, took time.Duration) {
	x.learning.Lock()
	defer x.learning.Unlock()
	if x.records == nil {
		x.records = map[string]opRecord{}
	}
	x.records[op] = opRecord{parent || x.records[op].parents, took}
}

// admit implements [lower]. Nodes below get as many tasks as they have workers, and each node one more, whose
// operands it fetches meanwhile. Further tasks stay here, because a node below does not give back a task before
// the task has ended.
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

// leave implements [lower].
func (x *domain) leave() {
	x.learning.Lock()
	defer x.learning.Unlock()
	x.delegated--
}
