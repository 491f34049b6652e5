package cluster

import (
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// guarding has nodes keep second copies of what a job makes.
func guarding(j *job) *job {
	if !j.opt.Copies.Off {
		j.after, j.guard = j.guardAll, j.guardOne
	}
	return j
}

// guardAll begins a round, if one is due. The caller holds both locks.
func (j *job) guardAll() {
	j.since++
	if !j.fixed || j.rounds.now != nil || j.since%64 != 0 && (j.opt.Copies.Records == 0 || j.since < j.opt.Copies.Records/2) {
		return
	}
	nodes := j.opt.Copies.due(j.effort())
	if nodes == 0 {
		return
	}
	r := &round{nodes: nodes}
	j.since, j.many = 0, nodes > 1
	j.rounds.now, j.rounds.watches = r, map[*graph.Watch]bool{}
	var ready []*graph.Task
	for d, e := range j.data {
		if !j.known.names(e.kind) || e.users == 0 && (e.unmade() || e.apart(nodes)) {
			continue
		}
		w := &graph.Watch{}
		j.rounds.watches[w] = true
		r.open++
		if t, now := j.graph.AddWatch(d, w); now {
			ready = append(ready, t)
		}
	}
	r.open++ // none is the last one yet
	j.arrived(ready, -1)
	j.closed(r)
	j.place()
}

// effort returns what a round would be weighed by.
func (j *job) effort() effort {
	x := effort{tasks: j.since, many: j.many, capped: true}
	tasks, busy := 0, int64(0)
	for i, n := range j.nodes {
		busy += int64(n.busy)
		for _, k := range n.ran {
			tasks += k.Tasks
		}
		if i > 0 && !j.sched.absent(i) {
			x.agents++
			x.units += n.workers
			x.capped = x.capped && n.memory.most > 0
		}
	}
	if tasks > 0 {
		x.each = time.Duration(busy / int64(tasks))
	}
	x.bytes = func() (bytes int64) {
		for e := range j.entries {
			bytes += e.label.bytes
		}
		return bytes
	}
	return x
}

// guardOne has a version of a datum copied that a round has waited for, and reports whether it
// is one. The caller holds mu.
func (j *job) guardOne(t *graph.Task, w *graph.Watch) bool {
	if !j.rounds.watches[w] {
		return false
	}
	r, e := j.rounds.now, j.data[t.Operand(0).Datum]
	stop := r.failed || t.Tainted() != nil || j.Err() != nil
	switch {
	case !stop && e.lost() && j.mend(t): // it comes again
	case stop || e.lost(): // and the job ends
		r.failed = true
		j.let(t)
	case e.unmade() || e.apart(r.nodes) || !j.take(e, t):
		j.let(t)
	}
	return true
}

// let lets tasks write a datum that the round has done with.
func (j *job) let(t *graph.Task) {
	delete(j.rounds.watches, t.Watch())
	j.arrived(j.graph.End(t, graph.Done, nil, nil), -1)
	j.closed(j.rounds.now)
}

// take has nodes take copies of the latest version of a datum, and reports false if that
// cannot be.
func (j *job) take(e *entry, t *graph.Task) bool {
	r := j.rounds.now
	nodes := j.guards(e, r.nodes)
	if len(nodes) < r.nodes {
		r.failed = r.nodes > 1
		return false
	}
	set := e.set
	if set == 0 {
		set = j.number
	}
	c := &copying{taken: taken{e, second{e.another(j.name(set)), e.version}}, task: t, open: len(nodes), nodes: map[uint64]taker{}}
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
		t.Operands = append(t.Operands, operand{Ref: c.copy.ref, Mode: graph.In, givers: givers{From: j.holders(e)}, Type: e.kind, Shape: e.shape, Copy: &name})
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
		return i > 0 && !j.sched.absent(i) && j.nodes[i].memory.spares(e.label.bytes) && !slices.Contains(all, j.nodes[i])
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
	copies := func(e end) bool { return e.ID >= firstCopy }
	if !slices.ContainsFunc(ends, copies) {
		return ends
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range ends {
		if c := j.rounds.flights[e.ID]; copies(e) && c != nil && c.nodes[e.ID].node == n.index {
			j.answered(c, e.ID, e.Fault == nil && len(e.Missing) == 0)
		}
	}
	j.place()
	j.relieved()
	return slices.DeleteFunc(ends, copies)
}

// copiesLost sees to copies that a lost node was to take.
func (j *job) copiesLost(n *node) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.many {
		j.since = 1 << 30 // some are on one node only now
	}
	if r := j.rounds.now; r != nil && r.nodes > 1 { // of which it may have some
		r.failed = true
	}
	for id, c := range j.rounds.flights {
		if c.nodes[id].node == n.index {
			j.answered(c, id, false)
		}
	}
	j.place()
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
		j.discard(c.copy)
	case r.nodes > 1:
		r.taken = append(r.taken, c.taken)
	default:
		j.secure(c.taken)
	}
	j.watches--
	c.of.users--
	j.spare(c.of)
	j.let(c.task)
	j.news.Broadcast()
}

// closed notes that a round has done with a datum. When it is whole, nothing is made again
// from before it.
func (j *job) closed(r *round) {
	if r.open--; r.open > 0 {
		return
	}
	j.rounds.now, j.rounds.watches = nil, nil
	if r.failed {
		for _, c := range r.taken {
			j.discard(c.copy)
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
		j.discard(old)
	}
	c.of.second = c.second
}

// discard has nodes drop a copy.
func (j *job) discard(c *entry) {
	for _, h := range c.holders {
		j.where.drop(h, c.ref)
		j.nodes[h].memory.forget(c)
	}
	c.holders = nil
}
