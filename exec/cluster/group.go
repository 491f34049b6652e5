package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/versions"
)

// withGroups lets a job have tasks of several ranks.
//
//	SubmitGroup ─► all ranks are ready ─► sendGroup: nodes fetch their operands ─► all have arrived ─► order: begin
//	                    ▲                     └─► one is ready again, or has failed ─► order: stop ─┐
//	                    └───────────────────────────────────────────────────────────────────────────┘
func withGroups(j *job) *job {
	j.groups.Busy = j.busy
	j.placeGroups = j.stepGroups
	return j
}

// SubmitGroup submits a task of several ranks to a job of a [Driver]: a spec for each rank, with the operands that
// this rank reads and writes. The ranks begin together, each on a node of its own that can execute its op, when the
// operands of all are there. Until then they hold no worker. Groups that are ready get nodes in the order of
// submission; a node executes one rank at a time, and other tasks beside it. While a node waits for the other ranks
// of its group it keeps a place for its own, and executes one task less.
//
// The call of a rank finds the others in versions.Call.Local, a *transport.Group; that of the spec is not used. A rank
// may finish with an operand before its end by versions.Call.Finished: then tasks that wait for that operand start at
// once. If a rank fails, the group fails with its error, and transport.Group.Failed of the other ranks is closed. If a
// node is lost with a rank that had begun, the group fails with a *[NodeLostError]. What a group has made is not made
// again: if it is lost with its node, the job fails with that error, too.
//
// Drivers that share agents do not know of each other's ranks. So only one of them may have groups at a time.
//
// The error is a *[GroupError] if the job is not a Driver's, there are no such nodes, or a spec is one that no rank
// can have: a rank is not retried and not ignored, its operands are In, Out or InOut and can be sent to other nodes,
// and no other rank uses what it writes. Other errors are those of exec.Job.Submit. Nothing was submitted then.
func SubmitGroup(in exec.Job, specs []graph.Spec) ([]graph.TaskID, error) {
	j, ok := in.(*job)
	if !ok {
		return nil, &GroupError{len(specs), "the job is not one of a cluster's driver"}
	}
	return j.submitGroup(specs)
}

// submitGroup is SubmitGroup.
func (j *job) submitGroup(specs []graph.Spec) (ids []graph.TaskID, err error) {
	if err := checkGroup(specs); err != nil {
		return nil, err
	}
	j.submit.Lock()
	defer j.submit.Unlock()
	for i := range specs {
		specs[i].Check()
	}
	if window := j.opt.Window; len(specs) > window {
		return nil, &GroupError{len(specs), fmt.Sprintf("a job has a window of %d tasks", window)}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.awaitWindow(); err != nil {
		return nil, err
	}
	var questions []core.Question
	for i := range specs {
		s := &specs[i]
		if err := j.admit(s); err != nil {
			return nil, err
		}
		for _, o := range s.Operands {
			if !j.data.Of(o.Datum).Sendable {
				return nil, &GroupError{len(specs), fmt.Sprintf("rank %d: no other node can have %v", i, o.Datum)}
			}
		}
		c, _ := s.Constraints.(*versions.Constraints)
		questions = append(questions, core.Question{Op: s.Op.(*versions.Op), Asks: c})
	}
	if !j.sched.HasNodesFor(questions) {
		return nil, j.tooFew(len(specs))
	}
	var tasks, ready []*graph.Task
	for i := range specs {
		t, now := j.add(&specs[i])
		if tasks, ids = append(tasks, t), append(ids, t.ID()); now {
			ready = append(ready, t)
		}
	}
	j.groups.Add(tasks)
	j.pushReady(ready, -1)
	j.place()
	return ids, nil
}

// checkGroup returns what no specs of a group can be.
func checkGroup(specs []graph.Spec) error {
	bad := func(format string, of ...any) error { return &GroupError{len(specs), fmt.Sprintf(format, of...)} }
	if len(specs) == 0 {
		return bad("it needs at least one")
	}
	writer := map[*graph.Datum]int{}
	for i := range specs {
		s := &specs[i]
		if op, ok := s.Op.(*versions.Op); !ok || op.Bound {
			return bad("rank %d: its op runs on the driver only", i)
		}
		if f := s.Failure; f != nil && (f.Retries > 0 || f.Then == graph.Ignore) {
			return bad("rank %d: it cannot be retried or ignored alone", i)
		}
		for _, o := range s.Operands {
			if o.Mode > graph.InOut {
				return bad("rank %d: %v is neither In, Out nor InOut", i, o.Datum)
			}
			if o.Mode&graph.Out != 0 {
				writer[o.Datum] = i
			}
		}
	}
	for i := range specs {
		for _, o := range specs[i].Operands {
			if w, ok := writer[o.Datum]; ok && w != i {
				return bad("rank %d uses %v, which rank %d writes", i, o.Datum, w)
			}
		}
	}
	return nil
}

// tooFew returns the error of a group for which there are too few nodes. The caller holds mu.
func (p *placement) tooFew(ranks int) error {
	there := 0
	for i := range p.nodes {
		if !p.sched.Absent(i) {
			there++
		}
	}
	return &GroupError{ranks, fmt.Sprintf("%d nodes are there, and too few of them can execute its ops", there)}
}

// stepGroups takes each group of the job a step further. The caller holds mu.
func (p *placement) stepGroups() {
	held := false // an earlier group waits for nodes
	for _, g := range slices.Clone(p.groups.Open) {
		switch {
		case g.Torn() || !g.Begun && g.Away() > 0 && p.barred(g):
			p.callBack(g)
		case g.Gathered() && !g.Called:
			g.Begun = true
			for node, id := range g.There {
				p.sendOrder(node, id, true)
			}
		case !g.Complete():
		case g.Fault != nil || p.barred(g):
			p.cancelGroup(g)
		case !p.sched.Paused && !held && !p.sendGroup(g):
			held = true
			p.starving[p] = p.place // another job's ranks may be on the nodes
		}
	}
}

// barred reports whether a rank must not start.
func (p *placement) barred(g *core.Group) bool {
	return slices.ContainsFunc(g.Tasks(), func(t *graph.Task) bool {
		return t.Tainted() != nil || !p.outcome.GoesOn(t.ID())
	})
}

// callBack has the ranks of a group that are on nodes come back, or end if they have begun.
func (p *placement) callBack(g *core.Group) {
	if g.Called {
		return
	}
	g.Called = true
	for node, id := range g.There {
		p.sendOrder(node, id, false)
	}
}

// cancelGroup cancels the ranks of a group, all of which are ready or have ended.
func (p *placement) cancelGroup(g *core.Group) {
	f := g.Fault
	tasks := g.Tasks()
	for _, t := range tasks {
		if f == nil {
			f = p.outcome.Bars(t)
		}
	}
	for _, t := range tasks {
		p.tell(t, exec.Step{State: graph.Cancelled, Err: f.Err})
		p.endTask(t, -1, graph.Cancelled, f)
	}
}

// sendGroup sends the ranks of a group to nodes. It reports whether there were nodes for them. A group for which there
// can be none fails.
func (p *placement) sendGroup(g *core.Group) bool {
	tasks := g.Tasks()
	free := func(node int) bool { return !p.busy[node] }
	g.Nodes = p.sched.NodesFor(tasks, free, true)
	if g.Nodes == nil {
		return p.failStarved(g, tasks)
	}
	g.Called, g.Number = false, rand.Uint64()|1
	for i, t := range tasks {
		p.groups.Aside(g, i)
		if p.assign(t, g.Nodes[i]); p.sched.InFlight.Of(uint64(t.ID())) == nil {
			p.groups.News = true // what was put aside comes again, and the others are called back meanwhile
			break
		}
		p.groups.Sent(g, i)
	}
	return true
}

// failStarved fails a group that can never get nodes, and reports whether it did.
func (p *placement) failStarved(g *core.Group, tasks []*graph.Task) bool {
	all := func(int) bool { return true }
	t := tasks[0]
	var err error
	switch {
	case p.sched.NodesFor(tasks, all, false) == nil:
		err = p.tooFew(len(tasks))
	case p.sched.InFlight.N > 0 || p.sched.Queued() > 0 || p.fetchesHome > 0 || len(p.busy) > 0 || p.roomMayCome():
		return false
	default:
		for _, x := range tasks { // one that alone has no room, if there is one
			if p.sched.NodesFor([]*graph.Task{x}, all, true) == nil {
				t = x
				break
			}
		}
		err = p.memoryError(&p.sched.NodeTable, t.Op.OpName(), core.Uses(t, p.data), p.sched.Fit.Ask(t))
	}
	p.tell(t, exec.Step{State: graph.Failed, Err: err})
	p.applyFailure(t, -1, &exec.TaskError{Task: t.ID(), Op: t.Op.OpName(), Worker: -1, Err: err}, false)
	return true
}

// sendOrder tells a node what a rank is to do. The message follows that with the rank. The caller holds mu.
func (p *placement) sendOrder(node int, id graph.TaskID, begin bool) {
	p.send(node)
	work, o := p.work, order{Job: p.number, Task: uint64(id), Begin: begin}
	p.nodes[node].out.add(func() []byte {
		if node > 0 {
			return encode(kindOrder, o)
		}
		work.executor.obey(o)
		return nil
	})
}
