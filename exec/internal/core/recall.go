package core

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

// Recall is tasks that a node has been given, of which some had better go to another one.
type Recall struct {
	From  int
	Tasks []uint64 // those that had better go first come first
	Most  int      // how many
}

// Reclaim returns what nodes are to give back, for others for which there is nothing else: tasks
// that these end so much sooner.
func (s *Scheduler) Reclaim() (all []Recall) {
	if s.Paused || s.Again || s.stay || s.late == 0 || s.open.n == 0 || !s.affords() {
		return nil
	}
	from, rest := s.busiest()
	for i := range s.Seats {
		if rest < recallTime {
			break
		}
		x := &s.Seats[i]
		if x.lost || x.taken+x.asked >= x.workers || x.room <= 0 || len(x.waiting) > 0 || i == 0 && s.idle && !s.Alone() {
			continue
		}
		if r := s.recall(i, from); r.Most > 0 {
			all = append(all, r)
			from, rest = s.busiest()
		}
	}
	return all
}

// busiest returns the node that ends what it has last, of those that have tasks that they have not
// begun, and in how many seconds: 0 if there is none. One that is to give some back is asked when
// it has answered.
func (s *Scheduler) busiest() (node int, rest float64) {
	for i := range s.Seats {
		v := &s.Seats[i]
		begun := v.workers
		if s.owned { // what they are to read is there, as a rule
			begun *= 2
		}
		if v.lost || v.Called > 0 || v.vain || v.taken <= begun {
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
func (s *Scheduler) recall(to, from int) Recall {
	r := Recall{From: from}
	x, v := &s.Seats[to], &s.Seats[from]
	var last []*Flight
	for f := v.flights; f != nil; f = f.next {
		if f.cost > 0 && s.movable(f) && s.Fit.can(f.Task, to) {
			last = append(last, f)
		}
	}
	slices.SortFunc(last, func(a, b *Flight) int {
		return cmp.Or(cmp.Compare(a.Task.Priority, b.Task.Priority), cmp.Compare(b.Task.ID(), a.Task.ID()))
	})
	taken, load, left := x.taken+x.asked, x.load, *v
	wait, rest := 0.0, 0.0 // as they were when the latest wanted task was chosen
	for _, f := range last {
		run, move := s.Learned.run(to, f.Task), costs{s}.Move(f.Task, to)
		sooner := func(wait, rest float64) bool {
			// Of what it has the node has done a part: half of a task on each worker, say.
			return run > 0 && wait+run+2*move <= rest-f.cost/float64(2*f.Width)
		}
		if taken < 2*x.workers && left.taken > left.workers {
			now, then := 0.0, left.rest()
			if taken >= x.workers {
				now = load / float64(x.workers)
			}
			if sooner(now, then) {
				wait, rest = now, then
				r.Tasks = append(r.Tasks, uint64(f.Task.ID()))
				taken, load = taken+f.Width, load+float64(f.Width)*run
				left.taken, left.load = left.taken-f.Width, left.load-f.cost
				r.Most++
				continue
			}
		}
		if r.Most > 0 && sooner(wait, rest) { // in place of one that has begun
			r.Tasks = append(r.Tasks, uint64(f.Task.ID()))
		}
	}
	if r.Most > 0 {
		v.Called, v.Caller, v.had = taken-x.taken-x.asked, to, v.Has
		x.asked += v.Called
	}
	return r
}

// Ran notes how long a task took that has ended well. If it is the first of its op, what others cost
// that nodes have is known from now on.
func (s *Scheduler) Ran(ended *Flight, took time.Duration) {
	if !s.Learned.ran(ended.Node, ended.Task, ended.work, took) {
		return
	}
	for f := range s.Flying.all() {
		if f.cost > 0 || f.Task.Op.OpName() != ended.Task.Op.OpName() {
			continue
		}
		if f.cost = float64(f.Width) * (s.Learned.ratio(f.Node, f.Task.Op) * f.work); f.cost > 0 {
			s.Seats[f.Node].unknown -= f.Width
			s.loads(f.Node, f.cost)
		}
	}
}

// movable reports whether a node may give a task back: it then has what the task reads, and drops
// what the task was to write. What an owner is to make stays there, for those who read it.
func (s *Scheduler) movable(f *Flight) bool {
	if f.Home {
		return false
	}
	for k := range f.Task.Len() {
		o := f.Task.Operand(k)
		if e := s.data.Of(o.Datum); e.Copied != nil || e.Unmade() || o.Mode&graph.In == 0 && s.owned {
			return false
		}
	}
	return true
}

// Returned notes that a node has given a task back, of which it has all operands that the task
// reads. It reports whether the task is for another node now; if not it is ready again.
func (s *Scheduler) Returned(f *Flight) bool {
	s.Withdraw(f.Node)
	if s.Seats[f.Node].Called == 0 {
		return false
	}
	for k := range f.Task.Len() {
		if o := f.Task.Operand(k); o.Mode&graph.In != 0 {
			e := s.data.Of(o.Datum)
			e.Read(f.Node)
			e.Show(o.Datum)
		}
	}
	for k := range f.Task.Len() {
		// What has no version there has room only. On the driver, room for data of the program stays: it may
		// fetch the version early, and drop it then, as no message has the one come behind the other.
		if e := s.data.Of(f.Task.Operand(k).Datum); !e.Has(f.Node) && (f.Node > 0 || e.Set != 0) {
			s.where.Drop(f.Node, e.Ref)
			s.forgets(f.Node, e)
		}
	}
	to := s.Seats[f.Node].Caller
	if s.Seats[to].lost {
		return false
	}
	s.waits(to, append(s.Seats[to].waiting, f.Task))
	return true
}
