package core

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// Scheduler decides which node gets which task of a job, and when. It is told what happens,
// and at what time; it answers with what to give to whom:
//
//	enter, lose ─► seats          how many tasks a node may have, its memory, what it can execute
//	ready, only ─► queue          the policy, or one node's own
//	            └► unfit          tasks that no node can execute
//	gives       ─► queue ─► seat  as long as there is room: what does not fit into the
//	                              node's memory waits there
//	took, land  ─► flying         what nodes have
//
// What a task costs does not grow with the number of nodes: those with room are in a set, and
// what has to look at all nodes is done once for so many tasks (seats.go).
//
// It is pure: it has no goroutine, clock, lock or socket, so that tests and simulations can
// drive it in a time of their own. Node 0 is the driver. Node i is worker i of the policy, and
// location i.
type Scheduler struct {
	owned   bool                                   // by Options.Owner
	stay    bool                                   // no task leaves its owner
	near    bool                                   // the policy is dispatch.Locality
	costed  bool                                   // the policy gives nobody what costs too much there: what it cannot execute
	idle    bool                                   // node 0 gets what no other one can execute, while there are others
	policy  func(dispatch.Machine) dispatch.Policy // unless owned
	named   string                                 // the policy, to people
	where   *Directory
	data    *DataIndex             // what tasks use
	Runs    func(*graph.Task) bool // whether a task will be executed: others need no memory
	Bound   func(*graph.Task) bool // whether the driver only can execute a task
	Again   bool                   // something is made again, which stays where it is
	Learned *Experience

	queue   *dispatch.Queue
	nodes   int // that the queue knows
	Fit     matches
	Misfits []*graph.Task
	Seating
	owners owners
	spare  *Flight // to be used again
	Paused bool    // nothing is given
	turn   int     // the latest node to be asked
	called nodeSet // nodes for which something may have come since they were asked in vain
	steals bool    // a node is asked whether it takes what another one owns
	direct int     // the latest node to be meant for a task that few can execute
}

// NewScheduler returns a scheduler that gives tasks to no node yet.
func NewScheduler(o Choices, where *Directory, learned *Experience, data *DataIndex) *Scheduler {
	o.decide()
	s := &Scheduler{owned: o.Owner, stay: o.Owner && o.Stay, near: !o.Owner && o.Policy == dispatch.Locality, costed: o.Owner || o.Policy == dispatch.EarliestFinish, idle: o.Idle, policy: o.NewPolicy, named: o.named(), where: where, Learned: learned, data: data}
	s.paths = &where.Paths
	s.owners.lost = func(node int) bool { return s.Seats[node].lost }
	s.owners.can = func(t *graph.Task, node int) bool { return s.Fit.can(t, node) }
	return s
}

// Admit has a node be given tasks. The queue has to be renewed before it is.
func (s *Scheduler) Admit(node, workers int, m *Memory, o *Offer) {
	for len(s.Seats) <= node {
		s.Seats = append(s.Seats, seat{lost: true})
	}
	least := ahead
	if s.owned {
		least = aheadOwned
	}
	p := newPace(workers, least, o.Below.Workers)
	if node > 0 && s.Seats[node].lost {
		s.others++
	}
	s.Seats[node] = seat{workers: workers, pace: p, room: p.size, memory: m, offer: o}
	s.open.set(node, p.size > 0)
	s.called.set(node, true)
	if node > 0 || !s.idle {
		s.owners.enter(node)
	}
}

// Refresh makes a queue for the nodes that there are. What the old one has goes there, as it
// was submitted.
func (s *Scheduler) Refresh() {
	old, known := s.queue, s.nodes
	s.nodes = len(s.Seats)
	own := s.idle && !s.Alone()
	m := dispatch.Machine{Costs: costs{s}, Held: s.parts}
	offers := make([]*Offer, s.nodes)
	for i := range s.nodes {
		m.Locations = append(m.Locations, i)
		if x := &s.Seats[i]; !x.lost && !(i == 0 && own) {
			offers[i] = x.offer
		}
	}
	var last *Offer
	if own {
		last = s.Seats[0].offer
	}
	s.Fit = newMatches(offers, last)
	var p dispatch.Policy
	switch {
	case s.owned:
		p = dispatch.ByOwner(m, s.owners.of, s.takes)
	case s.costed || len(s.Fit.groups) < 2:
		p = s.policy(m)
	default:
		p = dispatch.ByKind(m, s.Fit.of, func(t *graph.Task) uint64 { return s.Fit.Ask(t).groups }, s.policy)
	}
	s.queue = dispatch.NewQueue(p, s.nodes, s.nodes)
	if old == nil {
		return
	}
	var tasks []*graph.Task
	for t := old.Own(0); t != nil; t = old.Own(0) {
		if s.Bound(t) {
			s.Only(t)
		} else { // nobody else could, and that may have changed
			tasks = append(tasks, t)
		}
	}
	tasks = append(tasks, s.Misfits...)
	s.Misfits = nil
	for i := range known {
		for t := old.Pop(i); t != nil; t = old.Pop(i) {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, byID)
	s.Push(tasks, -1)
}

func byID(a, b *graph.Task) int { return cmp.Compare(a.ID(), b.ID()) }

// Push hands tasks that are bound to no node to the policy. From is the node at which the end
// of a task has freed them, -1 if they come from elsewhere. The slice may be changed.
func (s *Scheduler) Push(tasks []*graph.Task, from int) {
	common := tasks[:0]
	for _, t := range tasks {
		switch a := s.Fit.Ask(t); {
		case a.groups != 0 || a.Some && s.costed:
			if common = append(common, t); s.owned {
				s.called.set(s.owners.of(t), true)
			}
		case a.Some:
			to := s.inTurn(a.Nodes)
			s.queue.Direct(t, to)
			s.called.set(to, true)
		case a.Last:
			s.Only(t)
		default:
			s.Misfits = append(s.Misfits, t)
		}
	}
	s.queue.Push(common, from)
}

// inTurn returns one of some nodes.
func (s *Scheduler) inTurn(nodes []bool) int {
	for s.direct = (s.direct + 1) % len(nodes); !nodes[s.direct]; s.direct = (s.direct + 1) % len(nodes) {
	}
	return s.direct
}

// Withdraw notes that a node does not execute a task that the policy has given it.
func (s *Scheduler) Withdraw(node int) { s.queue.Push(nil, node) }

// Only has a task given to the driver.
func (s *Scheduler) Only(t *graph.Task) {
	s.queue.Direct(t, 0)
	s.called.set(0, true)
}

// parts is the [dispatch.Held] of nodes.
func (s *Scheduler) parts(t *graph.Task, yield func(node int, bytes int64)) {
	for k := range t.Len() {
		o := t.Operand(k)
		if o.Mode&graph.In == 0 || Foremost(t, k) < k {
			continue
		}
		for _, h := range s.data.Of(o.Datum).Holders {
			yield(h, o.Datum.Bytes)
		}
	}
}

// Picks has nodes take tasks as long as they have room, one node after the other, so that none
// gets all that is ready. Who is told of a task takes it, or sees to its end.
//
// By owner a node is asked if something of its own has come since it was asked in vain; and then,
// if others have much to do, whether it takes some of that.
func (s *Scheduler) Picks() iter.Seq2[*graph.Task, int] {
	return func(yield func(*graph.Task, int) bool) {
		own := s.idle && !s.Alone()
		s.recallWaiting()
		tries := -1 // of nodes that may take what others own; -1: none yet
		for vain := 0; vain < s.open.n && !s.Paused && (s.queue.Len() > 0 || s.waiting > 0); {
			i := s.whom(&tries)
			if i < 0 {
				return
			}
			s.turn = i
			t := s.next(i, i == 0 && own)
			if t == nil {
				s.called.set(i, false)
				vain++
				continue
			}
			vain, tries = 0, -1
			if s.near && !s.Bound(t) {
				i = s.nearest(t, i, own)
			}
			if len(s.paths.Cut) > 0 && !s.owned && !s.Bound(t) {
				i = s.reaching(t, i, own)
			}
			if !yield(t, i) {
				return
			}
		}
	}
}

// whom returns the node that is asked next, -1 if none is to be.
func (s *Scheduler) whom(tries *int) int {
	if s.steals = false; !s.owned {
		return s.open.after(s.turn, nil)
	}
	if i := s.open.after(s.turn, &s.called); i >= 0 {
		return i
	}
	if s.late == 0 || s.stay || *tries < 0 && !s.affords() || *tries == searchFew && s.Flying.N > 0 {
		return -1
	}
	s.steals = true
	*tries = max(*tries, 0) + 1
	return s.open.after(s.turn, nil)
}

// recallWaiting has nodes asked again for which tasks wait: memory may be free now.
func (s *Scheduler) recallWaiting() {
	if s.waiting == 0 {
		return
	}
	for i := range s.Seats {
		if len(s.Seats[i].waiting) > 0 {
			s.called.set(i, true)
		}
	}
}

// nearest returns the node, of those with room, that has most of what a task reads, which is
// about to go to another one. While nodes have workers without a task it is one of these, or one
// that is going to have such a worker soon.
func (s *Scheduler) nearest(t *graph.Task, node int, own bool) int {
	takes := func(i int) bool {
		return s.Seats[i].open() && (i > 0 || !own) && s.Fit.can(t, i)
	}
	free := false
	for i, k := s.open.after(node-1, nil), 0; k < s.open.n && !free; i, k = s.open.after(i, nil), k+1 {
		free = takes(i) && s.Seats[i].free()
	}
	fits := func(i int) bool {
		x := &s.Seats[i]
		return takes(i) && (!free || x.free() || x.pace.quick()) && (i == node || s.fits(t, i))
	}
	// Of nodes that have equally much the first from the given one on.
	best, most := -1, int64(0)
	s.parts(t, func(i int, _ int64) {
		if i >= len(s.Seats) || i == best {
			return
		}
		b := int64(0)
		s.parts(t, func(h int, bytes int64) {
			if h == i {
				b += bytes
			}
		})
		sooner := func() bool { n := len(s.Seats); return (i-node+n)%n < (best-node+n)%n }
		if b > most || best >= 0 && b == most && sooner() {
			if fits(i) {
				best, most = i, b
			}
		}
	})
	switch {
	case best >= 0:
		return best
	case fits(node):
		return node
	}
	for i, k := s.open.after(node, nil), 0; k < s.open.n; i, k = s.open.after(i, nil), k+1 {
		if fits(i) {
			return i
		}
	}
	return node
}

// reaching returns a node that has all that a task reads or reaches somebody who has, and that takes
// the task: the one that it is about to go to, or else the first with room, if there is one.
func (s *Scheduler) reaching(t *graph.Task, node int, own bool) int {
	all := func(i int) bool {
		for k := range t.Len() {
			o := t.Operand(k)
			if e := s.data.Of(o.Datum); o.Mode&graph.In != 0 && !e.Unmade() && len(e.Holders) > 0 && !s.Reaches(e, i) {
				return false
			}
		}
		return true
	}
	if all(node) {
		return node
	}
	for i, k := s.open.after(node, nil), 0; k < s.open.n; i, k = s.open.after(i, nil), k+1 {
		if i != node && (i > 0 || !own) && s.Fit.can(t, i) && all(i) && s.fits(t, i) {
			return i
		}
	}
	return node
}

// next returns the next task for a node, nil if there is none now: one for which it has
// room.
func (s *Scheduler) next(i int, own bool) *graph.Task {
	x := &s.Seats[i]
	for k, t := range x.waiting {
		if s.fits(t, i) {
			s.waits(i, slices.Delete(x.waiting, k, k+1))
			return t
		}
	}
	for s.queue.Len() > 0 && (len(x.waiting) < waitMost || s.Flying.N == 0) {
		var t *graph.Task
		if own {
			t = s.queue.Own(i)
		} else {
			t = s.queue.Pop(i)
		}
		if t == nil || s.fits(t, i) {
			return t
		}
		s.waits(i, append(x.waiting, t))
	}
	return nil
}

// waitMost is how many tasks wait for memory on a node before no other one of those that are
// ready is tried.
const waitMost = 8

// fits reports whether a node has the memory for a task, after it has dropped copies.
func (s *Scheduler) fits(t *graph.Task, node int) bool {
	m := s.Seats[node].memory
	if m.Most == 0 || !s.Runs(t) {
		return true
	}
	return m.room(Uses(t, s.data), func(e *Entry) {
		s.where.Drop(node, e.Ref)
		e.Drop(node)
		if e.Datum != nil {
			e.Show(e.Datum)
		}
	})
}

// Misses reports whether nobody has something that a task is to read.
func (s *Scheduler) Misses(t *graph.Task) bool {
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.In != 0 && s.data.Of(o.Datum).Lost() {
			return true
		}
	}
	return false
}

// Squeeze returns what to do when all tasks that could be given wait for memory, and none is
// under way: a task for a node that has room, or the first that fits nowhere, for node -1. It
// returns nil if none waits.
func (s *Scheduler) Squeeze() (t *graph.Task, node int) {
	if s.Flying.N > 0 {
		return nil, -1
	}
	var first *graph.Task
	for i := range s.Seats {
		for k, t := range s.Seats[i].waiting { // none is bound to the driver, which has no cap
			for to := range s.Seats {
				if !s.Seats[to].lost && s.Fit.can(t, to) && s.fits(t, to) {
					s.waits(i, slices.Delete(s.Seats[i].waiting, k, k+1))
					s.Withdraw(i)
					return t, to
				}
			}
			if first == nil {
				first = t
			}
		}
	}
	return first, -1
}

// takes reports whether a node has so little to do that it takes what another one owns if it ends
// it sooner.
func (s *Scheduler) takes(node int) bool {
	return s.steals && s.Seats[node].taken <= s.Seats[node].workers
}

// costs are the [dispatch.Costs] of a job's nodes, as the driver has learned them. Of a node
// with several workers a task takes a part of the time.
type costs struct{ s *Scheduler }

// Run implements [dispatch.Costs].
func (c costs) Run(t *graph.Task, node int) float64 {
	s := c.s
	if s.Absent(node) || !s.Fit.can(t, node) {
		return math.Inf(1)
	}
	return s.Learned.run(node, t) * float64(s.width(t, node)) / float64(s.Seats[node].workers)
}

// Move implements [dispatch.Costs].
func (c costs) Move(t *graph.Task, node int) (seconds float64) {
	for k := range t.Len() {
		o := t.Operand(k)
		e := c.s.data.Of(o.Datum)
		if o.Mode&graph.In == 0 || len(e.Holders) == 0 || e.Has(node) || e.asked(node) {
			continue
		}
		way := c.s.Learned.move(e.Holders, node, o.Datum.Bytes)
		if !c.s.Reaches(e, node) { // it goes by way of another node
			way *= 2
		}
		seconds += way
	}
	return seconds
}
