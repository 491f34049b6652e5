package cluster

import (
	"iter"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Core is what a [Driver] decides with, for who drives it in a time of its own, as simulations
// do: which node gets which task and when, from whom it has operands, who has what. It has no
// goroutine, clock, lock or message. Nodes are numbered from 0, the driver, in the order in
// which they enter; data in the order in which they come.
//
//	Enter, Renew                          nodes
//	Datum, Ready ─► Gives ─► Give         a task goes to a node, which has to get these values
//	Heard, Ended ─► Freed ─► Gives …      and has ended
//	Recalls ─► Back … Answered            or is to give it back
//	Lose ─► Remake …                      a node is lost (losses.go)
type Core struct {
	*scheduler
	opt     Options
	kept    map[any]*entry
	entries []*entry
	sealed  bool
	spares  []*entry // that no task uses any more, and that the driver is to get now
	gifts   []gift

	// Where nodes may be lost (losses.go):
	remembers bool          // it keeps how versions were made
	order     uint64        // of the job, among those that there were
	stuck     []*graph.Task // that wait for what is to be made again: the scheduler is halted
	again     *Core         // makes it again now
	root      *Core         // for whom this one does so; itself, as a rule
	broken    bool          // it cannot: more is lost
	unused    func(*entry)  // sees to a datum that no task uses any more; may be nil
}

// programs is the set of data that are not kept.
const programs = 2

// NewCore returns a Core without nodes. Of the options only those that say which node gets a
// task count: Policy, ByPriority, NewPolicy, Owner, Stay and Idle.
func NewCore(o Options) *Core {
	o.decide()
	c := &Core{opt: o, kept: map[any]*entry{}}
	c.root = c
	c.decides(newScheduler(&c.opt, &directory{}, &experience{}, &dataIndex{}))
	return c
}

// decides has a scheduler be the one that decides.
func (c *Core) decides(s *scheduler) {
	c.scheduler = s
	c.narrow = true // a simulated worker has all units that one task gets
	c.runs = func(*graph.Task) bool { return true }
	c.bound = func(t *graph.Task) bool {
		op, ok := t.Op.(*versions.Op)
		return !ok || op.Bound || t.Shadowed()
	}
}

// Enter has a node be given tasks, after Renew: with workers of some kinds that can execute
// what the selector has a version of, and a cap on the bytes of operands that it has; 0: none.
func (c *Core) Enter(node int, cap int64, kinds []Kind, s *versions.Selector) {
	o := &offer{kinds: kinds, lacks: make([]map[string][]string, len(kinds)), selector: s}
	for i := range c.seats { // those that are alike share one
		if x := c.seats[i].offer; x != nil && x.like(o) && x.workers() == o.workers() {
			o = x
			break
		}
	}
	c.enter(node, o.workers(), &memory{node: node, most: cap}, o)
}

// Renew makes a policy for the nodes that there are.
func (c *Core) Renew() { c.renew() }

// Keep has data with a value stay on nodes when a job ends. It is zero until a task writes it.
func (c *Core) Keep(value any) {
	c.kept[value] = newEntry(1, transport.Ref{Job: 1})
}

// Locate returns a node that has a value that is kept, −1 if there is none.
func (c *Core) Locate(value any) int { return c.kept[value].located() }

// Release ends that.
func (c *Core) Release(value any) {
	if e := c.kept[value]; e != nil {
		for _, i := range slices.Clone(e.holders) {
			c.where.drop(i, e.ref)
			c.forgets(i, e)
		}
		delete(c.kept, value)
	}
}

// Knows reports whether a datum has come in this job.
func (c *Core) Knows(d *graph.Datum) bool { return c.data.of(d) != nil }

// Datum returns the number of a datum. What is not kept lies in the program's memory, on the
// driver, when it comes.
func (c *Core) Datum(d *graph.Datum) int {
	e := c.data.of(d)
	if e == nil {
		if e = c.kept[d.Value]; e == nil {
			e = newEntry(0, transport.Ref{Job: programs})
			e.brought(false)
		}
		if e.ref.I == 0 {
			c.entries = append(c.entries, e)
			e.ref.I = int32(len(c.entries))
		}
		e.label, e.datum, e.known = labelOf(d), d, true
		c.data.put(d, e)
	}
	return int(e.ref.I) - 1
}

// Version returns the version of a datum that tasks read that are given to nodes now.
func (c *Core) Version(datum int) int { return int(c.root.entries[datum].ref.Version) }

// Holders returns the nodes that have that version, or what it begins as a copy of.
func (c *Core) Holders(datum int) []int { return c.root.entries[datum].holders }

// Submitted notes that a task is going to use data.
func (c *Core) Submitted(s *graph.Spec) {
	for i := range s.Operands {
		c.data.of(s.Operands[i].Datum).users++
	}
}

// Ready hands over tasks that are ready. From is the node where the end of a task has freed
// them, -1 if they come from elsewhere. The slice may be changed.
func (c *Core) Ready(tasks []*graph.Task, from int) {
	ready := tasks[:0]
	for _, t := range tasks {
		if c.bound(t) {
			c.only(t)
		} else {
			ready = append(ready, t)
		}
	}
	c.ready(ready, from)
}

// Gives yields tasks and the nodes that they go to, as long as nodes have room: each is to be
// passed to Give at once.
func (c *Core) Gives() iter.Seq2[*graph.Task, int] {
	return func(yield func(*graph.Task, int) bool) {
		for !c.halted {
			for t, i := range c.gives() {
				if !c.aside(t, i) && !yield(t, i) {
					return
				}
			}
			if c.halted {
				return
			}
			t, i := c.squeeze()
			if t == nil || i < 0 || !c.aside(t, i) && !yield(t, i) {
				return
			}
		}
	}
}

// aside puts a task aside, if it is to read what nobody has, and has no other one be given.
func (c *Core) aside(t *graph.Task, node int) bool {
	if !c.remembers || !c.misses(t) {
		return false
	}
	if !c.bound(t) {
		c.back(node)
	}
	if c.halted = true; c.root == c {
		c.stuck = append(c.stuck, t)
	} else {
		c.broken = true
	}
	return true
}

// Unfit returns the tasks that no node can execute, or has the memory for, and forgets them.
func (c *Core) Unfit() (all []*graph.Task) {
	if c.halted {
		return nil
	}
	all, c.unfit = c.unfit, nil
	if t, i := c.squeeze(); t != nil && i < 0 {
		all = append(all, t)
	}
	return all
}

// Need is a value that a node is to get for a task.
type Need struct {
	Datum   int
	Version int
	From    int // the node that gives it, when it has it
	Bytes   int64
}

// Give notes that a node is given a task, and returns what it is to get for that.
func (c *Core) Give(t *graph.Task, node int, needs []Need) []Need {
	c.gifts = c.gifts[:0]
	var made *record
	if c.remembers && !c.bound(t) {
		made = recordOf(c.order, t)
	}
	for k := range t.Len() {
		o := t.Operand(k)
		e := c.data.of(o.Datum)
		if made != nil {
			made.uses = append(made.uses, use{e, e.version, o.Mode})
		}
		if o.Mode&graph.In == 0 || e.has(node) || foremost(t, k) < k {
			continue
		}
		if from, _ := e.giver(node, nil); from >= 0 {
			c.gifts = append(c.gifts, gift{e, from})
			needs = append(needs, Need{int(e.ref.I) - 1, int(e.ref.Version), from, o.Datum.Bytes})
		}
	}
	t.SetState(graph.Running)
	c.took(t, node, c.gifts).made = made
	return needs
}

// Heard notes that a message has come from a node that has ended so many tasks.
func (c *Core) Heard(node, tasks int, at time.Duration) { c.heard(node, tasks, tasks, epoch.Add(at)) }

// epoch is from when times count: a time that is not zero.
var epoch = time.Unix(0, 0)

// Moved notes that a value has come from one node to another one.
func (c *Core) Moved(from, to int, bytes int64, took time.Duration) {
	c.learned.moved(from, to, 1, bytes, took)
}

// Ended notes that a node has ended a task in so much time, and returns it, to be ended in its
// graph: nil if it is not the node's any more.
func (c *Core) Ended(node int, id graph.TaskID, took time.Duration) *graph.Task {
	f := c.land(node, id)
	if f == nil {
		return nil
	}
	t := f.task
	c.leaves(f, false)
	if c.bound(t) { // it has worked in the program's memory
		for k := range t.Len() {
			o := t.Operand(k)
			if e := c.data.of(o.Datum); o.Mode&graph.Out != 0 && first(t, k) && e.set == 0 {
				e.brought(c.remembers && e.home.version != e.version-1) // or else it wrote over it
			}
		}
	}
	t.Used(node, 0)
	c.ran(f, took)
	for k := range t.Len() {
		e := c.data.of(t.Operand(k).Datum)
		if e.users--; e.users > 0 {
			continue
		}
		if c.sealed {
			c.spared(e)
		}
		if c.unused != nil {
			c.unused(e)
		}
	}
	c.recycle(f)
	return t
}

// Seal notes that no more tasks are submitted before those that there are have ended, and
// Unseal that there are.
func (c *Core) Seal() {
	c.sealed = true
	for _, e := range c.entries {
		if e.datum != nil && e.users == 0 {
			c.spared(e)
		}
	}
}

// spared has copies of a datum dropped that no task will use any more. A driver that executes nothing
// itself gets it now, as a live one does.
func (c *Core) spared(e *entry) {
	c.shed(e)
	if c.opt.Idle && e.late() && len(e.holders) > 0 && !e.has(0) {
		c.spares = append(c.spares, e)
	}
}

// Early yields such data, once: with the node that gives each to the driver.
func (c *Core) Early() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for len(c.spares) > 0 {
			e := c.spares[0]
			c.spares = c.spares[1:]
			if !e.lost() && !yield(e.wanted()) {
				return
			}
		}
	}
}

// Came notes that the driver has such a version, if it still is the latest.
func (c *Core) Came(x Need) {
	if e := c.entries[x.Datum]; int(e.ref.Version) == x.Version {
		e.read(0)
	}
}

// wanted returns the latest version as something that the driver is to get. Somebody has it.
func (e *entry) wanted() Need {
	return Need{int(e.ref.I) - 1, int(e.ref.Version), e.from(nil)[0], e.label.bytes}
}

// Unseal ends what Seal begins.
func (c *Core) Unseal() { c.sealed = false }

// Late yields the data that lie in the program's memory, and of which it has not the latest
// version: with the node that gives it.
func (c *Core) Late() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for _, e := range c.entries {
			if e.late() && len(e.holders) > 0 && !e.has(0) && !yield(e.wanted()) {
				return
			}
		}
	}
}

// late reports whether a datum lies in the program's memory, which has not the latest version.
func (e *entry) late() bool {
	return e.set == 0 && e.datum != nil && !(e.home.there && e.home.version == e.version)
}

// Brought notes that all of these have come.
func (c *Core) Brought() {
	for _, e := range c.entries {
		if e.late() {
			e.brought(false)
		}
	}
}

// Over forgets the data of a job but for those that are kept.
func (c *Core) Over() {
	*c.data = dataIndex{}
	c.spares = nil
	c.order++
	for _, e := range c.entries {
		if e.datum == nil {
			continue
		}
		if e.datum = nil; e.set == 0 {
			for _, i := range e.holders {
				c.where.drop(i, e.ref)
			}
			for _, i := range slices.Clone(e.spots) {
				c.forgets(i, e)
			}
		}
	}
}

// Drops yields the versions of data that a node is to drop, once.
func (c *Core) Drops(node int, yield func(datum, version int)) {
	all := c.where.drops(node)
	for _, r := range all {
		yield(int(r.I)-1, int(r.Version))
	}
	c.where.again(node, all)
}

// Recalls yields tasks of which a node is to give back the first few that it has not begun.
func (c *Core) Recalls(yield func(node int, tasks []uint64, most int)) {
	for _, r := range c.recalls() {
		yield(r.from, r.tasks, r.most)
	}
}

// Answered notes that it has given these back.
func (c *Core) Answered(node int) { c.answered(node) }

// Back notes that a node gives a task back, of which it has all operands. A task that is for no
// other node now is ready again.
func (c *Core) Back(node int, id graph.TaskID) {
	f := c.land(node, id)
	if f == nil {
		return
	}
	f.task.SetState(graph.Ready)
	if !c.returned(f) {
		c.Ready([]*graph.Task{f.task}, -1)
	}
}

// Gate holds tasks of which all operands are there, as nodes do: so that their runtimes have as
// many as they execute, and few more.
type Gate[T comparable] struct{ gate gate[T] }

// NewGate returns the gate of a node with so many workers.
func NewGate[T comparable](workers int) *Gate[T] { return &Gate[T]{newGate[T](workers)} }

// Enter reports whether a task is to begin. If not, it waits.
func (g *Gate[T]) Enter(task T, priority int64, id graph.TaskID) bool {
	return g.gate.enter(gated[T]{task, priority, 0, uint64(id), 1})
}

// Leave notes that a task has ended, and appends those to next that are to begin.
func (g *Gate[T]) Leave(task T, at time.Duration, next []T) []T {
	return g.gate.leave(task, epoch.Add(at), next)
}

// Aside notes that a task waits for its children from now on, and appends those to next that are to
// begin in its place.
func (g *Gate[T]) Aside(task T, next []T) []T { return g.gate.aside(task, next) }

// Back takes the first few away of some tasks that wait.
func (g *Gate[T]) Back(ids []uint64, most int) []T { return g.gate.back(0, ids, most) }
