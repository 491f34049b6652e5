package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// placement says where the tasks of a job are: in the graph, with the policy, on their way to a node, or on the
// node.
//
//	Submit ─► graph ─► pushReady ─► scheduler ─► place ─► assign ─► batch of a node ─► send
//	            ▲                                                                       │
//	            └── endTask ◄── onEnded, failTask, loseNode (completion.go) ◄───────────┘
//
// One lock guards all of it. Submit adds tasks to the graph. A report of ended tasks removes them, hands the
// tasks that have become ready to the policy, and gives new tasks to nodes with free slots. A message is made
// under the lock when it is sent, so it contains all tasks that the node has been given until then.
//
// Node i of the job is location i and worker i of the policy. Nodes get only tasks that are ready. So a node
// waits only for values that exist, and never for a task of another node.
type placement struct {
	catalog
	ctx     context.Context
	outcome graph.Outcome

	mu            *sync.Mutex // fleet.placing, which guards what follows; the locks of outboxes are taken under it
	news          sync.Cond   // a task has ended
	graph         graph.Graph
	sched         *core.Scheduler
	batches       []batch         // by node: tasks to be sent
	toSend        []int           // nodes whose batch has grown since the last place
	lastParams    string          // encoded parameter of the last assigned task
	paramScratch  []byte          // memory for the next one
	transfers     []core.Transfer // scratch of assign
	freed         []*graph.Task   // scratch of endTask
	failedFetches int             // how often holders could not give a value
	recoveryDelay time.Duration   // pause before the next recovery, after failed fetches
	maxMemory     int64           // the largest cap on memory of all nodes; 0: a node has no cap
	count         int             // tasks that were submitted
	done          int             // of these, tasks that have ended
	past          int             // of these, tasks before the last Wait
	fetchesHome   int             // fetches of values that watches or replicas wait for

	traced     uint64            // number of the job in Options.Trace
	order      uint64            // number of the job among the driver's
	stuck      []*graph.Task     // tasks that read lost data, while the scheduler is paused for a recovery
	recover    func()            // computes lost data again, on a goroutine of its own; nil while it does
	sealed     bool              // the program is in Wait and submits nothing
	recovering bool              // the job itself computes lost data again
	delegated  bool              // the tasks are another driver's, and came to this node: see delegation
	onUnused   func(*core.Entry) // called for a datum that no task uses any more; may be nil

	groups      core.Groups // tasks of several ranks
	placeGroups func()      // takes groups a step further (group.go)

	// Hooks of replication.go, nil if nodes take no replicas of the job's data.
	onEnds       func()                         // nodes have ended some tasks
	onWritten    func(*graph.Task, *core.Entry) // a task has made a version
	holdBack     func(t *graph.Task) bool       // puts aside a task that would overwrite a version before it is copied
	onNoResult   func()                         // a task has ended without results
	rounds       core.Rounds
	lastAssigned graph.TaskID // the highest number of a task that was assigned

	telling
}

// settler is the witness of a task that another driver gave to this node, and this node to those below.
type settler interface {
	// noteBelow notes what a node below reports of the end of the task.
	noteBelow(of *end)
	// settle ends the task. done says that a node below has executed it.
	settle(done bool)
}

// pushReady hands ready tasks to the scheduler, and ends the watches among them. from is the node where the end
// of a task made them ready, −1 if there is none. pushReady overwrites the slice tasks. The caller holds mu.
func (p *placement) pushReady(tasks []*graph.Task, from int) {
	ready := tasks[:0]
	for _, t := range tasks {
		p.fleet.record.ready(t)
		if w := t.Watch(); w != nil {
			p.endWatch(t, w)
			continue
		}
		p.tell(t, exec.Step{State: graph.Ready})
		if p.groups.Ready(t) {
			continue
		}
		ready = append(ready, t)
	}
	p.sched.Push(ready, from)
}

// endWatch brings a watched datum into the memory of the program, notifies the watcher, and ends watch t. The
// next writer of the datum waits for the end of t. The caller holds mu.
func (p *placement) endWatch(t *graph.Task, w *graph.Watch) {
	e := p.data.Of(t.Operand(0).Datum)
	f := t.Tainted()
	if f == nil && e.Lost() {
		if !p.outcome.Cancelled() && p.putAsideLost(t) { // otherwise the job has failed, perhaps in this recovery
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
	if f != nil || h == nil { // kept data stay on their nodes
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
			e.Home.Present = e.Home.Present && !e.Base.Present // without a base, home still is what it was
			p.fetchFailed(e, 0, missingFrom(e.Ref, err), err)
			p.endWatch(t, w)
			p.place() // which begins a recovery if the datum is lost and no task is in flight
		}()
	}))
}

// place assigns tasks while nodes have free slots, and wakes goroutines that wait for news. The
// caller holds mu.
func (p *placement) place() {
	p.retryAside()
	if len(p.directory.Paths.Cut) > 0 {
		p.directory.Paths.Begin(time.Now())
	}
	for again := true; again; again = p.groups.News {
		if p.groups.News = false; len(p.groups.Open) > 0 {
			p.placeGroups()
		}
		for p.assignAll(); p.failMisfits() || !p.sched.Paused && p.fetchesHome == 0 && p.squeeze(); {
			p.assignAll()
		}
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

// assignAll assigns what the scheduler picks. The caller holds mu.
func (p *placement) assignAll() {
	for t, i := range p.sched.Picks() {
		p.assign(t, i)
	}
}

// failMisfits fails the tasks that no node can execute any more, and reports whether there were
// any. The caller holds mu.
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

// squeeze handles the case that all tasks that could start wait for memory, and no task is in flight. It
// assigns a task to a node that has room; or it makes the driver fetch data of the program, also for other
// jobs; or it fails the job. It reports whether more tasks can be assigned.
func (p *placement) squeeze() bool {
	t, i := p.sched.Squeeze()
	if t == nil {
		return false
	}
	if i >= 0 {
		p.assign(t, i)
		return true
	}
	if p.roomMayCome() {
		return false
	}
	p.outcome.Abort(p.memoryError(&p.sched.NodeTable, t.Op.OpName(), core.Uses(t, p.data), p.sched.Fit.Ask(t)))
	return true // which cancels all tasks
}

// roomMayCome reports whether nodes will have more free memory, though no task of the job is in flight: then the job
// tries again. It makes the driver fetch data of the program, also for other jobs.
func (p *placement) roomMayCome() bool {
	for k, n := range p.nodes {
		if !p.sched.Absent(k) && (n.memory.HasPinned() || n.memory.PendingForgets > 0) {
			p.starving[p] = p.place
			return true
		}
	}
	eased := p.fetchAllEarly(p.sched.WrittenOn(0)) // true of a recovery, too
	for x := range p.jobData {                     // by job
		q := x.(*placement)
		eased = q.fetchAllEarly(q.sched.WrittenOn(0)) || eased || q.sched.Paused && !p.recovering // a recovery drops much at its end
	}
	if eased {
		p.starving[p] = p.place
	}
	return eased
}

// assign gives a task to a node, or cancels it. The message for the node says which version of each
// operand the task reads, and from which nodes the version can be fetched, as far as the directory knows
// now. The caller holds mu.
func (p *placement) assign(t *graph.Task, node int) {
	if f := p.outcome.Bars(t); f != nil {
		p.tell(t, exec.Step{State: graph.Cancelled, Err: f.Err})
		p.endTask(t, node, graph.Cancelled, f)
		return
	}
	if p.holdBack != nil && p.holdBack(t) {
		p.withdraw(t, node)
		return
	}
	if p.sched.ReadsLost(t) {
		if p.putAsideLost(t) {
			p.withdraw(t, node)
		} else {
			p.endTask(t, node, graph.Cancelled, p.outcome.Why())
		}
		return
	}
	if p.blocked(t, node) {
		return
	}
	sent, err := p.newTask(t, node)
	if err != nil {
		p.tell(t, exec.Step{State: graph.Failed, Err: err})
		p.failTask(t, p.nodes[0], node, newFault(err, nil))
		return
	}
	if len(p.batches[node].tasks) == 0 {
		p.toSend = append(p.toSend, node)
	}
	sendable, made := p.sendable(t), core.RecordOf(p.order, t)
	sent.Retries, sent.Timeout = made.Retries, made.Timeout
	queued := p.batches[node].add(sent, t.Len())
	p.transfers = p.transfers[:0]
	for k := range t.Len() {
		operand := t.Operand(k)
		e := p.data.Of(operand.Datum)
		made.Uses = append(made.Uses, core.Use{Of: e, Version: e.Version, Mode: operand.Mode})
		queued.Operands = append(queued.Operands, p.newOperand(e, operand.Mode, node, sendable))
	}
	if !sendable || p.delegated || sent.Group != nil { // results of delegated tasks come to this node
		made = nil
	}
	p.tellSent(t, p.nodes[node], p.sched, !sendable)
	t.SetState(graph.Running)
	p.lastAssigned = max(p.lastAssigned, t.ID())
	f := p.sched.Assign(t, node, p.transfers)
	f.Record, f.InPlace, f.Grouped = made, !sendable, sent.Group != nil
	p.nodes[node].sent++
}

// newTask returns a task for a node, without operands. The error says that its parameter cannot be
// sent. The caller holds mu.
func (p *placement) newTask(t *graph.Task, node int) (x task, err error) {
	x = task{ID: uint64(t.ID()), Op: t.Op.OpName(), Priority: t.Priority}
	if g, rank := p.groups.Of(t); g != nil {
		x.Group = &transport.Group{Number: g.Number, Nodes: p.nodeNames(g.Nodes), Rank: rank}
	}
	if node == 0 {
		x.spec = &graph.Spec{Op: t.Op, Params: t.Params, Local: t.Local(), Constraints: t.Constraints()}
		return x, nil
	}
	b, err := versions.EncodeParams(p.paramScratch[:0], t.Params)
	if err != nil {
		return x, err
	}
	if c, ok := t.Constraints().(*versions.Constraints); ok && c != nil {
		x.Constraints = encodeConstraints(c)
	}
	if p.paramScratch = b; string(b) != p.lastParams { // it often equals that of the previous task
		p.lastParams = string(b)
	}
	x.Params = p.lastParams
	return x, nil
}

// newOperand returns an operand for a node, with the nodes from which it can be fetched, and notes its
// transfer. If the task cannot be sent, data of the program are used in the memory of the program. The caller
// holds mu.
func (p *placement) newOperand(e *core.Entry, mode graph.Mode, node int, sendable bool) operand {
	y := operand{Ref: e.Ref, Mode: mode, Zero: e.Unwritten()}
	if !sendable {
		y.home = p.homes[e]
	}
	if y.home == nil {
		y.Copy = e.CopiedFrom
	}
	switch {
	case mode&graph.In != 0 && !e.Has(node):
		spreads := y.home == nil && y.Copy == nil
		y.givers = p.sourcesFor(e, node, spreads)
		if spreads && len(y.From) > 0 {
			p.transfers = append(p.transfers, core.Transfer{Entry: e, From: p.indexNamed(y.From[0])})
		}
	case y.home != nil || y.Copy != nil:
		y.From = p.nodeNames(e.Sources(nil))
	}
	if !e.Has(node) || e.CopiedFrom != nil {
		y.Type, y.Shape = e.Kind, e.Shape
	}
	return y
}

// send queues a message with the batch of a node, if it is not empty and none is queued. The batch
// may grow until the message is made. The driver's own batch goes through its outbox, too, so that
// no task runs under the lock. The caller holds mu.
func (p *placement) send(i int) {
	if b := &p.batches[i]; len(b.tasks) == 0 || b.pending {
		return
	}
	p.batches[i].pending = true
	work, number, epoch := p.work, p.number, p.nodes[i].epoch
	p.nodes[i].out.add(func() []byte {
		p.mu.Lock()
		if number != p.number || len(p.batches[i].tasks) == 0 { // the job has ended, or the node is lost
			p.mu.Unlock()
			return nil
		}
		tasks, drops := p.batches[i].take(i > 0), p.directory.TakeStale(i)
		p.mu.Unlock()
		if i > 0 {
			return encode(kindRun, run{
				Job: number, Epoch: epoch, Drops: drops, Tasks: tasks,
				Trace: p.opt.Trace != nil, Story: p.stories != nil,
			})
		}
		for _, r := range drops {
			work.store.drop(r)
		}
		work.run(tasks)
		return nil
	})
}

// failTask applies the failure policy to a task that has failed on a node after all its retries. The caller
// holds mu.
func (p *placement) failTask(t *graph.Task, n *node, at int, why *fault) {
	err := why.err(n.name, p.known.errs)
	e := &exec.TaskError{
		Task: t.ID(), Op: t.Op.OpName(), Version: why.Version,
		Worker: why.Worker, Attempts: why.Attempts, Err: err,
	}
	if n.index > 0 {
		e.Node = n.name
	}
	// A task that returns the error of the ended context counts as cancelled with it.
	end := p.ctx.Err()
	late := end != nil && (why.Text == end.Error() || why.Text == context.Cause(p.ctx).Error())
	p.applyFailure(t, at, e, late)
}

// applyFailure applies the failure policy to a failed task. late says that the task failed because the context
// of the job has ended. The caller holds mu.
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

// withdraw tells the policy that a node does not execute a task, if the task came from the policy.
func (p *placement) withdraw(t *graph.Task, node int) {
	if p.fromPolicy(t) {
		p.sched.Withdraw(node)
	}
}

// fromPolicy reports whether a task has come from the policy.
func (p *placement) fromPolicy(t *graph.Task) bool {
	g, _ := p.groups.Of(t)
	return g == nil && p.sendable(t)
}

// endTask removes a task from the graph. A node has ended the task, or was about to get it. If there is a
// fault, the readers of its results inherit the fault. The caller holds mu.
func (p *placement) endTask(t *graph.Task, node int, s graph.State, f *graph.Fault) {
	if !p.fromPolicy(t) {
		node = -1
	}
	p.groups.End(t, f)
	for k := range t.Len() {
		p.release(p.data.Of(t.Operand(k).Datum))
	}
	if s != graph.Done && p.onNoResult != nil {
		p.onNoResult()
	}
	if e, ok := t.Witness().(settler); ok {
		go e.settle(s == graph.Done)
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

// dropUnused drops the copies of a datum that no task will read. It starts fetching the datum to
// the driver if the driver is otherwise idle, or if its node has little memory left.
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

// putAsideLost puts a task aside until the lost data that it reads have been computed again. Meanwhile no task
// is assigned, and the recovery waits for the tasks in flight, which may be writing data that it needs.
// putAsideLost returns false if the job is itself a recovery: that recovery then fails, and another one
// begins. The caller holds mu.
func (p *placement) putAsideLost(t *graph.Task) bool {
	if p.recovering {
		p.outcome.Abort(p.whyLost(t))
		return false
	}
	p.tell(t, exec.Step{State: graph.Ready, Note: "put aside until what it reads, and was lost, has been made again"})
	p.sched.Paused, p.stuck = true, append(p.stuck, t)
	return true
}
