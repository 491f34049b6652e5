package cluster

import (
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// A task is under way, a flight, from the moment in which a node is given it:
//
//	took ─► handed … ─► land ─► leaves ─► recycle
//	    └─► handed … ─► lose                       with the node

// took notes that a node has been given a task, and what others are to give it for that.
func (s *scheduler) took(t *graph.Task, node int, from []gift) *flight {
	x := &s.seats[node]
	f := s.spare
	if f == nil {
		f = &flight{}
	}
	s.spare = f.next
	f.task, f.node, f.next, f.prev = t, node, x.flights, nil
	if f.next != nil {
		f.next.prev = f
	}
	x.flights = f
	f.width = s.width(t, node)
	f.work = s.learned.workOf(t)
	f.cost = float64(f.width) * (s.learned.ratio(node, t.Op) * f.work)
	if x.memory.most > 0 {
		f.uses = uses(t, s.data)
		x.memory.pin(f.uses)
	}
	for _, g := range from {
		if s.absent(g.node) { // it is lost, which kept data are about to be told
			continue
		}
		if m := s.seats[g.node].memory; m.most > 0 {
			m.pin([]*entry{g.of})
			f.from = append(f.from, g)
		}
	}
	s.flying.put(uint64(t.ID()), f)
	s.grows(node, -f.width)
	x.has++
	x.vain = false
	s.weighs(f, 1)
	return f
}

// given notes that nobody has to give a task anything any more.
func (s *scheduler) given(f *flight) {
	for _, g := range f.from {
		s.seats[g.node].memory.unpin([]*entry{g.of})
	}
	f.from = nil
}

// recycle has a flight that has landed used for another task.
func (s *scheduler) recycle(f *flight) {
	*f = flight{next: s.spare}
	s.spare = f
}

// heard notes that a node has ended so many tasks, which took so many workers. Each lands, too.
func (s *scheduler) heard(node, tasks, width int, now time.Time) {
	s.earns(tasks)
	if !s.absent(node) {
		s.grows(node, s.seats[node].pace.ended(width, now))
	}
}

// land returns the flight of a task that a node has ended, nil if it is not that node's any
// more.
func (s *scheduler) land(node int, id graph.TaskID) *flight {
	f := s.flying.of(uint64(id))
	if f == nil || f.node != node {
		return nil
	}
	s.flying.remove(uint64(id))
	x := &s.seats[node]
	if f.next != nil {
		f.next.prev = f.prev
	}
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		x.flights = f.next
	}
	s.grows(node, f.width)
	x.has--
	x.vain = false
	s.weighs(f, -1)
	if x.has == 0 {
		s.loads(node, -x.load)
	}
	x.memory.unpin(f.uses)
	s.given(f)
	return f
}

// lose has a node be given nothing any more, and have nothing. It returns the tasks that it had:
// they are to be made ready again. Those that have handed something on, which others may have
// changed since, are not: they count as ended, and what is missing of them as lost.
func (s *scheduler) lose(node int) (tasks []*graph.Task, ended []*flight) {
	s.where.lose(node)
	for d, e := range s.data.all() {
		had := e.has(node)
		if e.lose(node); had {
			e.show(d)
		}
	}
	x := &s.seats[node]
	x.memory.lose()
	if !x.lost && node > 0 {
		s.others--
	}
	x.lost = true
	s.answered(node) // never
	s.grows(node, 0)
	s.loads(node, 0)
	for f := x.flights; f != nil; f = f.next {
		s.flying.remove(uint64(f.task.ID()))
		s.given(f)
		if f.task.Gave() {
			ended = append(ended, f)
		} else {
			tasks = append(tasks, f.task)
		}
	}
	x.flights = nil
	for _, f := range ended {
		for k := range f.task.Len() {
			if o := f.task.Operand(k); o.Mode&graph.Out != 0 && !f.task.Given(k) {
				s.leavesOne(f, k, false)
				s.data.of(o.Datum).lose(node)
			}
		}
	}
	slices.SortFunc(tasks, byID)
	tasks = append(tasks, x.waiting...)
	s.waits(node, nil)
	s.renew() // what was meant for it is others'
	return tasks, ended
}

// leaves notes what a task that has landed leaves: the next versions of what it writes, and
// copies of what it reads. What a failed task has written is a version as well: its policy may
// be that the failure does not matter.
func (s *scheduler) leaves(f *flight, failed bool) {
	for k := range f.task.Len() {
		if !f.task.Given(k) {
			s.leavesOne(f, k, failed)
		}
	}
}

// handed notes that a task has finished with an operand, and goes on without.
func (s *scheduler) handed(f *flight, k int) {
	s.given(f) // it has all operands
	s.leavesOne(f, k, false)
	f.task.UsedOperand(k, f.node, 0)
	e := s.data.of(f.task.Operand(k).Datum)
	if i := slices.Index(f.uses, e); i >= 0 {
		s.seats[f.node].memory.unpin(f.uses[i : i+1])
		f.uses = slices.Delete(f.uses, i, i+1)
	}
}

// leavesOne is leaves for one operand.
func (s *scheduler) leavesOne(f *flight, k int, failed bool) {
	o := f.task.Operand(k)
	e := s.data.of(o.Datum)
	if o.Mode&graph.Out == 0 {
		if !failed {
			e.read(f.node)
		} else if !e.has(f.node) { // it may not have begun
			e.leaves(f.node)
		}
		return
	}
	if !first(f.task, k) {
		return
	}
	made := f.made
	if failed {
		made = nil
	}
	for at := len(e.spots) - 1; at >= 0; at-- {
		i := e.spots[at]
		if i != f.node && s.forgets(i, e) && !e.has(i) { // zeros, or not come
			s.where.drop(i, e.ref)
		}
	}
	s.where.written(e, f.node, made)
	e.copied = nil
}

// discard has nodes drop a datum, also those that have a place for it and nothing in it.
func (s *scheduler) discard(e *entry) {
	for _, h := range e.holders {
		s.where.drop(h, e.ref)
		s.forgets(h, e)
	}
	e.holders = nil
	for _, h := range slices.Clone(e.spots) {
		s.where.drop(h, e.ref)
		s.forgets(h, e)
	}
}

// shed has nodes drop copies that no task will read any more: all but the first, and the
// driver's.
func (s *scheduler) shed(e *entry) {
	if len(e.holders) < 2 {
		return
	}
	for _, h := range e.holders[1:] {
		if h > 0 {
			s.where.drop(h, e.ref)
			s.forgets(h, e)
		}
	}
	first := e.holders[0]
	e.holders = slices.DeleteFunc(e.holders, func(h int) bool { return h != first && h > 0 })
	e.shares = e.shares[:0]
}
