package core

import (
	"iter"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Core is what a [Driver] decides with, for a program that drives it in a time of its own, as simulations
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
	*Scheduler
	opt     Choices
	kept    map[any]*Entry
	entries []*Entry
	sealed  bool
	spares  []*Entry // that no task uses any more, and that the driver is to get now
	gifts   []Gift

	// Where nodes may be lost (losses.go):
	remembers bool          // it keeps how versions were made
	order     uint64        // of the job, among those that there were
	stuck     []*graph.Task // that wait for what is to be made again: the scheduler is halted
	again     *Core         // makes it again now
	root      *Core         // for whom this one does so; itself, as a rule
	broken    bool          // it cannot: more is lost
	unused    func(*Entry)  // sees to a datum that no task uses any more; may be nil
}

// programs is the set of data that are not kept.
const programs = 2

// NewCore returns a Core without nodes.
func NewCore(o Choices) *Core {
	c := &Core{opt: o, kept: map[any]*Entry{}}
	c.root = c
	c.decides(NewScheduler(c.opt, &Directory{}, &Experience{}, &DataIndex{}))
	return c
}

// decides has a scheduler be the one that decides.
func (c *Core) decides(s *Scheduler) {
	c.Scheduler = s
	c.narrow = true // a simulated worker has all units that one task gets
	c.Runs = func(*graph.Task) bool { return true }
	c.Bound = func(t *graph.Task) bool {
		op, ok := t.Op.(*versions.Op)
		return !ok || op.Bound || t.Shadowed()
	}
}

// Enter has a node be given tasks, after Renew: with workers of some kinds that can execute
// what the selector has a version of, and a cap on the bytes of operands that it has; 0: none.
func (c *Core) Enter(node int, cap int64, kinds []Kind, s *versions.Selector) {
	o := &Offer{Kinds: kinds, Lacks: make([]map[string][]string, len(kinds)), Selector: s}
	for i := range c.Seats { // those that are alike share one
		if x := c.Seats[i].offer; x != nil && x.like(o) && x.Workers() == o.Workers() {
			o = x
			break
		}
	}
	c.Admit(node, o.Workers(), &Memory{Node: node, Most: cap}, o)
}

// Renew makes a policy for the nodes that there are.
func (c *Core) Renew() { c.Refresh() }

// Keep has data with a value stay on nodes when a job ends. It is zero until a task writes it.
func (c *Core) Keep(value any) {
	c.kept[value] = newEntry(1, transport.Ref{Job: 1})
}

// Locate returns a node that has a value that is kept, −1 if there is none.
func (c *Core) Locate(value any) int { return c.kept[value].Located() }

// Release ends that.
func (c *Core) Release(value any) {
	if e := c.kept[value]; e != nil {
		for _, i := range slices.Clone(e.Holders) {
			c.where.Drop(i, e.Ref)
			c.forgets(i, e)
		}
		delete(c.kept, value)
	}
}

// Knows reports whether a datum has come in this job.
func (c *Core) Knows(d *graph.Datum) bool { return c.data.Of(d) != nil }

// Datum returns the number of a datum. What is not kept lies in the program's memory, on the
// driver, when it comes.
func (c *Core) Datum(d *graph.Datum) int {
	e := c.data.Of(d)
	if e == nil {
		if e = c.kept[d.Value]; e == nil {
			e = newEntry(0, transport.Ref{Job: programs})
			e.Brought(false)
		}
		if e.Ref.I == 0 {
			c.entries = append(c.entries, e)
			e.Ref.I = int32(len(c.entries))
		}
		e.Label, e.Datum, e.Known = LabelOf(d), d, true
		c.data.Put(d, e)
	}
	return int(e.Ref.I) - 1
}

// Version returns the version of a datum that tasks read that are given to nodes now.
func (c *Core) Version(datum int) int { return int(c.root.entries[datum].Ref.Version) }

// Holders returns the nodes that have that version, or what it begins as a copy of.
func (c *Core) Holders(datum int) []int { return c.root.entries[datum].Holders }

// Submitted notes that a task is going to use data.
func (c *Core) Submitted(s *graph.Spec) {
	for i := range s.Operands {
		c.data.Of(s.Operands[i].Datum).Users++
	}
}

// Ready hands over tasks that are ready. From is the node where the end of a task has freed
// them, -1 if they come from elsewhere. The slice may be changed.
func (c *Core) Ready(tasks []*graph.Task, from int) {
	ready := tasks[:0]
	for _, t := range tasks {
		if c.Bound(t) {
			c.Only(t)
		} else {
			ready = append(ready, t)
		}
	}
	c.Push(ready, from)
}

// Gives yields tasks and the nodes that they go to, as long as nodes have room: each is to be
// passed to Give at once.
func (c *Core) Gives() iter.Seq2[*graph.Task, int] {
	return func(yield func(*graph.Task, int) bool) {
		for !c.Paused {
			for t, i := range c.Picks() {
				if !c.aside(t, i) && !yield(t, i) {
					return
				}
			}
			if c.Paused {
				return
			}
			t, i := c.Squeeze()
			if t == nil || i < 0 || !c.aside(t, i) && !yield(t, i) {
				return
			}
		}
	}
}

// aside puts a task aside, if it is to read what nobody has, and has no other one be given.
func (c *Core) aside(t *graph.Task, node int) bool {
	if !c.remembers || !c.Misses(t) {
		return false
	}
	if !c.Bound(t) {
		c.Withdraw(node)
	}
	if c.Paused = true; c.root == c {
		c.stuck = append(c.stuck, t)
	} else {
		c.broken = true
	}
	return true
}

// Unfit returns the tasks that no node can execute, or has the memory for, and forgets them.
func (c *Core) Unfit() (all []*graph.Task) {
	if c.Paused {
		return nil
	}
	all, c.Misfits = c.Misfits, nil
	if t, i := c.Squeeze(); t != nil && i < 0 {
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
	var made *Record
	if c.remembers && !c.Bound(t) {
		made = RecordOf(c.order, t)
	}
	for k := range t.Len() {
		o := t.Operand(k)
		e := c.data.Of(o.Datum)
		if made != nil {
			made.Uses = append(made.Uses, Use{e, e.Version, o.Mode})
		}
		if o.Mode&graph.In == 0 || e.Has(node) || Foremost(t, k) < k {
			continue
		}
		if from, _ := e.giver(node, nil); from >= 0 {
			c.gifts = append(c.gifts, Gift{e, from})
			needs = append(needs, Need{int(e.Ref.I) - 1, int(e.Ref.Version), from, o.Datum.Bytes})
		}
	}
	t.SetState(graph.Running)
	c.Took(t, node, c.gifts).Made = made
	return needs
}

// Heard notes that a message has come from a node that has ended so many tasks.
func (c *Core) Heard(node, tasks int, at time.Duration) {
	c.HeardFrom(node, tasks, tasks, At(at))
}

// At is a moment of a virtual time, which is not the zero one.
func At(at time.Duration) time.Time { return time.Unix(0, 0).Add(at) }

// Moved notes that a value has come from one node to another one.
func (c *Core) Moved(from, to int, bytes int64, took time.Duration) {
	c.Learned.Moved(from, to, 1, bytes, took)
}

// Ended notes that a node has ended a task in so much time, and returns it, to be ended in its
// graph: nil if it is not the node's any more.
func (c *Core) Ended(node int, id graph.TaskID, took time.Duration) *graph.Task {
	f := c.Land(node, id)
	if f == nil {
		return nil
	}
	t := f.Task
	c.Leaves(f, false)
	if c.Bound(t) { // it has worked in the program's memory
		for k := range t.Len() {
			o := t.Operand(k)
			if e := c.data.Of(o.Datum); o.Mode&graph.Out != 0 && First(t, k) && e.Set == 0 {
				e.Brought(c.remembers && e.Home.Version != e.Version-1) // or else it wrote over it
			}
		}
	}
	t.Used(node, 0)
	c.Ran(f, took)
	for k := range t.Len() {
		e := c.data.Of(t.Operand(k).Datum)
		if e.Users--; e.Users > 0 {
			continue
		}
		if c.sealed {
			c.spared(e)
		}
		if c.unused != nil {
			c.unused(e)
		}
	}
	c.Recycle(f)
	return t
}

// Seal notes that no more tasks are submitted before those that there are have ended, and
// Unseal that there are.
func (c *Core) Seal() {
	c.sealed = true
	for _, e := range c.entries {
		if e.Datum != nil && e.Users == 0 {
			c.spared(e)
		}
	}
}

// spared has copies of a datum dropped that no task will use any more. A driver that executes nothing
// itself gets it now, as a live one does.
func (c *Core) spared(e *Entry) {
	c.Shed(e)
	if c.opt.Idle && e.late() && len(e.Holders) > 0 && !e.Has(0) {
		c.spares = append(c.spares, e)
	}
}

// Early yields such data, once: with the node that gives each to the driver.
func (c *Core) Early() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for len(c.spares) > 0 {
			e := c.spares[0]
			c.spares = c.spares[1:]
			if !e.Lost() && !yield(e.wanted()) {
				return
			}
		}
	}
}

// Came notes that the driver has such a version, if it still is the latest.
func (c *Core) Came(x Need) {
	if e := c.entries[x.Datum]; int(e.Ref.Version) == x.Version {
		e.Read(0)
	}
}

// wanted returns the latest version as something that the driver is to get. Somebody has it.
func (e *Entry) wanted() Need {
	return Need{int(e.Ref.I) - 1, int(e.Ref.Version), e.From(nil)[0], e.Label.Bytes}
}

// Unseal ends what Seal begins.
func (c *Core) Unseal() { c.sealed = false }

// Late yields the data that lie in the program's memory, and of which it has not the latest
// version: with the node that gives it.
func (c *Core) Late() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for _, e := range c.entries {
			if e.late() && len(e.Holders) > 0 && !e.Has(0) && !yield(e.wanted()) {
				return
			}
		}
	}
}

// late reports whether a datum lies in the program's memory, which has not the latest version.
func (e *Entry) late() bool {
	return e.Set == 0 && e.Datum != nil && !(e.Home.There && e.Home.Version == e.Version)
}

// Brought notes that all of these have come.
func (c *Core) Brought() {
	for _, e := range c.entries {
		if e.late() {
			e.Brought(false)
		}
	}
}

// Over forgets the data of a job but for those that are kept.
func (c *Core) Over() {
	*c.data = DataIndex{}
	c.spares = nil
	c.order++
	for _, e := range c.entries {
		if e.Datum == nil {
			continue
		}
		if e.Datum = nil; e.Set == 0 {
			for _, i := range e.Holders {
				c.where.Drop(i, e.Ref)
			}
			for _, i := range slices.Clone(e.spots) {
				c.forgets(i, e)
			}
		}
	}
}

// Drops yields the versions of data that a node is to drop, once.
func (c *Core) Drops(node int, yield func(datum, version int)) {
	all := c.where.Drops(node)
	for _, r := range all {
		yield(int(r.I)-1, int(r.Version))
	}
	c.where.again(node, all)
}

// Recalls yields tasks of which a node is to give back the first few that it has not begun.
func (c *Core) Recalls(yield func(node int, tasks []uint64, most int)) {
	for _, r := range c.Reclaim() {
		yield(r.From, r.Tasks, r.Most)
	}
}

// Answered notes that it has given these back.
func (c *Core) Answered(node int) { c.Acknowledged(node) }

// Back notes that a node gives a task back, of which it has all operands. A task that is for no
// other node now is ready again.
func (c *Core) Back(node int, id graph.TaskID) {
	f := c.Land(node, id)
	if f == nil {
		return
	}
	f.Task.SetState(graph.Ready)
	if !c.Returned(f) {
		c.Ready([]*graph.Task{f.Task}, -1)
	}
}
