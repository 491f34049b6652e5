package core

import (
	"iter"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Core combines a scheduler, the directory and the data of a program, for a simulation that has its
// own time. It has no goroutine, clock, lock or message. Node 0 is the driver; the others are
// numbered in the order in which they join. Data are numbered in the order in which tasks first use
// them.
//
//	AddNode, RebuildQueue                          a node joins
//	Datum, Push ─► Assignments ─► Give             a task goes to a node, which fetches the returned values
//	NoteEnded, EndTask ─► Push ─► Assignments …    the task has ended
//	Reclaim ─► ReturnTask … EndRecall              or the node gives it back
//	LoseNode ─► Recover …                          a node is lost (recovery.go)
type Core struct {
	*Scheduler
	choices   Choices
	kept      map[any]*Entry // by value: data that stay on nodes between jobs
	entries   []*Entry       // by number
	sealed    bool           // no more tasks come before the submitted ones have ended
	unused    []*Entry       // data that no task uses any more, for the driver to fetch now
	transfers []Transfer     // scratch of Give

	// For the loss of nodes (recovery.go):
	lineage  bool          // keeps how versions were made
	job      uint64        // number of the job
	stuck    []*graph.Task // tasks that read lost data; no task starts until the data have been computed again
	recovery *Core         // computes lost data again; nil if nothing is being computed again
	program  *Core         // the core of the program; a recovery's core points to the one it works for
	broken   bool          // more data were lost during the recovery
	onUnused func(*Entry)  // called for a datum that no task uses any more; may be nil
}

// programs is the set of the data that a job brings, in contrast to kept data.
const programs = 2

// NewCore returns a Core without nodes.
func NewCore(o Choices) *Core {
	c := &Core{choices: o, kept: map[any]*Entry{}}
	c.program = c
	c.setScheduler(NewScheduler(c.choices, &Directory{}, &Experience{}, &DataIndex{}))
	return c
}

// setScheduler installs a scheduler.
func (c *Core) setScheduler(s *Scheduler) {
	c.Scheduler = s
	c.unitWidth = true // one simulated worker has all the units of a task
	c.WillRun = func(*graph.Task) bool { return true }
	c.DriverOnly = func(t *graph.Task) bool {
		op, ok := t.Op.(*versions.Op)
		return !ok || op.Bound || t.Shadowed()
	}
}

// AddNode admits a node with workers of some kinds. The selector says what they can execute. The
// cap limits the bytes of its operands; 0 means no cap. RebuildQueue must follow.
func (c *Core) AddNode(node int, cap int64, kinds []Kind, s *versions.Selector) {
	o := &Offer{Kinds: kinds, Missing: make([]map[string][]string, len(kinds)), Selector: s}
	for i := range c.Nodes { // equal nodes share an offer
		if x := c.Nodes[i].offer; x != nil && x.isLike(o) && x.Workers() == o.Workers() {
			o = x
			break
		}
	}
	c.Admit(node, o.Workers(), &Memory{Node: node, Cap: cap}, o)
}

// Keep adds a value that stays on nodes when a job ends. It is zero until a task writes it.
func (c *Core) Keep(value any) {
	c.kept[value] = newEntry(1, transport.Ref{Job: 1})
}

// HolderOf returns a node that has a kept value, −1 if none has.
func (c *Core) HolderOf(value any) int { return c.kept[value].FirstHolder() }

// Release ends Keep.
func (c *Core) Release(value any) {
	if e := c.kept[value]; e != nil {
		for _, i := range slices.Clone(e.Holders) {
			c.directory.MarkStale(i, e.Ref)
			c.forget(i, e)
		}
		delete(c.kept, value)
	}
}

// Knows reports whether a task of this job has used a datum.
func (c *Core) Knows(d *graph.Datum) bool { return c.data.Of(d) != nil }

// Datum returns the number of a datum. A datum that is not kept starts in the program's memory, on
// the driver.
func (c *Core) Datum(d *graph.Datum) int {
	e := c.data.Of(d)
	if e == nil {
		if e = c.kept[d.Value]; e == nil {
			e = newEntry(0, transport.Ref{Job: programs})
			e.NoteHome(false)
		}
		if e.Ref.I == 0 {
			c.entries = append(c.entries, e)
			e.Ref.I = int32(len(c.entries))
		}
		e.Label, e.Datum, e.Sendable = LabelOf(d), d, true
		c.data.Put(d, e)
	}
	return int(e.Ref.I) - 1
}

// Version returns the version of a datum that tasks given out now read.
func (c *Core) Version(datum int) int { return int(c.program.entries[datum].Ref.Version) }

// Holders returns the nodes that have that version, or the version from which a stand-in starts as
// a copy.
func (c *Core) Holders(datum int) []int { return c.program.entries[datum].Holders }

// Submitted counts the operands of a task that was submitted.
func (c *Core) Submitted(s *graph.Spec) {
	for i := range s.Operands {
		c.data.Of(s.Operands[i].Datum).Users++
	}
}

// Assignments yields tasks and their nodes while nodes have free slots. The caller passes each to
// Give at once. Beside Picks it yields a task that waits for memory if nothing else can run, and it
// puts aside tasks that read lost data.
func (c *Core) Assignments() iter.Seq2[*graph.Task, int] {
	return func(yield func(*graph.Task, int) bool) {
		for !c.Paused {
			for t, i := range c.Picks() {
				if !c.putAside(t, i) && !yield(t, i) {
					return
				}
			}
			if c.Paused {
				return
			}
			t, i := c.Squeeze()
			if t == nil || i < 0 || !c.putAside(t, i) && !yield(t, i) {
				return
			}
		}
	}
}

// putAside reports whether a task reads lost data. It then keeps the task for later and pauses the
// scheduler.
func (c *Core) putAside(t *graph.Task, node int) bool {
	if !c.lineage || !c.ReadsLost(t) {
		return false
	}
	if !c.DriverOnly(t) {
		c.Withdraw(node)
	}
	if c.Paused = true; c.program == c {
		c.stuck = append(c.stuck, t)
	} else {
		c.broken = true
	}
	return true
}

// TakeUnfit returns and forgets the tasks that no node can execute or has the memory for.
func (c *Core) TakeUnfit() (all []*graph.Task) {
	if c.Paused {
		return nil
	}
	all, c.Misfits = c.Misfits, nil
	if t, i := c.Squeeze(); t != nil && i < 0 {
		all = append(all, t)
	}
	return all
}

// Need is a value that a node has to fetch for a task.
type Need struct {
	Datum   int
	Version int
	From    int // the node that gives it, as soon as it has it
	Bytes   int64
}

// Give assigns a task to a node and appends to needs the values that the node has to fetch.
func (c *Core) Give(t *graph.Task, node int, needs []Need) []Need {
	c.transfers = c.transfers[:0]
	var made *Record
	if c.lineage && !c.DriverOnly(t) {
		made = RecordOf(c.job, t)
	}
	for k := range t.Len() {
		o := t.Operand(k)
		e := c.data.Of(o.Datum)
		if made != nil {
			made.Uses = append(made.Uses, Use{e, e.Version, o.Mode})
		}
		if o.Mode&graph.In == 0 || e.Has(node) || FirstUse(t, k) < k {
			continue
		}
		if from, _ := e.sourceFor(node, nil); from >= 0 {
			c.transfers = append(c.transfers, Transfer{e, from})
			needs = append(needs, Need{int(e.Ref.I) - 1, int(e.Ref.Version), from, o.Datum.Bytes})
		}
	}
	t.SetState(graph.Running)
	c.Assign(t, node, c.transfers).Record = made
	return needs
}

// At returns a time of the virtual clock. It is never the zero Time.
func At(at time.Duration) time.Time { return time.Unix(0, 0).Add(at) }

// EndTask notes that a node has executed a task in the given time. It returns the task for the
// caller to end in its graph, or nil if the node does not have the task any more.
func (c *Core) EndTask(node int, id graph.TaskID, took time.Duration) *graph.Task {
	f := c.Unassign(node, id)
	if f == nil {
		return nil
	}
	t := f.Task
	c.NoteResults(f, false)
	if c.DriverOnly(t) { // it ran in the program's memory
		for k := range t.Len() {
			o := t.Operand(k)
			if e := c.data.Of(o.Datum); o.Mode&graph.Out != 0 && IsFirstWrite(t, k) && e.Set == 0 {
				e.NoteHome(c.lineage && e.Home.Version != e.Version-1) // otherwise it wrote in place
			}
		}
	}
	t.Used(node, 0)
	c.NoteRun(f, took)
	for k := range t.Len() {
		e := c.data.Of(t.Operand(k).Datum)
		if e.Users--; e.Users > 0 {
			continue
		}
		if c.sealed {
			c.dropUnused(e)
		}
		if c.onUnused != nil {
			c.onUnused(e)
		}
	}
	c.Recycle(f)
	return t
}

// Seal notes that the program submits nothing until all tasks have ended. Copies that no task reads
// any more can go from then on.
func (c *Core) Seal() {
	c.sealed = true
	for _, e := range c.entries {
		if e.Datum != nil && e.Users == 0 {
			c.dropUnused(e)
		}
	}
}

// dropUnused drops the copies of a datum that no task uses any more. A driver that executes nothing
// itself fetches the datum now, as a live driver does.
func (c *Core) dropUnused(e *Entry) {
	c.DropCopies(e)
	if c.choices.Idle && e.homeStale() && len(e.Holders) > 0 && !e.Has(0) {
		c.unused = append(c.unused, e)
	}
}

// EarlyFetches yields each datum that the driver can fetch before Wait, once.
func (c *Core) EarlyFetches() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for len(c.unused) > 0 {
			e := c.unused[0]
			c.unused = c.unused[1:]
			if !e.Lost() && !yield(e.need()) {
				return
			}
		}
	}
}

// NoteFetched notes that the driver has a version, unless it is outdated by now.
func (c *Core) NoteFetched(x Need) {
	if e := c.entries[x.Datum]; int(e.Ref.Version) == x.Version {
		e.AddHolder(0)
	}
}

// need returns the latest version as a value for the driver to fetch. Some node must have it.
func (e *Entry) need() Need {
	return Need{int(e.Ref.I) - 1, int(e.Ref.Version), e.Sources(nil)[0], e.Label.Bytes}
}

// Unseal ends Seal.
func (c *Core) Unseal() { c.sealed = false }

// LateFetches yields the values that the driver has to fetch for the program's memory to be up to
// date.
func (c *Core) LateFetches() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for _, e := range c.entries {
			if e.homeStale() && len(e.Holders) > 0 && !e.Has(0) && !yield(e.need()) {
				return
			}
		}
	}
}

// homeStale reports whether the datum lies in the program's memory and that is out of date.
func (e *Entry) homeStale() bool {
	return e.Set == 0 && e.Datum != nil && !(e.Home.Present && e.Home.Version == e.Version)
}

// NoteAllHome notes that the program's memory is up to date.
func (c *Core) NoteAllHome() {
	for _, e := range c.entries {
		if e.homeStale() {
			e.NoteHome(false)
		}
	}
}

// EndJob forgets the data of a job, except kept ones.
func (c *Core) EndJob() {
	*c.data = DataIndex{}
	c.unused = nil
	c.job++
	for _, e := range c.entries {
		if e.Datum == nil {
			continue
		}
		if e.Datum = nil; e.Set == 0 {
			for _, i := range e.Holders {
				c.directory.MarkStale(i, e.Ref)
			}
			for _, i := range slices.Clone(e.cappedAt) {
				c.forget(i, e)
			}
		}
	}
}

// TakeDrops yields, once, the versions that a node is to drop.
func (c *Core) TakeDrops(node int, yield func(datum, version int)) {
	all := c.directory.TakeStale(node)
	for _, r := range all {
		yield(int(r.I)-1, int(r.Version))
	}
	c.directory.reuseStale(node, all)
}

// ReturnTask notes that a node gives back a task that has not begun and whose operands it has. The
// task goes to the node that asked for it, or becomes ready again.
func (c *Core) ReturnTask(node int, id graph.TaskID) {
	f := c.Unassign(node, id)
	if f == nil {
		return
	}
	f.Task.SetState(graph.Ready)
	if !c.TakeBack(f) {
		c.Push([]*graph.Task{f.Task}, -1)
	}
}
