package core

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// A Core that keeps the lineage of versions can lose nodes:
//
//	LoseNode, ReturnLacking ─► tasks are ready again; one that reads lost data pauses the scheduler
//	IsHalted ─► Recover ─► tasks on a Core of their own ─► Adopt … Recover returns nil ─► Resume

// Remember makes the Core record how versions were made from now on. A record has some hundred
// bytes.
func (c *Core) Remember() { c.lineage = true }

// LoseNode notes that a node is lost. Its tasks become ready again; LoseNode returns their number.
func (c *Core) LoseNode(node int) (tasks int) {
	for _, e := range c.kept {
		e.LoseNode(node)
	}
	tasks = c.loseNode(node)
	if c.recovery != nil {
		tasks += c.recovery.loseNode(node)
	}
	return tasks
}

// loseNode does so for the tasks of this core.
func (c *Core) loseNode(node int) int {
	if c.Absent(node) {
		return 0
	}
	tasks, _ := c.RemoveNode(node) // no task has released operands early
	for _, t := range tasks {
		t.SetState(graph.Ready)
	}
	n := len(tasks)
	c.Push(tasks, -1)
	return n
}

// ReturnLacking notes that a node could not begin a task because no node gave it some values. Those
// values count as lost by all their holders. The task becomes ready again.
func (c *Core) ReturnLacking(node int, id graph.TaskID, lacks []Need) {
	f := c.Unassign(node, id)
	if f == nil {
		return
	}
	for _, x := range lacks {
		if e := c.program.entries[x.Datum]; int(e.Ref.Version) == x.Version {
			e.DropHolders(func(int) bool { return true })
		}
	}
	f.Task.SetState(graph.Ready)
	if !c.DriverOnly(f.Task) {
		c.Withdraw(node)
	}
	c.Push([]*graph.Task{f.Task}, -1)
}

// IsHalted reports whether the scheduler is paused and no task is in flight.
func (c *Core) IsHalted() bool { return c.Paused && c.InFlight.N == 0 }

// HaltIfLost pauses the scheduler if data of the job are lost, and reports whether it is paused.
func (c *Core) HaltIfLost() bool {
	if len(c.lost()) > 0 {
		c.Paused = true
	}
	return c.Paused
}

// lost returns the data of the job whose latest version no node has.
func (c *Core) lost() (all []*Entry) {
	for _, e := range c.entries {
		if e.Datum != nil && e.Lost() {
			all = append(all, e)
		}
	}
	return all
}

// Resume ends the pause. The tasks that were put aside are ready again.
func (c *Core) Resume() {
	stuck := c.stuck
	c.stuck, c.Paused = nil, false
	c.Push(stuck, -1)
}

// Recovery computes lost data again. Specs are its tasks in the order of the program, for a graph
// of their own; its Core decides about them.
type Recovery struct {
	*Core
	Specs []*graph.Spec
	Lost  int   // number of lost data
	Bytes int64 // of the lost data
	lost  []*Entry
	plan  Reconstruction
}

// Recover returns the recovery of all lost data, nil if nothing is lost. The error names a datum
// that is lost for good.
func (c *Core) Recover() (*Recovery, *NodeLostError) {
	lost := c.lost()
	p, gone := PlanFor(lost)
	switch {
	case gone != nil:
		return nil, &NodeLostError{Data: gone.Title()}
	case len(lost) == 0:
		return nil, nil
	}
	r := &Recovery{Core: &Core{choices: c.choices, program: c, lineage: true}, Lost: len(lost), lost: lost}
	s := NewScheduler(c.choices, c.directory, c.Learned, &DataIndex{})
	s.Recovering = true
	r.setScheduler(s)
	for i, x := range c.Nodes {
		if !x.lost {
			s.Admit(i, x.workers, x.memory, x.offer)
		}
	}
	s.RebuildQueue()
	r.plan = NewReconstruction(p, programs, c.newName)
	r.Specs = r.plan.Specs(s.data, lost)
	for _, e := range r.plan.StandIns {
		c.entries[e.Ref.I-1] = e
	}
	scrap := r.plan.Temporary(lost)
	r.onUnused = func(e *Entry) {
		if scrap[e] {
			s.Discard(e)
		}
	}
	for _, e := range lost {
		r.Bytes += e.Label.Bytes
	}
	for _, x := range r.Specs {
		r.Submitted(x)
	}
	c.recovery = r.Core
	return r, nil
}

// newName returns an unused name.
func (c *Core) newName(set uint64) transport.Ref {
	c.entries = append(c.entries, nil)
	return transport.Ref{Job: set, I: int32(len(c.entries))}
}

// Adopt replaces the lost data by what was computed, unless more was lost meanwhile, and drops the
// rest. The adopted data change their numbers.
func (r *Recovery) Adopt() {
	c := r.program
	if !r.broken {
		var were []transport.Ref
		for _, e := range r.lost {
			were = append(were, e.Ref)
		}
		r.plan.Adopt(r.lost, r.Scheduler)
		for i, e := range r.lost {
			if was := were[i]; was != e.Ref {
				c.entries[was.I-1], c.entries[e.Ref.I-1] = &Entry{Ref: was}, e
			}
		}
	}
	for _, e := range r.plan.StandIns {
		r.Discard(e)
	}
	for d, e := range c.data.All() {
		e.ShowHolders(d)
	}
	c.recovery = nil
}
