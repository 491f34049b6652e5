package cluster

import (
	"errors"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
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
	if !j.fixed || r.now != nil || !many && now.Sub(r.looked) < looks {
		return
	}
	r.looked = now
	nodes := j.opt.Copies.due(j.effort(now))
	if nodes == 0 {
		return
	}
	j.spent, j.taken, j.exposed = 0, now, false
	if j.many = nodes > 1; j.many { // others free no records
		j.since = 0
	}
	r.now = &round{nodes: nodes, cut: j.front, due: map[*entry]*due{}}
	for e := range j.entries {
		if j.known.names(e.kind) {
			r.now.due[e] = &due{version: e.version + r.leaves(e, r.now.cut)}
		}
	}
	for e := range j.entries {
		j.guardOne(e)
	}
	j.closed()
}

// effort returns what a round would be weighed by.
func (j *job) effort(now time.Time) effort {
	x := effort{tasks: j.since, many: j.many, capped: true, again: j.spent + j.unguarded(j.began, now)}
	if j.exposed {
		x.tasks = 1 << 30
	}
	for i, n := range j.nodes {
		if i > 0 && !j.sched.absent(i) {
			x.agents++
			x.capped = x.capped && n.memory.most > 0
		}
	}
	x.bytes = func() (bytes int64) {
		for e := range j.entries {
			bytes += e.label.bytes
		}
		return bytes
	}
	return x
}

// guardMade takes note of a version that a task has made. The caller holds mu.
func (j *job) guardMade(t *graph.Task, e *entry) {
	j.rounds.written(t, e)
	j.guardOne(e)
}

// guardOne has a version of a datum copied, if it is there and the round waits for it. The
// caller holds mu.
func (j *job) guardOne(e *entry) {
	r := j.rounds.now
	if r == nil {
		return
	}
	switch d := r.due[e]; {
	case d == nil || d.version > e.version || d.taken:
	case d.version < e.version || e.lost(): // a task that has failed may have been one too many
		j.giveUp()
	case e.unmade() || e.apart(r.nodes) || !j.take(e, d):
		j.let(e)
	}
}

// awaits holds a task that would write over what is to be copied first, and reports whether
// it does. The caller holds mu.
func (j *job) awaits(t *graph.Task) bool {
	r := j.rounds.now
	if r == nil || t.ID() <= r.cut {
		return false
	}
	for k := range t.Len() {
		o := t.Operand(k)
		if d := r.due[j.data.of(o.Datum)]; d != nil && o.Mode&graph.Out != 0 {
			d.held = append(d.held, t)
			j.tell(t, exec.Step{State: graph.Ready, Note: "held until a second copy has been taken of " + o.Datum.String()})
			return true
		}
	}
	return false
}

// let has tasks write over a datum that the round has done with.
func (j *job) let(e *entry) {
	r := j.rounds.now
	d := r.due[e]
	if d == nil {
		return
	}
	delete(r.due, e)
	j.arrived(d.held, -1)
	j.closed()
}

// giveUp ends a round that cannot become whole. The caller holds mu.
func (j *job) giveUp() {
	r := j.rounds.now
	if r == nil {
		return
	}
	r.failed = r.nodes > 1
	for e, d := range r.due {
		if !d.taken {
			j.let(e)
		}
	}
}

// take has nodes take copies of the latest version of a datum, and reports false if that
// cannot be.
func (j *job) take(e *entry, d *due) bool {
	r := j.rounds.now
	nodes := j.guards(e, r.nodes)
	if len(nodes) < r.nodes || r.failed {
		r.failed = r.nodes > 1
		return false
	}
	set := e.set
	if set == 0 {
		set = j.number
	}
	d.taken = true
	c := &copying{taken: taken{e, second{e.another(j.name(set)), e.version}}, open: len(nodes), nodes: map[uint64]taker{}}
	e.users++ // so that holders keep it
	j.watches++
	if j.rounds.flights == nil {
		j.rounds.flights = map[uint64]*copying{}
	}
	name := e.name()
	for _, n := range nodes {
		j.rounds.last++
		id := firstCopy | j.rounds.last
		x := taker{n.index, []*entry{c.copy}}
		if e.has(n.index) {
			x.uses = append(x.uses, e)
		}
		n.memory.pin(x.uses)
		j.rounds.flights[id], c.nodes[id] = c, x
		t := j.batches[n.index].add(task{ID: id, Op: opNone}, 1)
		from := e.from(func(h int) bool { return h == n.index || j.where.paths.whole(n.index, h) })
		t.Operands = append(t.Operands, operand{Ref: c.copy.ref, Mode: graph.In, givers: givers{From: j.called(from)}, Type: e.kind, Shape: e.shape, Copy: &name})
		j.send(n.index)
	}
	return true
}

// firstCopy is the number of the first task that takes a copy: above those of programs.
const firstCopy = 1 << 63

// guards returns the nodes that are to have copies of a datum: of one, another one than that
// which has it, and of two, that one as well. They take turns.
func (j *job) guards(e *entry, nodes int) (all []*node) {
	fits := func(i int) bool {
		return i > 0 && !j.sched.absent(i) && j.sched.reaches(e, i) && j.nodes[i].memory.spares(e.label.bytes) && !slices.Contains(all, j.nodes[i])
	}
	first := e.holders[0]
	if nodes > 1 && fits(first) {
		all = append(all, j.nodes[first])
	}
	for range j.nodes {
		if len(all) == nodes {
			break
		}
		j.rounds.turn++
		if i := j.rounds.turn % len(j.nodes); i != first && fits(i) {
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
		if c := j.rounds.flights[e.ID]; copies(e) && c != nil && c.nodes[e.ID].node == n.index {
			for _, m := range e.Missing {
				j.cuts(c.of, n.index, m.Cut, errors.New(e.Why))
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
	for id, c := range j.rounds.flights {
		if c.nodes[id].node == n.index {
			j.answered(c, id, false)
		}
	}
	j.giveUp()
	if j.number != 0 {
		j.place()
	}
}

// answered notes that a node has taken a copy, or not.
func (j *job) answered(c *copying, id uint64, well bool) {
	r, x := j.rounds.now, c.nodes[id]
	delete(j.rounds.flights, id)
	j.nodes[x.node].memory.unpin(x.uses)
	c.copy.holders = append(c.copy.holders, x.node)
	c.failed = c.failed || !well
	if c.open--; c.open > 0 {
		return
	}
	switch {
	case c.failed || r.failed:
		r.failed = r.failed || r.nodes > 1
		j.sched.discard(c.copy)
	case r.nodes > 1:
		r.taken = append(r.taken, c.taken)
	default:
		j.secure(c.taken)
	}
	j.watches--
	c.of.users--
	j.spare(c.of)
	j.let(c.of)
	j.news.Broadcast()
}

// closed ends the round if it has done with all data. If it is whole, nothing is made again
// from before it.
func (j *job) closed() {
	r := j.rounds.now
	if r == nil || len(r.due) > 0 {
		return
	}
	j.rounds.now = nil
	if r.failed {
		for _, c := range r.taken {
			j.sched.discard(c.copy)
		}
		return
	}
	for _, c := range r.taken {
		j.secure(c)
	}
	if r.nodes < 2 {
		return
	}
	all := map[*entry]bool{}
	for _, e := range j.kept {
		all[e] = true
	}
	for _, data := range j.uses {
		for e := range data {
			all[e] = true
		}
	}
	sweep(all)
}

// secure puts a copy in the place of the one before.
func (j *job) secure(c taken) {
	if old := c.of.second.copy; old != nil {
		j.sched.discard(old)
	}
	c.of.second = c.second
}
