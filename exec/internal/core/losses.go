package core

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// A Core that remembers how versions were made can lose nodes, as a [Driver] can:
//
//	Lose, Retake ─► tasks are ready again; one that misses something is put aside, and all halt
//	Halted       ─► Remake ─► tasks of a Core of their own ─► Adopt … Remake ─► nil ─► Resume

// Remember has the Core keep how versions are made from now on, some hundred bytes for each task.
func (c *Core) Remember() { c.remembers = true }

// Lose notes that a node is lost. The tasks that it had, of which it returns the number, are ready
// again.
func (c *Core) Lose(node int) (tasks int) {
	for _, e := range c.kept {
		e.Lose(node)
	}
	tasks = c.loses(node)
	if c.again != nil {
		tasks += c.again.loses(node)
	}
	return tasks
}

func (c *Core) loses(node int) int {
	if c.Absent(node) {
		return 0
	}
	tasks, _ := c.Abandon(node) // none has handed something on
	for _, t := range tasks {
		t.SetState(graph.Ready)
	}
	n := len(tasks)
	c.Ready(tasks, -1)
	return n
}

// Retake notes that a node could not begin a task: nobody gave it some values. Those who were to
// have them count as having lost them, and the task is ready again.
func (c *Core) Retake(node int, id graph.TaskID, lacks []Need) {
	f := c.Land(node, id)
	if f == nil {
		return
	}
	for _, x := range lacks {
		if e := c.root.entries[x.Datum]; int(e.Ref.Version) == x.Version {
			e.Vain(func(int) bool { return true })
		}
	}
	f.Task.SetState(graph.Ready)
	if !c.Bound(f.Task) {
		c.Withdraw(node)
	}
	c.Ready([]*graph.Task{f.Task}, -1)
}

// Halted reports whether no task is given any more, and none is under way: something is to be made
// again, or has been as far as that goes.
func (c *Core) Halted() bool { return c.Paused && c.Flying.N == 0 }

// Halting reports whether no task is given any more.
func (c *Core) Halting() bool { return c.Paused }

// Halt has no task be given if nobody has the latest version of one of the job's data, and reports
// whether that is so.
func (c *Core) Halt() bool {
	if len(c.lost()) > 0 {
		c.Paused = true
	}
	return c.Paused
}

// lost returns the data of the job of which nobody has the latest version.
func (c *Core) lost() (all []*Entry) {
	for _, e := range c.entries {
		if e.Datum != nil && e.Lost() {
			all = append(all, e)
		}
	}
	return all
}

// Resume has tasks be given again, those first that were put aside.
func (c *Core) Resume() {
	stuck := c.stuck
	c.stuck, c.Paused = nil, false
	c.Ready(stuck, -1)
}

// Remaking is what makes again what nobody has: Specs are tasks in the order of the program, for a
// graph of their own. The Core decides about them, as about those of a program.
type Remaking struct {
	*Core
	Specs []*graph.Spec
	Lost  int   // data
	Bytes int64 // of these
	lost  []*Entry
	how   Reconstruction
}

// Remake returns what makes again what nobody has, nil if somebody has everything. If something is
// lost for good, the error names it.
func (c *Core) Remake() (*Remaking, *NodeLostError) {
	lost := c.lost()
	p, gone := PlanFor(lost)
	switch {
	case gone != nil:
		return nil, &NodeLostError{Data: gone.Called()}
	case len(lost) == 0:
		return nil, nil
	}
	r := &Remaking{Core: &Core{opt: c.opt, root: c, remembers: true}, Lost: len(lost), lost: lost}
	s := NewScheduler(c.opt, c.where, c.Learned, &DataIndex{})
	s.Again = true
	r.decides(s)
	for i, x := range c.Seats {
		if !x.lost {
			s.Admit(i, x.workers, x.memory, x.offer)
		}
	}
	s.Refresh()
	r.how = NewReconstruction(p, programs, c.name)
	r.Specs = r.how.Specs(s.data, lost)
	for _, e := range r.how.All {
		c.entries[e.Ref.I-1] = e
	}
	scrap := r.how.Scrap(lost)
	r.unused = func(e *Entry) {
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
	c.again = r.Core
	return r, nil
}

// name returns a new name for a datum.
func (c *Core) name(set uint64) transport.Ref {
	c.entries = append(c.entries, nil)
	return transport.Ref{Job: set, I: int32(len(c.entries))}
}

// Adopt has what was made take the place of what was lost, and forgets the rest. The data have
// other numbers then.
func (r *Remaking) Adopt() {
	c := r.root
	if !r.broken {
		var were []transport.Ref
		for _, e := range r.lost {
			were = append(were, e.Ref)
		}
		r.how.Adopts(r.lost, r.Scheduler)
		for i, e := range r.lost {
			if was := were[i]; was != e.Ref {
				c.entries[was.I-1], c.entries[e.Ref.I-1] = &Entry{Ref: was}, e
			}
		}
	}
	for _, e := range r.how.All {
		r.Discard(e)
	}
	for d, e := range c.data.All() {
		e.Show(d)
	}
	c.again = nil
}
