package cluster

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
		e.lose(node)
	}
	tasks = c.loses(node)
	if c.again != nil {
		tasks += c.again.loses(node)
	}
	return tasks
}

func (c *Core) loses(node int) int {
	if c.absent(node) {
		return 0
	}
	tasks, _ := c.lose(node) // none has handed something on
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
	f := c.land(node, id)
	if f == nil {
		return
	}
	for _, x := range lacks {
		if e := c.root.entries[x.Datum]; int(e.ref.Version) == x.Version {
			e.vain(func(int) bool { return true })
		}
	}
	f.task.SetState(graph.Ready)
	if !c.bound(f.task) {
		c.back(node)
	}
	c.Ready([]*graph.Task{f.task}, -1)
}

// Halted reports whether no task is given any more, and none is under way: something is to be made
// again, or has been as far as that goes.
func (c *Core) Halted() bool { return c.halted && c.flying.n == 0 }

// Halting reports whether no task is given any more.
func (c *Core) Halting() bool { return c.halted }

// Halt has no task be given if nobody has the latest version of one of the job's data, and reports
// whether that is so.
func (c *Core) Halt() bool {
	if len(c.lost()) > 0 {
		c.halted = true
	}
	return c.halted
}

// lost returns the data of the job of which nobody has the latest version.
func (c *Core) lost() (all []*entry) {
	for _, e := range c.entries {
		if e.datum != nil && e.lost() {
			all = append(all, e)
		}
	}
	return all
}

// Resume has tasks be given again, those first that were put aside.
func (c *Core) Resume() {
	stuck := c.stuck
	c.stuck, c.halted = nil, false
	c.Ready(stuck, -1)
}

// Remaking is what makes again what nobody has: Specs are tasks in the order of the program, for a
// graph of their own. The Core decides about them, as about those of a program.
type Remaking struct {
	*Core
	Specs []*graph.Spec
	Lost  int   // data
	Bytes int64 // of these
	lost  []*entry
	how   remaking
}

// Remake returns what makes again what nobody has, nil if somebody has everything. If something is
// lost for good, the error names it.
func (c *Core) Remake() (*Remaking, *NodeLostError) {
	lost := c.lost()
	p, gone := planFor(lost)
	switch {
	case gone != nil:
		return nil, &NodeLostError{Data: gone.called()}
	case len(lost) == 0:
		return nil, nil
	}
	r := &Remaking{Core: &Core{opt: c.opt, root: c, remembers: true}, Lost: len(lost), lost: lost}
	s := newScheduler(&c.opt, c.where, c.learned, &dataIndex{})
	s.again = true
	r.decides(s)
	for i, x := range c.seats {
		if !x.lost {
			s.enter(i, x.workers, x.memory, x.offer)
		}
	}
	s.renew()
	r.how = newRemaking(p, programs, c.name)
	r.Specs = r.how.specs(s.data, lost)
	for _, e := range r.how.all {
		c.entries[e.ref.I-1] = e
	}
	scrap := r.how.scrap(lost)
	r.unused = func(e *entry) {
		if scrap[e] {
			s.discard(e)
		}
	}
	for _, e := range lost {
		r.Bytes += e.label.bytes
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
			were = append(were, e.ref)
		}
		r.how.adopts(r.lost, r.scheduler)
		for i, e := range r.lost {
			if was := were[i]; was != e.ref {
				c.entries[was.I-1], c.entries[e.ref.I-1] = &entry{ref: was}, e
			}
		}
	}
	for _, e := range r.how.all {
		r.discard(e)
	}
	for d, e := range c.data.all() {
		e.show(d)
	}
	c.again = nil
}
