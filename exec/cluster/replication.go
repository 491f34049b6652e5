package cluster

import (
	"errors"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// withReplication makes nodes take replicas of the job's data.
//
//	ends of tasks ─► is a round due? ─► cut: the last task that was assigned
//	  for each datum, the version at the cut:
//	    it exists         ─► startCopies ─► its copies are there ─► setReplica
//	    it will be made   ─► copyWritten ─► startCopies …
//	  a task behind the cut that would overwrite it ─► held until then
//
// No task up to the cut waits for one behind it, so each of these versions will be made.
func withReplication(j *job) *job {
	if !j.opt.Copies.Off {
		j.onEnds, j.onWritten, j.holdBack, j.onNoResult = j.startRound, j.copyWritten, j.holdForCopy, j.failRound
	}
	return j
}

// checkInterval is the least time between two checks whether a round is due.
const checkInterval = 20 * time.Millisecond

// startRound starts a round, if one is due, when nodes have ended some tasks. The caller holds mu.
func (j *job) startRound() {
	rounds := &j.rounds
	now := time.Now()
	many := j.opt.Copies.Records > 0 && j.tasksSinceRound >= j.opt.Copies.Records/2 || j.replicasLost
	if !j.hasAgents || rounds.Current != nil || !many && now.Sub(rounds.LastCheck) < checkInterval {
		return
	}
	rounds.LastCheck = now
	copies := core.Copies(j.opt.Copies)
	nodes := copies.NodesDue(j.effort(now))
	if nodes == 0 {
		return
	}
	j.workSinceRound, j.lastRound, j.replicasLost = 0, now, false
	if j.recordsOverdue = nodes > 1; j.recordsOverdue { // the other kind of round frees no records
		j.tasksSinceRound = 0
	}
	rounds.Current = &core.Round{Nodes: nodes, Cut: j.lastAssigned, Pending: map[*core.Entry]*core.PendingCopy{}}
	for e := range j.entries {
		if j.known.canSend(e.Kind) {
			rounds.Current.Pending[e] = &core.PendingCopy{Version: e.Version + rounds.WritesUpTo(e, rounds.Current.Cut)}
		}
	}
	for e := range j.entries {
		j.copyIfDue(e)
	}
	j.endRoundIfDone()
}

// effort returns the figures from which core decides whether a round is due: what it would cost and save.
func (j *job) effort(now time.Time) core.Effort {
	x := core.Effort{
		Tasks: j.tasksSinceRound, Overdue: j.recordsOverdue, Capped: true,
		Exposed: j.workSinceRound + j.exposedTime(j.began, now),
	}
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

// copyWritten notes a version that a task has made. The caller holds mu.
func (j *job) copyWritten(t *graph.Task, e *core.Entry) {
	j.rounds.NoteWritten(t, e)
	j.copyIfDue(e)
}

// copyIfDue starts copying a datum if the round waits for its version and that exists. The caller
// holds mu.
func (j *job) copyIfDue(e *core.Entry) {
	r := j.rounds.Current
	if r == nil {
		return
	}
	switch d := r.Pending[e]; {
	case d == nil || d.Version > e.Version || d.Started:
	case d.Version < e.Version || e.Lost(): // a failed task may have counted as a writer
		j.failRound()
	case e.Unwritten() || e.IsReplicated(r.Nodes) || !j.startCopies(e, d):
		j.pushHeld(e)
	}
}

// holdForCopy holds a task back if it would overwrite a version before that version is copied. It reports
// whether it has done so. The caller holds mu.
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

// pushHeld takes a datum out of the round, and makes the tasks ready that waited for its copy.
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

// failRound ends a round that cannot become complete. The caller holds mu.
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

// startCopies makes nodes copy the latest version of a datum. It returns false if not enough nodes
// can.
func (j *job) startCopies(e *core.Entry, d *core.PendingCopy) bool {
	round := j.rounds.Current
	nodes := j.replicaNodes(e, round.Nodes)
	if len(nodes) < round.Nodes || round.Failed {
		round.Failed = round.Nodes > 1
		return false
	}
	set := e.Set
	if set == 0 {
		set = j.number
	}
	d.Started = true
	replica := core.Replica{Entry: e.NewReplica(j.newName(set)), Version: e.Version}
	copying := &core.Copying{
		TakenCopy: core.TakenCopy{Of: e, Replica: replica}, Open: len(nodes), Nodes: map[uint64]core.Taker{},
	}
	e.Users++ // so that its holders keep it
	j.fetchesHome++
	if j.rounds.Copying == nil {
		j.rounds.Copying = map[uint64]*core.Copying{}
	}
	name := e.HeldAs()
	for _, node := range nodes {
		j.rounds.LastID++
		id := firstCopy | j.rounds.LastID
		taker := core.Taker{Node: node.index, Uses: []*core.Entry{copying.Entry}}
		if e.Has(node.index) {
			taker.Uses = append(taker.Uses, e)
		}
		node.memory.Pin(taker.Uses)
		j.rounds.Copying[id], copying.Nodes[id] = copying, taker
		request := j.batches[node.index].add(task{ID: id, Op: core.OpNone}, 1)
		from := e.Sources(func(h int) bool { return h == node.index || j.directory.Paths.IsOpen(node.index, h) })
		request.Operands = append(request.Operands, operand{
			Ref: copying.Entry.Ref, Mode: graph.In, givers: givers{From: j.nodeNames(from)},
			Type: e.Kind, Shape: e.Shape, Copy: &name,
		})
		j.send(node.index)
	}
	return true
}

// firstCopy is the least number of a task that takes a replica. It is above all numbers of tasks of programs.
const firstCopy = 1 << 63

// replicaNodes returns the nodes that take replicas of a datum, or fewer if there is no room. With one replica
// it is another node than the first holder. With two, the first holder is one of them. The nodes take turns.
func (j *job) replicaNodes(e *core.Entry, nodes int) (all []*node) {
	fits := func(i int) bool {
		return i > 0 && !j.sched.Absent(i) && j.sched.CanReach(e, i) &&
			j.nodes[i].memory.HasRoomFor(e.Label.Bytes) && !slices.Contains(all, j.nodes[i])
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

// takeCopyEnds handles the ends of tasks that take replicas, and returns the others.
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

// loseCopies handles the replicas that a lost node was to take or to give.
func (j *job) loseCopies(n *node) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.replicasLost = j.replicasLost || j.recordsOverdue // some replicas are on one node only now
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

// endCopy notes that a node has taken a replica, or failed to.
func (j *job) endCopy(c *core.Copying, id uint64, well bool) {
	round, taker := j.rounds.Current, c.Nodes[id]
	delete(j.rounds.Copying, id)
	j.nodes[taker.Node].memory.Unpin(taker.Uses)
	c.Entry.Holders = append(c.Entry.Holders, taker.Node)
	c.Failed = c.Failed || !well
	if c.Open--; c.Open > 0 {
		return
	}
	switch {
	case c.Failed || round.Failed:
		round.Failed = round.Failed || round.Nodes > 1
		j.sched.Discard(c.Entry)
	case round.Nodes > 1:
		round.Taken = append(round.Taken, c.TakenCopy)
	default:
		j.setReplica(c.TakenCopy)
	}
	j.fetchesHome--
	c.Of.Users--
	j.dropUnused(c.Of)
	j.pushHeld(c.Of)
	j.news.Broadcast()
}

// endRoundIfDone ends the round if no datum is pending. After a complete round of two replicas,
// records from before its cut are freed.
func (j *job) endRoundIfDone() {
	round := j.rounds.Current
	if round == nil || len(round.Pending) > 0 {
		return
	}
	j.rounds.Current = nil
	if round.Failed {
		for _, c := range round.Taken {
			j.sched.Discard(c.Entry)
		}
		return
	}
	for _, c := range round.Taken {
		j.setReplica(c)
	}
	if round.Nodes < 2 {
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

// setReplica replaces the previous replica of a datum.
func (j *job) setReplica(c core.TakenCopy) {
	if old := c.Of.Replica.Entry; old != nil {
		j.sched.Discard(old)
	}
	c.Of.Replica = c.Replica
}
