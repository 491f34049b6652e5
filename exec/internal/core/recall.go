package core

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Tasks that have not begun on one node may go to another node that has nothing to do. Only the
// node itself knows which have not begun. So the driver names candidates and a number; the node
// gives back up to that number and then says that it is done:
//
//	Reclaim ─► Recall{Tasks, Count} ─► TakeBack, for each task ─► EndRecall
//
// This file is pure.

// Recall asks a node to give back tasks.
type Recall struct {
	From  int
	Tasks []uint64 // the candidates, the preferred first
	Count int      // how many to give back at most
}

// Reclaim returns the recalls for nodes that have nothing else to do, of tasks that these would end
// much sooner.
func (s *Scheduler) Reclaim() (all []Recall) {
	if s.Paused || s.Recovering || s.stay || s.loaded == 0 || s.open.n == 0 || !s.canSearch() {
		return nil
	}
	from, rest := s.busiest()
	for i := range s.Nodes {
		if rest < recallTime {
			break
		}
		x := &s.Nodes[i]
		if x.lost || x.used+x.recalled >= x.workers || x.slots <= 0 || len(x.waiting) > 0 ||
			i == 0 && s.driverIdle && !s.DriverAlone() {
			continue
		}
		if r := s.recallFor(i, from); r.Count > 0 {
			all = append(all, r)
			from, rest = s.busiest()
		}
	}
	return all
}

// busiest returns the node that ends its tasks last, among those with tasks that have not begun,
// and the seconds until then; 0 seconds if there is none. A node with an open recall does not
// count.
func (s *Scheduler) busiest() (node int, rest float64) {
	for i := range s.Nodes {
		v := &s.Nodes[i]
		begun := v.workers
		if s.byOwner { // the operands of owned tasks are there as a rule, so one more a worker stays
			begun *= 2
		}
		if v.lost || v.RecallWorkers > 0 || v.nothingToRecall || v.used <= begun {
			continue
		}
		if r := v.secondsLeft(); r > rest {
			node, rest = i, r
		}
	}
	return node, rest
}

// secondsLeft returns the seconds that a node takes for its tasks, in rounds of one task a worker.
// It is infinite if every worker may be busy with a task of unknown length.
func (x *nodeState) secondsLeft() float64 {
	if x.unknown >= x.workers {
		return math.Inf(1)
	}
	if x.used == x.unknown {
		return 0
	}
	turns := (x.used + x.workers - 1) / x.workers
	return float64(turns) * x.load / float64(x.used-x.unknown)
}

// recallFor returns the recall that moves tasks from one node to another. The task that the first
// would begin last comes first.
func (s *Scheduler) recallFor(to, from int) Recall {
	r := Recall{From: from}
	x, v := &s.Nodes[to], &s.Nodes[from]
	var last []*Flight
	for f := v.flights; f != nil; f = f.next {
		if f.cost > 0 && s.isMovable(f) && s.Fit.can(f.Task, to) {
			last = append(last, f)
		}
	}
	slices.SortFunc(last, func(a, b *Flight) int {
		return cmp.Or(cmp.Compare(a.Task.Priority, b.Task.Priority), cmp.Compare(b.Task.ID(), a.Task.ID()))
	})
	taken, load, left := x.used+x.recalled, x.load, *v
	wait, rest := 0.0, 0.0 // when the last counted task was chosen
	for _, f := range last {
		run, move := s.Learned.runTime(to, f.Task), costs{s}.Move(f.Task, to)
		sooner := func(wait, rest float64) bool {
			// The node has done a part of its work: assume half of a task on each worker.
			return run > 0 && wait+run+2*move <= rest-f.cost/float64(2*f.Width)
		}
		if taken < 2*x.workers && left.used > left.workers {
			now, then := 0.0, left.secondsLeft()
			if taken >= x.workers {
				now = load / float64(x.workers)
			}
			if sooner(now, then) {
				wait, rest = now, then
				r.Tasks = append(r.Tasks, uint64(f.Task.ID()))
				taken, load = taken+f.Width, load+float64(f.Width)*run
				left.used, left.load = left.used-f.Width, left.load-f.cost
				r.Count++
				continue
			}
		}
		if r.Count > 0 && sooner(wait, rest) { // a substitute for one that has begun
			r.Tasks = append(r.Tasks, uint64(f.Task.ID()))
		}
	}
	if r.Count > 0 {
		v.RecallWorkers, v.RecallFor, v.recallTasks = taken-x.used-x.recalled, to, v.Tasks
		x.recalled += v.RecallWorkers
	}
	return r
}

// NoteRun notes how long a task took that has ended well. If it is the first of its op, the cost of
// other flights of the op is known from now on.
func (s *Scheduler) NoteRun(ended *Flight, took time.Duration) {
	if !s.Learned.learnRun(ended.Node, ended.Task, ended.work, took) {
		return
	}
	for f := range s.InFlight.all() {
		if f.cost > 0 || f.Task.Op.OpName() != ended.Task.Op.OpName() {
			continue
		}
		if f.cost = float64(f.Width) * (s.Learned.secondsPerUnit(f.Node, f.Task.Op) * f.work); f.cost > 0 {
			s.Nodes[f.Node].unknown -= f.Width
			s.addLoad(f.Node, f.cost)
		}
	}
}

// isMovable reports whether a node may give a task back. The node then keeps the operands that the
// task reads and drops memory for those it writes. A task that only writes an owned datum stays
// with the owner, near the readers.
func (s *Scheduler) isMovable(f *Flight) bool {
	if f.InPlace || f.Grouped {
		return false
	}
	for k := range f.Task.Len() {
		o := f.Task.Operand(k)
		if e := s.data.Of(o.Datum); e.CopiedFrom != nil || e.Unwritten() || o.Mode&graph.In == 0 && s.byOwner {
			return false
		}
	}
	return true
}

// TakeBack notes that a node gives a task back, and has all operands that the task reads. It
// reports whether the task is queued at the node that asked for it; otherwise the caller makes it
// ready again.
func (s *Scheduler) TakeBack(f *Flight) bool {
	s.Withdraw(f.Node)
	if s.Nodes[f.Node].RecallWorkers == 0 {
		return false
	}
	s.NoteReturned(f)
	to := s.Nodes[f.Node].RecallFor
	if s.Nodes[to].lost {
		return false
	}
	s.setWaiting(to, append(s.Nodes[to].waiting, f.Task))
	return true
}

// NoteReturned notes that a node has all operands that a task reads, and has not begun the task.
func (s *Scheduler) NoteReturned(f *Flight) {
	for k := range f.Task.Len() {
		if o := f.Task.Operand(k); o.Mode&graph.In != 0 {
			e := s.data.Of(o.Datum)
			if e.Unwritten() { // the node makes zeros again
				continue
			}
			e.AddHolder(f.Node)
			e.ShowHolders(o.Datum)
		}
	}
	for k := range f.Task.Len() {
		// The node only has memory for what has no version there. The driver keeps such memory for
		// data of the program: it may be fetching the version early, and a drop could overtake
		// that.
		if e := s.data.Of(f.Task.Operand(k).Datum); !e.Has(f.Node) && (f.Node > 0 || e.Set != 0) {
			s.directory.MarkStale(f.Node, e.Ref)
			s.forget(f.Node, e)
		}
	}
}
