package core

import (
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// A task is under way, a flight, from the moment in which a node is given it:
//
//	took ─► handed … ─► land ─► leaves ─► recycle
//	    └─► handed … ─► lose                       with the node

// Took notes that a node has been given a task, and what others are to give it for that.
func (s *Scheduler) Took(t *graph.Task, node int, from []Gift) *Flight {
	x := &s.Seats[node]
	f := s.spare
	if f == nil {
		f = &Flight{}
	}
	s.spare = f.next
	f.Task, f.Node, f.next, f.prev = t, node, x.flights, nil
	if f.next != nil {
		f.next.prev = f
	}
	x.flights = f
	f.Width = s.width(t, node)
	f.work = s.Learned.workOf(t)
	f.cost = float64(f.Width) * (s.Learned.ratio(node, t.Op) * f.work)
	if x.memory.Most > 0 {
		f.uses = Uses(t, s.data)
		x.memory.Pin(f.uses)
	}
	for _, g := range from {
		if s.Absent(g.Node) { // it is lost, which kept data are about to be told
			continue
		}
		if m := s.Seats[g.Node].memory; m.Most > 0 {
			m.Pin([]*Entry{g.Of})
			f.from = append(f.from, g)
		}
	}
	s.Flying.put(uint64(t.ID()), f)
	s.grows(node, -f.Width)
	x.Has++
	x.vain = false
	s.weighs(f, 1)
	return f
}

// given notes that nobody has to give a task anything any more.
func (s *Scheduler) given(f *Flight) {
	for _, g := range f.from {
		s.Seats[g.Node].memory.Unpin([]*Entry{g.Of})
	}
	f.from = nil
}

// Recycle has a flight that has landed used for another task.
func (s *Scheduler) Recycle(f *Flight) {
	*f = Flight{next: s.spare}
	s.spare = f
}

// HeardFrom notes that a node has ended so many tasks, which took so many workers. Each lands, too.
func (s *Scheduler) HeardFrom(node, tasks, width int, now time.Time) {
	s.earns(tasks)
	if !s.Absent(node) {
		s.grows(node, s.Seats[node].pace.ended(width, now))
	}
}

// Land returns the flight of a task that a node has ended, nil if it is not that node's any
// more.
func (s *Scheduler) Land(node int, id graph.TaskID) *Flight {
	f := s.Flying.Of(uint64(id))
	if f == nil || f.Node != node {
		return nil
	}
	s.Flying.remove(uint64(id))
	x := &s.Seats[node]
	if f.next != nil {
		f.next.prev = f.prev
	}
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		x.flights = f.next
	}
	s.grows(node, f.Width)
	x.Has--
	x.vain = false
	s.weighs(f, -1)
	if x.Has == 0 {
		s.loads(node, -x.load)
	}
	x.memory.Unpin(f.uses)
	s.given(f)
	return f
}

// Abandon has a node be given nothing any more, and have nothing. It returns the tasks that it had:
// they are to be made ready again. Those that have handed something on, which others may have
// changed since, are not: they count as ended, and what is missing of them as lost.
func (s *Scheduler) Abandon(node int) (tasks []*graph.Task, ended []*Flight) {
	s.where.Lose(node)
	for d, e := range s.data.All() {
		had := e.Has(node)
		if e.Lose(node); had {
			e.Show(d)
		}
	}
	x := &s.Seats[node]
	x.memory.Lose()
	if !x.lost && node > 0 {
		s.others--
	}
	x.lost = true
	s.Acknowledged(node) // never
	s.grows(node, 0)
	s.loads(node, 0)
	for f := x.flights; f != nil; f = f.next {
		s.Flying.remove(uint64(f.Task.ID()))
		s.given(f)
		if f.Task.Gave() {
			ended = append(ended, f)
		} else {
			tasks = append(tasks, f.Task)
		}
	}
	x.flights = nil
	for _, f := range ended {
		for k := range f.Task.Len() {
			if o := f.Task.Operand(k); o.Mode&graph.Out != 0 && !f.Task.Given(k) {
				s.leavesOne(f, k, false)
				s.data.Of(o.Datum).Lose(node)
			}
		}
	}
	slices.SortFunc(tasks, byID)
	tasks = append(tasks, x.waiting...)
	s.waits(node, nil)
	s.Refresh() // what was meant for it is others'
	return tasks, ended
}

// Leaves notes what a task that has landed leaves: the next versions of what it writes, and
// copies of what it reads. What a failed task has written is a version as well: its policy may
// be that the failure does not matter.
func (s *Scheduler) Leaves(f *Flight, failed bool) {
	for k := range f.Task.Len() {
		if !f.Task.Given(k) {
			s.leavesOne(f, k, failed)
		}
	}
}

// Handed notes that a task has finished with an operand, and goes on without.
func (s *Scheduler) Handed(f *Flight, k int) {
	s.given(f) // it has all operands
	s.leavesOne(f, k, false)
	f.Task.UsedOperand(k, f.Node, 0)
	e := s.data.Of(f.Task.Operand(k).Datum)
	if i := slices.Index(f.uses, e); i >= 0 {
		s.Seats[f.Node].memory.Unpin(f.uses[i : i+1])
		f.uses = slices.Delete(f.uses, i, i+1)
	}
}

// leavesOne is leaves for one operand.
func (s *Scheduler) leavesOne(f *Flight, k int, failed bool) {
	o := f.Task.Operand(k)
	e := s.data.Of(o.Datum)
	if o.Mode&graph.Out == 0 {
		if !failed {
			e.Read(f.Node)
		} else if !e.Has(f.Node) { // it may not have begun
			e.Leaves(f.Node)
		}
		return
	}
	if !First(f.Task, k) {
		return
	}
	made := f.Made
	if failed {
		made = nil
	}
	for at := len(e.spots) - 1; at >= 0; at-- {
		i := e.spots[at]
		if i != f.Node && s.forgets(i, e) && !e.Has(i) { // zeros, or not come
			s.where.Drop(i, e.Ref)
		}
	}
	s.where.Written(e, f.Node, made)
	e.Copied = nil
}

// Discard has nodes drop a datum, also those that have a place for it and nothing in it.
func (s *Scheduler) Discard(e *Entry) {
	for _, h := range e.Holders {
		s.where.Drop(h, e.Ref)
		s.forgets(h, e)
	}
	e.Holders = nil
	for _, h := range slices.Clone(e.spots) {
		s.where.Drop(h, e.Ref)
		s.forgets(h, e)
	}
}

// Shed has nodes drop copies that no task will read any more: all but the first, and the
// driver's.
func (s *Scheduler) Shed(e *Entry) {
	if len(e.Holders) < 2 {
		return
	}
	for _, h := range e.Holders[1:] {
		if h > 0 {
			s.where.Drop(h, e.Ref)
			s.forgets(h, e)
		}
	}
	first := e.Holders[0]
	e.Holders = slices.DeleteFunc(e.Holders, func(h int) bool { return h != first && h > 0 })
	e.Shares = e.Shares[:0]
}
