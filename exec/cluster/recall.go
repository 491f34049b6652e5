package cluster

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Tasks that a node has been given and has not begun may go to a node that has nothing to do.
// Only the node itself knows which these are. So the driver names those that may go, and how
// many it wants; the node gives so many back, if there are, and answers that this was all:
//
//	recalls ─► which, how many ─► returned, for each ─► answered
//
// All here is pure.

// recall is tasks that a node has been given, of which some had better go to another one.
type recall struct {
	from  int
	tasks []uint64 // those that had better go first come first
	most  int      // how many
}

// recalls returns what nodes are to give back, for others for which there is nothing else: tasks
// that these end so much sooner.
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
		if x.lost || x.taken+x.asked >= x.workers || x.room <= 0 || len(x.waiting) > 0 || i == 0 && s.idle && !s.alone() {
			continue
		}
		if r := s.recall(i, from); r.most > 0 {
			all = append(all, r)
			from, rest = s.busiest()
		}
	}
	return all
}

// busiest returns the node that ends what it has last, of those that have tasks that they have not
// begun, and in how many seconds: 0 if there is none. One that is to give some back is asked when
// it has answered.
func (s *scheduler) busiest() (node int, rest float64) {
	for i := range s.seats {
		v := &s.seats[i]
		begun := v.workers
		if s.owned { // what they are to read is there, as a rule
			begun *= 2
		}
		if v.lost || v.called > 0 || v.vain || v.taken <= begun {
			continue
		}
		if r := v.rest(); r > rest {
			node, rest = i, r
		}
	}
	return node, rest
}

// rest returns how many seconds a node takes for what it has: in turns of a task for each worker.
// Nobody knows if its workers all have tasks of which nothing is known.
func (x *seat) rest() float64 {
	if x.unknown >= x.workers {
		return math.Inf(1)
	}
	if x.taken == x.unknown {
		return 0
	}
	turns := (x.taken + x.workers - 1) / x.workers
	return float64(turns) * x.load / float64(x.taken-x.unknown)
}

// recall returns what a node is to give back for another one, that which comes last there first.
func (s *scheduler) recall(to, from int) recall {
	r := recall{from: from}
	x, v := &s.seats[to], &s.seats[from]
	var last []*flight
	for f := v.flights; f != nil; f = f.next {
		if f.cost > 0 && s.movable(f) && s.fit.can(f.task, to) {
			last = append(last, f)
		}
	}
	slices.SortFunc(last, func(a, b *flight) int {
		return cmp.Or(cmp.Compare(a.task.Priority, b.task.Priority), cmp.Compare(b.task.ID(), a.task.ID()))
	})
	taken, load, left := x.taken+x.asked, x.load, *v
	wait, rest := 0.0, 0.0 // as they were when the latest wanted task was chosen
	for _, f := range last {
		run, move := s.learned.run(to, f.task), costs{s}.Move(f.task, to)
		sooner := func(wait, rest float64) bool {
			// Of what it has the node has done a part: half of a task on each worker, say.
			return run > 0 && wait+run+2*move <= rest-f.cost/float64(2*f.width)
		}
		if taken < 2*x.workers && left.taken > left.workers {
			now, then := 0.0, left.rest()
			if taken >= x.workers {
				now = load / float64(x.workers)
			}
			if sooner(now, then) {
				wait, rest = now, then
				r.tasks = append(r.tasks, uint64(f.task.ID()))
				taken, load = taken+f.width, load+float64(f.width)*run
				left.taken, left.load = left.taken-f.width, left.load-f.cost
				r.most++
				continue
			}
		}
		if r.most > 0 && sooner(wait, rest) { // in place of one that has begun
			r.tasks = append(r.tasks, uint64(f.task.ID()))
		}
	}
	if r.most > 0 {
		v.called, v.caller, v.had = taken-x.taken-x.asked, to, v.has
		x.asked += v.called
	}
	return r
}

// ran notes how long a task took that has ended well. If it is the first of its op, what others cost
// that nodes have is known from now on.
func (s *scheduler) ran(ended *flight, took time.Duration) {
	if !s.learned.ran(ended.node, ended.task, ended.work, took) {
		return
	}
	for f := range s.flying.all() {
		if f.cost > 0 || f.task.Op.OpName() != ended.task.Op.OpName() {
			continue
		}
		if f.cost = float64(f.width) * (s.learned.ratio(f.node, f.task.Op) * f.work); f.cost > 0 {
			s.seats[f.node].unknown -= f.width
			s.loads(f.node, f.cost)
		}
	}
}

// movable reports whether a node may give a task back: it then has what the task reads, and drops
// what the task was to write. What an owner is to make stays there, for those who read it.
func (s *scheduler) movable(f *flight) bool {
	if f.home {
		return false
	}
	for k := range f.task.Len() {
		o := f.task.Operand(k)
		if e := s.data.of(o.Datum); e.copied != nil || e.unmade() || o.Mode&graph.In == 0 && s.owned {
			return false
		}
	}
	return true
}

// returned notes that a node has given a task back, of which it has all operands that the task
// reads. It reports whether the task is for another node now; if not it is ready again.
func (s *scheduler) returned(f *flight) bool {
	s.back(f.node)
	if s.seats[f.node].called == 0 {
		return false
	}
	for k := range f.task.Len() {
		if o := f.task.Operand(k); o.Mode&graph.In != 0 {
			e := s.data.of(o.Datum)
			e.read(f.node)
			e.show(o.Datum)
		}
	}
	for k := range f.task.Len() {
		// What has no version there has room only. On the driver, room for data of the program stays: it may
		// fetch the version early, and drop it then, as no message has the one come behind the other.
		if e := s.data.of(f.task.Operand(k).Datum); !e.has(f.node) && (f.node > 0 || e.set != 0) {
			s.where.drop(f.node, e.ref)
			s.forgets(f.node, e)
		}
	}
	to := s.seats[f.node].caller
	if s.seats[to].lost {
		return false
	}
	s.waits(to, append(s.seats[to].waiting, f.task))
	return true
}
