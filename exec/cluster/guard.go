package cluster

import (
	"errors"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// guarding has nodes keep second copies of what a job makes.
//
//	ends of tasks ─► due? ─► a cut: the last task to have been given to a node
//	  for each datum, the version that the tasks up to the cut leave:
//	    it is there     ─► take it ─► its copies are there ─► secure
//	    it is to come   ─► made ─► take it …
//	  a task behind the cut that would write over it ─► held until then
//
// No task up to the cut waits for one behind it, so each of these versions comes.
func guarding(j *job) *job {
	if !j.opt.Copies.Off {
		j.ends, j.made, j.holds, j.breaks = j.guardAll, j.guardMade, j.awaits, j.giveUp
	}
	return j
}

// looks is the least time between two looks at whether a round is due.
const looks = 20 * time.Millisecond

// guardAll begins a round, if one is due, when nodes have ended some tasks. The caller holds mu.
func (j *job) guardAll() {
	r := &j.rounds
	now := time.Now()
	many := j.opt.Copies.Records > 0 && j.since >= j.opt.Copies.Records/2 || j.exposed
	if !j.fixed || r.Current != nil || !many && now.Sub(r.LastCheck) < looks {
		return
	}
	r.LastCheck = now
	copies := core.Copies(j.opt.Copies)
	nodes := copies.NodesDue(j.effort(now))
	if nodes == 0 {
		return
	}
	j.spent, j.taken, j.exposed = 0, now, false
	if j.many = nodes > 1; j.many { // others free no records
		j.since = 0
	}
	r.Current = &core.Round{Nodes: nodes, Cut: j.front, Pending: map[*core.Entry]*core.PendingCopy{}}
	for e := range j.entries {
		if j.known.names(e.Kind) {
			r.Current.Pending[e] = &core.PendingCopy{Version: e.Version + r.WritesUpTo(e, r.Current.Cut)}
		}
	}
	for e := range j.entries {
		j.guardOne(e)
	}
	j.closed()
}

// effort returns what a round would be weighed by.
func (j *job) effort(now time.Time) core.Effort {
	x := core.Effort{Tasks: j.since, Overdue: j.many, Capped: true, Exposed: j.spent + j.unguarded(j.began, now)}
	if j.exposed {
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

// guardMade takes note of a version that a task has made. The caller holds mu.
func (j *job) guardMade(t *graph.Task, e *core.Entry) {
	j.rounds.NoteWritten(t, e)
	j.guardOne(e)
}

// guardOne has a version of a datum copied, if it is there and the round waits for it. The
// caller holds mu.
func (j *job) guardOne(e *core.Entry) {
	r := j.rounds.Current
	if r == nil {
		return
	}
	switch d := r.Pending[e]; {
	case d == nil || d.Version > e.Version || d.Started:
	case d.Version < e.Version || e.Lost(): // a task that has failed may have been one too many
		j.giveUp()
	case e.Unwritten() || e.IsReplicated(r.Nodes) || !j.take(e, d):
		j.let(e)
	}
}

// awaits holds a task that would write over what is to be copied first, and reports whether
// it does. The caller holds mu.
func (j *job) awaits(t *graph.Task) bool {
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

// let has tasks write over a datum that the round has done with.
func (j *job) let(e *core.Entry) {
	r := j.rounds.Current
	d := r.Pending[e]
	if d == nil {
		return
	}
	delete(r.Pending, e)
	j.arrived(d.Held, -1)
	j.closed()
}

// giveUp ends a round that cannot become whole. The caller holds mu.
func (j *job) giveUp() {
	r := j.rounds.Current
	if r == nil {
		return
	}
	r.Failed = r.Nodes > 1
	for e, d := range r.Pending {
		if !d.Started {
			j.let(e)
		}
	}
}

// take has nodes take copies of the latest version of a datum, and reports false if that
// cannot be.
func (j *job) take(e *core.Entry, d *core.PendingCopy) bool {
	r := j.rounds.Current
	nodes := j.guards(e, r.Nodes)
	if len(nodes) < r.Nodes || r.Failed {
		r.Failed = r.Nodes > 1
		return false
	}
	set := e.Set
	if set == 0 {
		set = j.number
	}
	d.Started = true
	c := &core.Copying{TakenCopy: core.TakenCopy{Of: e, Replica: core.Replica{Entry: e.NewReplica(j.name(set)), Version: e.Version}}, Open: len(nodes), Nodes: map[uint64]core.Taker{}}
	e.Users++ // so that holders keep it
	j.watches++
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
		from := e.Sources(func(h int) bool { return h == n.index || j.where.Paths.IsOpen(n.index, h) })
		t.Operands = append(t.Operands, operand{Ref: c.Entry.Ref, Mode: graph.In, givers: givers{From: j.called(from)}, Type: e.Kind, Shape: e.Shape, Copy: &name})
		j.send(n.index)
	}
	return true
}

// firstCopy is the number of the first task that takes a copy: above those of programs.
const firstCopy = 1 << 63

// guards returns the nodes that are to have copies of a datum: of one, another one than that
// which has it, and of two, that one as well. They take turns.
func (j *job) guards(e *core.Entry, nodes int) (all []*node) {
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

// copied takes the ends of tasks that take copies, and returns those of others.
func (j *job) copied(n *node, ends []end) []end {
	copies := func(e end) bool { return e.ID >= firstCopy && e.ID < firstRelay }
	if !slices.ContainsFunc(ends, copies) {
		return ends
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range ends {
		if c := j.rounds.Copying[e.ID]; copies(e) && c != nil && c.Nodes[e.ID].Node == n.index {
			for _, m := range e.Missing {
				j.cuts(c.Of, n.index, m.Cut, errors.New(e.Why))
			}
			j.answered(c, e.ID, e.Fault == nil && len(e.Missing) == 0)
		}
	}
	j.place()
	j.relieve(&j.placement)
	return slices.DeleteFunc(ends, copies)
}

// copiesLost sees to copies that a lost node was to take, or to give.
func (j *job) copiesLost(n *node) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.exposed = j.exposed || j.many // some are on one node only now
	for id, c := range j.rounds.Copying {
		if c.Nodes[id].Node == n.index {
			j.answered(c, id, false)
		}
	}
	j.giveUp()
	if j.number != 0 {
		j.place()
	}
}

// answered notes that a node has taken a copy, or not.
func (j *job) answered(c *core.Copying, id uint64, well bool) {
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
		j.secure(c.TakenCopy)
	}
	j.watches--
	c.Of.Users--
	j.spare(c.Of)
	j.let(c.Of)
	j.news.Broadcast()
}

// closed ends the round if it has done with all data. If it is whole, nothing is made again
// from before it.
func (j *job) closed() {
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
		j.secure(c)
	}
	if r.Nodes < 2 {
		return
	}
	all := map[*core.Entry]bool{}
	for _, e := range j.kept {
		all[e] = true
	}
	for _, data := range j.uses {
		for e := range data {
			all[e] = true
		}
	}
	core.FreeRecords(all)
}

// secure puts a copy in the place of the one before.
func (j *job) secure(c core.TakenCopy) {
	if old := c.Of.Replica.Entry; old != nil {
		j.sched.Discard(old)
	}
	c.Of.Replica = c.Replica
}
