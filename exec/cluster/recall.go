package cluster

import (
	"cmp"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Tasks that a node has been given and has not begun may go to a node that has nothing to do.
// All here is pure.

// recall is tasks that a node has been given, and that had better go to another one if they have
// not begun.
type recall struct {
	from  int
	tasks []uint64
}

// recalls returns what nodes are to give back, for others for which there is nothing else: tasks
// that these end so much sooner. There is no answer for a task that has begun but its end.
func (s *scheduler) recalls() (all []recall) {
	if s.halted || s.again || s.stay || s.late == 0 || s.open.n == 0 || !s.affords() {
		return nil
	}
	from, rest := s.busiest()
	for i := range s.seats {
		if rest < recallTime {
			break
		}
		x := &s.seats[i]
		if x.lost || x.has >= x.workers || x.asked > 0 || x.room <= 0 || len(x.waiting) > 0 || i == 0 && s.idle && !s.alone() {
			continue
		}
		if r := s.recall(i, from, rest); len(r.tasks) > 0 {
			all = append(all, r)
			from, rest = s.busiest()
		}
	}
	return all
}

// busiest returns the node with the most to do, of those that have tasks that they have not
// begun, and the seconds that it takes: 0 if there is none. What it is to give back is not its.
func (s *scheduler) busiest() (node int, rest float64) {
	for i := range s.seats {
		v := &s.seats[i]
		if r := v.load / float64(v.workers); !v.lost && v.has > 2*v.workers && r > rest {
			node, rest = i, r
		}
	}
	return node, rest
}

// recall returns what a node is to give back for another one, that which comes last there first.
func (s *scheduler) recall(to, from int, rest float64) recall {
	r := recall{from: from}
	var last []*flight
	for f := s.seats[from].flights; f != nil; f = f.next {
		if f.to < 0 && f.cost > 0 && s.movable(f) {
			last = append(last, f)
		}
	}
	slices.SortFunc(last, func(a, b *flight) int {
		return cmp.Or(cmp.Compare(a.task.Priority, b.task.Priority), cmp.Compare(b.task.ID(), a.task.ID()))
	})
	x, v := &s.seats[to], &s.seats[from]
	load := x.load / float64(x.workers)
	for _, f := range last {
		if len(r.tasks) >= 2*x.workers-x.has {
			break
		}
		if !s.fit.can(f.task, to) {
			continue
		}
		run, move := s.learned.run(to, f.task), costs{s}.Move(f.task, to)
		// Of what it has the node has done a part: half of a task on each worker, say.
		if run == 0 || load+run+2*move > rest-f.cost/2 {
			continue
		}
		load += run / float64(x.workers)
		rest -= f.cost / float64(v.workers)
		f.to = to
		x.asked++
		s.loads(from, -f.cost)
		r.tasks = append(r.tasks, uint64(f.task.ID()))
	}
	return r
}

// movable reports whether a task may leave no trace on a node that gives it back: it reads all
// that it uses, which the node then has.
func (s *scheduler) movable(f *flight) bool {
	if f.home {
		return false
	}
	for k := range f.task.Len() {
		o := f.task.Operand(k)
		if e := s.data.of(o.Datum); o.Mode&graph.In == 0 || e.copied != nil || e.unmade() {
			return false
		}
	}
	return true
}

// returned notes that a node has given a task back, of which it has all operands. It reports
// whether the task is for another node now; if not it is ready again.
func (s *scheduler) returned(f *flight) bool {
	s.back(f.node)
	if f.to < 0 {
		return false
	}
	for k := range f.task.Len() {
		o := f.task.Operand(k)
		e := s.data.of(o.Datum)
		e.read(f.node)
		e.show(o.Datum)
	}
	if s.seats[f.to].lost {
		return false
	}
	s.waits(f.to, append(s.seats[f.to].waiting, f.task))
	return true
}
