package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// A node reports what becomes of a task; the loss of the node is the last possibility:
//
//	it has finished with an operand      onReleased
//	it has ended or failed               onEnded
//	it goes back and has not begun       onEnded; sendRecall asks for it
//	an operand could not be fetched      returnLacking
//	the node is lost                     loseNode

// onEnded acts on a node's report about tasks. Reports of nodes that were given up have no effect.
func (p *placement) onEnded(n *node, m ended) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addUsage(n, &m, p.titles)
	at := p.index(n)
	if at < 0 || p.number == 0 {
		return
	}
	for _, flow := range m.Flows {
		if from := p.indexNamed(flow.From); from >= 0 {
			if flow.Values > 0 { // otherwise they were only awaited
				p.noteSuccess(at, from)
			}
			p.sched.Learned.LearnTransfer(from, at, flow.Values, flow.Bytes, flow.Took)
		}
	}
	ends, width := 0, 0
	for _, e := range m.Ends {
		if len(e.Released) > 0 {
			p.onReleased(n, at, &e)
			continue
		}
		if e.Arrived > 0 {
			p.groups.Arrived(graph.TaskID(e.ID), e.Arrived)
			continue
		}
		if e.Returned && e.ID == 0 {
			p.sched.EndRecall(at)
			continue
		}
		if p.endRelayTask(at, &e) {
			continue
		}
		ends++
		flight := p.sched.Unassign(at, graph.TaskID(e.ID))
		if flight == nil {
			continue
		}
		width += flight.Width
		switch {
		case e.Returned:
			p.takeBack(flight, n)
		case len(e.Missing) > 0:
			p.returnLacking(flight.Task, at, e)
		default:
			p.finish(flight, n, &e)
			p.sched.Recycle(flight)
		}
	}
	p.sched.NoteEnded(at, ends, width, time.Now())
	if p.onEnds != nil {
		p.onEnds()
	}
	p.place()
	p.retryStarving(p)
	for _, recall := range p.sched.Reclaim() {
		p.sendRecall(recall)
	}
}

// takeBack handles a task that a node gives back, for another node or as a ready task.
func (p *placement) takeBack(f *core.Flight, n *node) {
	f.Task.SetState(graph.Ready)
	var to *node
	if x := &p.sched.Nodes[f.Node]; x.RecallWorkers > 0 {
		to = p.nodes[x.RecallFor]
	}
	p.tellBack(f.Task, n, to)
	if g, _ := p.groups.Of(f.Task); g != nil {
		p.sched.NoteReturned(f)
		p.pushReady([]*graph.Task{f.Task}, -1)
		return
	}
	if !p.sched.TakeBack(f) {
		p.pushReady([]*graph.Task{f.Task}, -1)
	}
}

// finish handles a task that has ended on a node, or failed there.
func (p *placement) finish(f *core.Flight, n *node, e *end) {
	n.ended++
	p.tasksSinceRound++
	p.tellEnd(f.Task, &p.catalog, n, e)
	p.sched.NoteResults(f, e.Fault != nil)
	for k := range f.Task.Len() {
		p.noteWritten(f, k)
	}
	f.Task.Used(f.Node, 0)
	p.fleet.record.ended(n.traceRows(), p.traced, f.Task, e)
	if x, ok := f.Task.Witness().(settler); ok {
		x.noteBelow(e)
	}
	if g, _ := p.groups.Of(f.Task); g != nil && g.Fault != nil { // the failure of a rank is that of all
		p.endTask(f.Task, f.Node, graph.Cancelled, g.Fault)
		return
	}
	if e.Fault != nil {
		p.failTask(f.Task, n, f.Node, e.Fault)
		return
	}
	p.sched.NoteRun(f, e.Took)
	if name := f.Task.Op.OpName(); name != core.OpNone { // otherwise it only copied
		n.addRun(name, e)
	}
	p.endTask(f.Task, f.Node, graph.Done, nil)
}

// sendRecall asks a node to give back tasks. The caller holds mu.
func (p *placement) sendRecall(r core.Recall) {
	work, number := p.work, p.number
	p.nodes[r.From].out.add(func() []byte {
		if r.From > 0 {
			return encode(kindRecall, recall{Job: number, Tasks: r.Tasks, Count: r.Count})
		}
		work.giveBack(r.Tasks, r.Count)
		return nil
	})
}

// returnLacking makes a task ready again that a node could not begin because an operand could not
// be fetched.
func (p *placement) returnLacking(t *graph.Task, node int, e end) {
	for i := range t.Len() {
		o := t.Operand(i)
		x := p.data.Of(o.Datum)
		k := slices.IndexFunc(e.Missing, func(m missing) bool { return m.Ref == x.Ref })
		if o.Mode&graph.In != 0 && k >= 0 && core.FirstUse(t, i) == i {
			p.tell(t, exec.Step{
				State: graph.Ready, Note: "it could not get " + x.Title(), Node: p.nodes[node].name, Err: errors.New(e.Why),
			})
			p.fetchFailed(x, node, e.Missing[k], errors.New(e.Why))
		}
	}
	t.SetState(graph.Ready)
	p.withdraw(t, node)
	p.pushReady([]*graph.Task{t}, -1)
}

// noteWritten notes that a task has written operand k, unless that was noted when the operand was
// released.
func (p *placement) noteWritten(f *core.Flight, k int) {
	o := f.Task.Operand(k)
	if o.Mode&graph.Out == 0 || f.Task.Given(k) || !core.IsFirstWrite(f.Task, k) {
		return
	}
	x := p.data.Of(o.Datum)
	if f.InPlace && p.homes[x] != nil {
		x.NoteHome(p.hasAgents && x.Home.Version != x.Version-1) // otherwise it wrote in place
	}
	if p.onWritten != nil {
		p.onWritten(f.Task, x)
	}
}

// onReleased notes that a running task has finished with some operands. The caller holds mu.
func (p *placement) onReleased(n *node, at int, m *end) {
	f := p.sched.InFlight.Of(uint64(m.ID))
	if f == nil || f.Node != at {
		return
	}
	for _, k := range m.Released {
		if k < 0 || k >= f.Task.Len() || f.Task.Given(k) {
			p.opt.Log.Warn("message refused", "from", n.name,
				"error", fmt.Sprintf("task %d has finished with operand %d", m.ID, k))
			continue
		}
		k = core.FirstUse(f.Task, k)
		p.tell(f.Task, exec.Step{
			State: graph.Running, Note: "it has finished with " + f.Task.Operand(k).Datum.String(), Node: n.name,
		})
		p.sched.ReleaseEarly(f, k)
		p.noteWritten(f, k)
		p.pushReady(p.graph.Give(f.Task, k, nil), at)
	}
}

// loseNode gives the tasks of a lost node to others. Data that only it had are computed again when
// a task needs them.
func (p *placement) loseNode(n *node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.index(n)
	if i < 0 || p.number == 0 || p.sched.Absent(i) {
		return
	}
	p.batches[i] = batch{}
	tasks, ended := p.sched.RemoveNode(i)
	for _, f := range ended {
		if p.loseRank(f.Task, n) {
			continue
		}
		p.tell(f.Task, exec.Step{
			State: graph.Ready, Node: n.name,
			Note: "lost with its node, after it had handed on some operands: the others are made again",
		})
		for k := range f.Task.Len() {
			p.noteWritten(f, k)
		}
		p.endTask(f.Task, -1, graph.Done, nil)
	}
	tasks = slices.DeleteFunc(tasks, func(t *graph.Task) bool { return p.loseRank(t, n) })
	for _, t := range tasks {
		p.tell(t, exec.Step{State: graph.Ready, Note: "lost with its node", Node: n.name})
		t.SetState(graph.Ready)
	}
	p.loseRelays(i)
	p.pushReady(tasks, -1)
	p.place()
	p.news.Broadcast()
}

// loseRank fails a task that was lost with its node, if it is a rank of a group that has begun, and reports whether
// it is.
func (p *placement) loseRank(t *graph.Task, n *node) bool {
	g, _ := p.groups.Of(t)
	if g == nil || !g.Begun {
		return false
	}
	err := &NodeLostError{Node: n.name}
	p.tell(t, exec.Step{State: graph.Failed, Err: err, Node: n.name})
	if g.Fault != nil {
		p.endTask(t, -1, graph.Cancelled, g.Fault)
		return true
	}
	p.applyFailure(t, -1, &exec.TaskError{Task: t.ID(), Op: t.Op.OpName(), Node: n.name, Worker: -1, Err: err}, false)
	return true
}
