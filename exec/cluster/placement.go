package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/versions"
)

// placement is where the tasks of a job are: in the graph, with the policy, on their way
// to a node or there.
//
// All of it is under one lock: who submits adds to the graph, and each message of ends
// takes tasks out of it, hands what they have freed to the policy, and gives nodes that
// have room new ones. Messages are put together under the lock when their turn to be sent
// comes, so that they hold all that has been given by then.
//
// Node i of the job is location i and worker i of the policy. That a node may begin a task
// is the graph's word; so no node ever waits for a task of another one, only for values,
// which are there.
type placement struct {
	catalog
	ctx     context.Context
	outcome graph.Outcome

	mu            *sync.Mutex // fleet.placing, which guards what follows; the locks of outboxes are taken under it
	news          sync.Cond   // a task has ended
	graph         graph.Graph
	sched         *core.Scheduler
	batches       []batch         // by node: to be sent
	toSend        []int           // nodes that have got something since the latest place
	lastParams    string          // the parameter of the latest task that was given, encoded
	paramScratch  []byte          // for the next one's
	transfers     []core.Transfer // to the latest task that was given
	freed         []*graph.Task   // by the latest task to end
	failedFetches int             // how often something was asked of nodes in vain
	recoveryDelay time.Duration   // for which nothing is made again after that
	maxMemory     int64           // bytes that the node with the most memory can have; 0: no cap
	count         int             // tasks submitted
	done          int             // of these, ended
	past          int             // of these, before the latest Wait
	fetchesHome   int             // that bring a datum

	traced     uint64            // number of the job in Options.Trace
	order      uint64            // of the job, among those of the driver
	stuck      []*graph.Task     // that cannot be given to anybody before what they read is made again: the scheduler is halted
	recover    func()            // makes again what was lost, on a goroutine of its own; nil while it does
	sealed     bool              // the program waits: it submits nothing now
	recovering bool              // the job itself makes something again
	onUnused   func(*core.Entry) // sees to a datum that no task uses any more; may be nil

	// Of a job of which nodes keep second copies; or else nil.
	onEnds       func()                         // nodes have ended some tasks
	onWritten    func(*graph.Task, *core.Entry) // a task has made a version
	holdBack     func(t *graph.Task) bool       // puts a task aside that is to write over what is copied first
	onNoResult   func()                         // a task has ended that has made nothing
	rounds       core.Rounds
	lastAssigned graph.TaskID // the last task in the order of the program that was given to a node

	telling
}

// pushReady hands tasks that have become ready to the scheduler, and notifies the watches among
// them. From is the node where the end of a task has freed them, -1 if they come from elsewhere.
// The slice may be changed. The caller holds mu.
func (p *placement) pushReady(tasks []*graph.Task, from int) {
	ready := tasks[:0]
	for _, t := range tasks {
		p.fleet.record.ready(t)
		if w := t.Watch(); w != nil {
			p.endWatch(t, w)
			continue
		}
		p.tell(t, exec.Step{State: graph.Ready})
		ready = append(ready, t)
	}
	p.sched.Push(ready, from)
}

// endWatch tells who watches a datum that it is there, in the program's memory, and ends the
// watch then: who writes the datum next waits for that. The caller holds mu.
func (p *placement) endWatch(t *graph.Task, w *graph.Watch) {
	e := p.data.Of(t.Operand(0).Datum)
	f := t.Tainted()
	if f == nil && e.Lost() {
		if !p.outcome.Cancelled() && p.putAsideLost(t) { // or else the job is over, perhaps as that was tried in vain
			return
		}
		f = p.outcome.Why()
	}
	tell := func(f *graph.Fault) {
		w.Done(f)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetchesHome--
		p.pushReady(p.graph.End(t, graph.Done, nil, nil), -1)
		p.place()
	}
	h := p.homes[e]
	if wait, ok := p.routeHome(e); f == nil && h != nil && !ok {
		p.putAside(t, wait)
		return
	}
	p.fetchesHome++
	if f != nil || h == nil { // what is kept stays where it is
		go tell(f)
		return
	}
	from := p.sourcesHome(e)
	p.work.store.bringHome(e.Ref, h, from, true, true, then(func(err error) {
		go func() {
			if err == nil {
				p.mu.Lock()
				p.noteHome(from)
				e.NoteHome(p.hasAgents)
				p.mu.Unlock()
				tell(nil)
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.fetchesHome--
			e.Home.Present = e.Home.Present && !e.Base.Present // or else that is what it held
			p.fetchFailed(e, 0, missingFrom(e.Ref, err), err)
			p.endWatch(t, w)
			p.place() // which has it made again, if nobody has it and no task is under way
		}()
	}))
}

// place has nodes given tasks as long as they have room, and those told who wait for news.
// The caller holds mu.
func (p *placement) place() {
	p.retryAside()
	if len(p.directory.Paths.Cut) > 0 {
		p.directory.Paths.Begin(time.Now())
	}
	for p.assignAll(); p.failMisfits() || !p.sched.Paused && p.fetchesHome == 0 && p.squeeze(); {
		p.assignAll()
	}
	for _, i := range p.toSend {
		p.send(i)
	}
	p.toSend = p.toSend[:0]
	p.news.Broadcast()
	if p.sched.Paused && p.sched.InFlight.N == 0 && p.recover != nil {
		go p.recover()
		p.recover = nil
	}
}

// assignAll gives nodes what the scheduler says. The caller holds mu.
func (p *placement) assignAll() {
	for t, i := range p.sched.Picks() {
		p.assign(t, i)
	}
}

// failMisfits has tasks fail that no node can execute any more, and reports whether there were
// some. The caller holds mu.
func (p *placement) failMisfits() bool {
	if len(p.sched.Misfits) == 0 || p.sched.Paused {
		return false
	}
	all := p.sched.Misfits
	p.sched.Misfits = nil
	if p.onNoResult != nil {
		p.onNoResult()
	}
	for _, t := range all {
		if f := p.outcome.Bars(t); f != nil {
			p.tell(t, exec.Step{State: graph.Cancelled, Err: f.Err})
			p.endTask(t, -1, graph.Cancelled, f)
			continue
		}
		c, _ := t.Constraints().(*versions.Constraints)
		err := p.noNode(t.Op.(*versions.Op), c, p.nodes)
		p.tell(t, exec.Step{State: graph.Failed, Err: err})
		p.applyFailure(t, -1, &exec.TaskError{Task: t.ID(), Op: t.Op.OpName(), Worker: -1, Err: err}, false)
	}
	return true
}

// squeeze sees to it that something happens when all tasks that could be given wait for
// memory, and none is under way: one goes to a node that has room, or the driver gets what the program
// is to have, of this job and of others, or the job ends. It reports whether there may be more to give.
func (p *placement) squeeze() bool {
	t, i := p.sched.Squeeze()
	if t == nil {
		return false
	}
	if i >= 0 {
		p.assign(t, i)
		return true
	}
	for k, n := range p.nodes {
		if !p.sched.Absent(k) && (n.memory.HasPinned() || n.memory.PendingForgets > 0) {
			p.starving[p] = p.place
			return false
		}
	}
	eased := p.fetchAllEarly() // it may make something again
	for x := range p.jobData { // by job
		q := x.(*placement)
		eased = q.fetchAllEarly() || eased || q.sched.Paused && !p.recovering // it makes something again, and drops much then
	}
	if eased {
		p.starving[p] = p.place
		return false
	}
	p.outcome.Abort(p.memoryError(&p.sched.NodeTable, t.Op.OpName(), core.Uses(t, p.data), p.sched.Fit.Ask(t)))
	return true // all are cancelled
}

// assign gives a node a task, or cancels it. It says of each operand which version the task
// reads, and from whom the node can have it: of those that the directory knows now. The
// caller holds mu.
func (p *placement) assign(t *graph.Task, i int) {
	if f := p.outcome.Bars(t); f != nil {
		p.tell(t, exec.Step{State: graph.Cancelled, Err: f.Err})
		p.endTask(t, i, graph.Cancelled, f)
		return
	}
	if p.holdBack != nil && p.holdBack(t) {
		p.withdraw(t, i)
		return
	}
	if p.sched.ReadsLost(t) {
		if p.putAsideLost(t) {
			p.withdraw(t, i)
		} else {
			p.endTask(t, i, graph.Cancelled, p.outcome.Why())
		}
		return
	}
	if p.blocked(t, i) {
		return
	}
	x := task{ID: uint64(t.ID()), Op: t.Op.OpName(), Priority: t.Priority}
	sendable := p.sendable(t)
	made := core.RecordOf(p.order, t)
	x.Retries, x.Timeout = made.Retries, made.Timeout
	if i == 0 {
		x.spec = &graph.Spec{Op: t.Op, Params: t.Params, Local: t.Local(), Constraints: t.Constraints()}
	} else {
		b, err := versions.EncodeParams(p.paramScratch[:0], t.Params)
		if err != nil {
			p.tell(t, exec.Step{State: graph.Failed, Err: err})
			p.failTask(t, p.nodes[0], i, newFault(err, nil))
			return
		}
		if c, ok := t.Constraints().(*versions.Constraints); ok && c != nil {
			x.Constraints = encodeConstraints(c)
		}
		if p.paramScratch = b; string(b) != p.lastParams { // it often is that of the task before
			p.lastParams = string(b)
		}
		x.Params = p.lastParams
	}
	if len(p.batches[i].tasks) == 0 {
		p.toSend = append(p.toSend, i)
	}
	to := p.batches[i].add(x, t.Len())
	p.transfers = p.transfers[:0]
	for k := range t.Len() {
		o := t.Operand(k)
		e := p.data.Of(o.Datum)
		made.Uses = append(made.Uses, core.Use{Of: e, Version: e.Version, Mode: o.Mode})
		y := operand{Ref: e.Ref, Mode: o.Mode, Zero: e.Unwritten()}
		needs := o.Mode&graph.In != 0 && !e.Has(i)
		switch {
		case !sendable && p.homes[e] != nil:
			if y.home = p.homes[e]; needs {
				y.givers = p.sourcesFor(e, i, false)
			} else {
				y.From = p.nodeNames(e.Sources(nil))
			}
		case e.CopiedFrom != nil:
			if y.Copy = e.CopiedFrom; needs {
				y.givers = p.sourcesFor(e, i, false)
			} else {
				y.From = p.nodeNames(e.Sources(nil))
			}
		case needs:
			y.givers = p.sourcesFor(e, i, true)
			if len(y.From) > 0 {
				p.transfers = append(p.transfers, core.Transfer{Entry: e, From: p.indexNamed(y.From[0])})
			}
		}
		if !e.Has(i) || e.CopiedFrom != nil {
			y.Type, y.Shape = e.Kind, e.Shape
		}
		to.Operands = append(to.Operands, y)
	}
	if !sendable {
		made = nil
	}
	p.tellSent(t, p.nodes[i], p.sched, !sendable)
	t.SetState(graph.Running)
	p.lastAssigned = max(p.lastAssigned, t.ID())
	f := p.sched.Assign(t, i, p.transfers)
	f.Record, f.InPlace = made, !sendable
	p.nodes[i].sent++
}

// send has the tasks that a node was given sent, if there are any, with those that it gets
// until the message is made. The driver's own go the same way, so that nothing of them is executed
// under the lock. The caller holds mu.
func (p *placement) send(i int) {
	if b := &p.batches[i]; len(b.tasks) == 0 || b.pending {
		return
	}
	p.batches[i].pending = true
	work, number, epoch := p.work, p.number, p.nodes[i].epoch
	p.nodes[i].out.add(func() []byte {
		p.mu.Lock()
		if number != p.number || len(p.batches[i].tasks) == 0 { // all have ended meanwhile, or it is lost
			p.mu.Unlock()
			return nil
		}
		tasks, drops := p.batches[i].take(i > 0), p.directory.TakeStale(i)
		p.mu.Unlock()
		if i > 0 {
			return encode(kindRun, run{Job: number, Epoch: epoch, Trace: p.opt.Trace != nil, Story: p.stories != nil, Drops: drops, Tasks: tasks})
		}
		for _, r := range drops {
			work.store.drop(r)
		}
		work.run(tasks)
		return nil
	})
}

// failTask does what the policy of a task says that has failed on a node, for good: its
// retries were the node's. The caller holds mu.
func (p *placement) failTask(t *graph.Task, n *node, at int, why *fault) {
	err := why.err(n.name, p.known.errs)
	e := &exec.TaskError{Task: t.ID(), Op: t.Op.OpName(), Version: why.Version, Worker: why.Worker, Attempts: why.Attempts, Err: err}
	if n.index > 0 {
		e.Node = n.name
	}
	// A task that heeds the end of the context fails with it, as one that has not begun.
	end := p.ctx.Err()
	late := end != nil && (why.Text == end.Error() || why.Text == context.Cause(p.ctx).Error())
	p.applyFailure(t, at, e, late)
}

// applyFailure does what the policy of a task says that has failed; late says that it has heeded the
// end of the context. The caller holds mu.
func (p *placement) applyFailure(t *graph.Task, at int, e *exec.TaskError, late bool) {
	action := graph.Fail
	if f := t.Failure(); f != nil {
		action = f.Then
	}
	if action == graph.Ignore {
		p.outcome.Ignore()
		p.endTask(t, at, graph.Done, nil)
		return
	}
	if late {
		p.outcome.Abort(context.Cause(p.ctx))
	}
	p.endTask(t, at, graph.Failed, p.outcome.Fail(&graph.Fault{Task: t.ID(), Err: e}, late, action == graph.Fail))
}

// withdraw tells the policy that a node does not execute a task, if it came from there.
func (p *placement) withdraw(t *graph.Task, node int) {
	if p.sendable(t) {
		p.sched.Withdraw(node)
	}
}

// endTask takes a task out of the graph that a node has ended, or was about to be given, with the
// fault that those get who read what it was to write. The caller holds mu.
func (p *placement) endTask(t *graph.Task, node int, s graph.State, f *graph.Fault) {
	if !p.sendable(t) { // it did not come from the policy
		node = -1
	}
	for k := range t.Len() {
		p.release(p.data.Of(t.Operand(k).Datum))
	}
	if s != graph.Done && p.onNoResult != nil {
		p.onNoResult()
	}
	p.freed = p.graph.End(t, s, f, p.freed[:0])
	p.done++
	p.pushReady(p.freed, node)
}

// release notes that a task does not use a datum any more.
func (p *placement) release(e *core.Entry) {
	e.Users--
	p.dropUnused(e)
	if e.Users == 0 && p.onUnused != nil {
		p.onUnused(e)
	}
}

// dropUnused has copies of a datum dropped if no task will read it any more. The driver gets it then if
// it has nothing else to do, and also before that if it leaves little room where it is.
func (p *placement) dropUnused(e *core.Entry) {
	if e.Users > 0 || p.recovering {
		return
	}
	if p.sealed {
		p.sched.DropCopies(e)
	}
	if (p.sealed && p.opt.Idle || p.isTight(e)) && p.outcome.Why() == nil {
		p.fetchEarly(e)
	}
}

// putAsideLost puts a task aside until what it reads, and nobody has any more, has been made again.
// Meanwhile nothing is given: tasks that are under way may be writing what that needs. It
// reports false if the job is itself one that makes something again: it ends, for another
// one to begin anew. The caller holds mu.
func (p *placement) putAsideLost(t *graph.Task) bool {
	if p.recovering {
		p.outcome.Abort(p.whyLost(t))
		return false
	}
	p.tell(t, exec.Step{State: graph.Ready, Note: "put aside until what it reads, and was lost, has been made again"})
	p.sched.Paused, p.stuck = true, append(p.stuck, t)
	return true
}
