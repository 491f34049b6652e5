package cluster

import (
	"errors"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// withReplication has nodes keep second copies of what a job makes.
//
//	ends of tasks ─► due? ─► a cut: the last task to have been given to a node
//	  for each datum, the version that the tasks up to the cut leave:
//	    it is there     ─► take it ─► its copies are there ─► secure
//	    it is to come   ─► made ─► take it …
//	  a task behind the cut that would write over it ─► held until then
//
// No task up to the cut waits for one behind it, so each of these versions comes.
func withReplication(j *job) *job {
	if !j.opt.Copies.Off {
		j.onEnds, j.onWritten, j.holdBack, j.onNoResult = j.startRound, j.copyWritten, j.holdForCopy, j.failRound
	}
	return j
}

// checkInterval is the least time between two looks at whether a round is due.
const checkInterval = 20 * time.Millisecond

// startRound begins a round, if one is due, when nodes have ended some tasks. The caller holds mu.
func (j *job) startRound() {
	r := &j.rounds
	now := time.Now()
	many := j.opt.Copies.Records > 0 && j.tasksSinceRound >= j.opt.Copies.Records/2 || j.replicasLost
	if !j.hasAgents || r.Current != nil || !many && now.Sub(r.LastCheck) < checkInterval {
		return
	}
	r.LastCheck = now
	copies := core.Copies(j.opt.Copies)
	nodes := copies.NodesDue(j.effort(now))
	if nodes == 0 {
		return
	}
	j.workSinceRound, j.lastRound, j.replicasLost = 0, now, false
	if j.recordsOverdue = nodes > 1; j.recordsOverdue { // others free no records
		j.tasksSinceRound = 0
	}
	r.Current = &core.Round{Nodes: nodes, Cut: j.lastAssigned, Pending: map[*core.Entry]*core.PendingCopy{}}
	for e := range j.entries {
		if j.known.canSend(e.Kind) {
			r.Current.Pending[e] = &core.PendingCopy{Version: e.Version + r.WritesUpTo(e, r.Current.Cut)}
		}
	}
	for e := range j.entries {
		j.copyIfDue(e)
	}
	j.endRoundIfDone()
}

// effort returns what a round would be weighed by.
func (j *job) effort(now time.Time) core.Effort {
	x := core.Effort{Tasks: j.tasksSinceRound, Overdue: j.recordsOverdue, Capped: true, Exposed: j.workSinceRound + j.exposedTime(j.began, now)}
	if j.replicasLost {
		x.Tasks = 1 << 30
	}
	for i, n := range j.nodes {
		if i > 0 && !j.sched.Absent(i) {
			x.Agents++
			x.Capped = x.Capped && n.memory.Cap > 0
		}
	}
	x.Bytes = func() (bytes int64) {
		for e := range j.entries {
			bytes += e.Label.Bytes
		}
		return bytes
	}
	return x
}

// copyWritten takes note of a version that a task has made. The caller holds mu.
func (j *job) copyWritten(t *graph.Task, e *core.Entry) {
	j.rounds.NoteWritten(t, e)
	j.copyIfDue(e)
}

// copyIfDue has a version of a datum copied, if it is there and the round waits for it. The
// caller holds mu.
func (j *job) copyIfDue(e *core.Entry) {
	r := j.rounds.Current
	if r == nil {
		return
	}
	switch d := r.Pending[e]; {
	case d == nil || d.Version > e.Version || d.Started:
	case d.Version < e.Version || e.Lost(): // a task that has failed may have been one too many
		j.failRound()
	case e.Unwritten() || e.IsReplicated(r.Nodes) || !j.startCopies(e, d):
		j.pushHeld(e)
	}
}

// holdForCopy holds a task that would write over what is to be copied first, and reports whether
// it does. The caller holds mu.
func (j *job) holdForCopy(t *graph.Task) bool {
	r := j.rounds.Current
	if r == nil || t.ID() <= r.Cut {
		return false
	}
	for k := range t.Len() {
		o := t.Operand(k)
		if d := r.Pending[j.data.Of(o.Datum)]; d != nil && o.Mode&graph.Out != 0 {
			d.Held = append(d.Held, t)
			j.tell(t, exec.Step{State: graph.Ready, Note: "held until a second copy has been taken of " + o.Datum.String()})
			return true
		}
	}
	return false
}

// pushHeld has tasks write over a datum that the round has done with.
func (j *job) pushHeld(e *core.Entry) {
	r := j.rounds.Current
	d := r.Pending[e]
	if d == nil {
		return
	}
	delete(r.Pending, e)
	j.pushReady(d.Held, -1)
	j.endRoundIfDone()
}

// failRound ends a round that cannot become whole. The caller holds mu.
func (j *job) failRound() {
	r := j.rounds.Current
	if r == nil {
		return
	}
	r.Failed = r.Nodes > 1
	for e, d := range r.Pending {
		if !d.Started {
			j.pushHeld(e)
		}
	}
}

// startCopies has nodes take copies of the latest version of a datum, and reports false if that
// cannot be.
func (j *job) startCopies(e *core.Entry, d *core.PendingCopy) bool {
	r := j.rounds.Current
	nodes := j.replicaNodes(e, r.Nodes)
	if len(nodes) < r.Nodes || r.Failed {
		r.Failed = r.Nodes > 1
		return false
	}
	set := e.Set
	if set == 0 {
		set = j.number
	}
	d.Started = true
	c := &core.Copying{TakenCopy: core.TakenCopy{Of: e, Replica: core.Replica{Entry: e.NewReplica(j.newName(set)), Version: e.Version}}, Open: len(nodes), Nodes: map[uint64]core.Taker{}}
	e.Users++ // so that holders keep it
	j.fetchesHome++
	if j.rounds.Copying == nil {
		j.rounds.Copying = map[uint64]*core.Copying{}
	}
	name := e.HeldAs()
	for _, n := range nodes {
		j.rounds.LastID++
		id := firstCopy | j.rounds.LastID
		x := core.Taker{Node: n.index, Uses: []*core.Entry{c.Entry}}
		if e.Has(n.index) {
			x.Uses = append(x.Uses, e)
		}
		n.memory.Pin(x.Uses)
		j.rounds.Copying[id], c.Nodes[id] = c, x
		t := j.batches[n.index].add(task{ID: id, Op: core.OpNone}, 1)
		from := e.Sources(func(h int) bool { return h == n.index || j.directory.Paths.IsOpen(n.index, h) })
		t.Operands = append(t.Operands, operand{Ref: c.Entry.Ref, Mode: graph.In, givers: givers{From: j.nodeNames(from)}, Type: e.Kind, Shape: e.Shape, Copy: &name})
		j.send(n.index)
	}
	return true
}

// firstCopy is the number of the first task that takes a copy: above those of programs.
const firstCopy = 1 << 63

// replicaNodes returns the nodes that are to have copies of a datum: of one, another one than that
// which has it, and of two, that one as well. They take turns.
func (j *job) replicaNodes(e *core.Entry, nodes int) (all []*node) {
	fits := func(i int) bool {
		return i > 0 && !j.sched.Absent(i) && j.sched.CanReach(e, i) && j.nodes[i].memory.HasRoomFor(e.Label.Bytes) && !slices.Contains(all, j.nodes[i])
	}
	first := e.Holders[0]
	if nodes > 1 && fits(first) {
		all = append(all, j.nodes[first])
	}
	for range j.nodes {
		if len(all) == nodes {
			break
		}
		j.rounds.LastNode++
		if i := j.rounds.LastNode % len(j.nodes); i != first && fits(i) {
			all = append(all, j.nodes[i])
		}
	}
	return all
}

// takeCopyEnds takes the ends of tasks that take copies, and returns those of others.
func (j *job) takeCopyEnds(n *node, ends []end) []end {
	copies := func(e end) bool { return e.ID >= firstCopy && e.ID < firstRelay }
	if !slices.ContainsFunc(ends, copies) {
		return ends
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range ends {
		if c := j.rounds.Copying[e.ID]; copies(e) && c != nil && c.Nodes[e.ID].Node == n.index {
			for _, m := range e.Missing {
				j.noteFailures(c.Of, n.index, m.Unreachable, errors.New(e.Why))
			}
			j.endCopy(c, e.ID, e.Fault == nil && len(e.Missing) == 0)
		}
	}
	j.place()
	j.retryStarving(&j.placement)
	return slices.DeleteFunc(ends, copies)
}

// loseCopies sees to copies that a lost node was to take, or to give.
func (j *job) loseCopies(n *node) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.replicasLost = j.replicasLost || j.recordsOverdue // some are on one node only now
	for id, c := range j.rounds.Copying {
		if c.Nodes[id].Node == n.index {
			j.endCopy(c, id, false)
		}
	}
	j.failRound()
	if j.number != 0 {
		j.place()
	}
}

// endCopy notes that a node has taken a copy, or not.
func (j *job) endCopy(c *core.Copying, id uint64, well bool) {
	r, x := j.rounds.Current, c.Nodes[id]
	delete(j.rounds.Copying, id)
	j.nodes[x.Node].memory.Unpin(x.Uses)
	c.Entry.Holders = append(c.Entry.Holders, x.Node)
	c.Failed = c.Failed || !well
	if c.Open--; c.Open > 0 {
		return
	}
	switch {
	case c.Failed || r.Failed:
		r.Failed = r.Failed || r.Nodes > 1
		j.sched.Discard(c.Entry)
	case r.Nodes > 1:
		r.Taken = append(r.Taken, c.TakenCopy)
	default:
		j.setReplica(c.TakenCopy)
	}
	j.fetchesHome--
	c.Of.Users--
	j.dropUnused(c.Of)
	j.pushHeld(c.Of)
	j.news.Broadcast()
}

// endRoundIfDone ends the round if it has done with all data. If it is whole, nothing is made again
// from before it.
func (j *job) endRoundIfDone() {
	r := j.rounds.Current
	if r == nil || len(r.Pending) > 0 {
		return
	}
	j.rounds.Current = nil
	if r.Failed {
		for _, c := range r.Taken {
			j.sched.Discard(c.Entry)
		}
		return
	}
	for _, c := range r.Taken {
		j.setReplica(c)
	}
	if r.Nodes < 2 {
		return
	}
	all := map[*core.Entry]bool{}
	for _, e := range j.kept {
		all[e] = true
	}
	for _, data := range j.jobData {
		for e := range data {
			all[e] = true
		}
	}
	core.FreeRecords(all)
}

// setReplica puts a copy in the place of the one before.
func (j *job) setReplica(c core.TakenCopy) {
	if old := c.Of.Replica.Entry; old != nil {
		j.sched.Discard(old)
	}
	c.Of.Replica = c.Replica
}
