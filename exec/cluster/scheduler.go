package cluster

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// scheduler decides which node gets which task of a job, and when. It is told what happens,
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
type scheduler struct {
	owned   bool                                   // by Options.Owner
	stay    bool                                   // no task leaves its owner
	near    bool                                   // the policy is dispatch.Locality
	costed  bool                                   // the policy gives nobody what costs too much there: what it cannot execute
	idle    bool                                   // node 0 gets what no other one can execute, while there are others
	policy  func(dispatch.Machine) dispatch.Policy // unless owned
	named   string                                 // the policy, to people
	where   *directory
	data    *dataIndex             // what tasks use
	runs    func(*graph.Task) bool // whether a task will be executed: others need no memory
	bound   func(*graph.Task) bool // whether the driver only can execute a task
	again   bool                   // something is made again, which stays where it is
	learned *experience

	queue *dispatch.Queue
	nodes int // that the queue knows
	fit   matches
	unfit []*graph.Task
	seating
	owners owners
	spare  *flight // to be used again
	halted bool    // nothing is given
	turn   int     // the latest node to be asked
	called nodeSet // nodes for which something may have come since they were asked in vain
	steals bool    // a node is asked whether it takes what another one owns
	direct int     // the latest node to be meant for a task that few can execute
}

// newScheduler returns a scheduler that gives tasks to no node yet.
func newScheduler(o *Options, where *directory, learned *experience, data *dataIndex) *scheduler {
	s := &scheduler{owned: o.Owner, stay: o.Owner && o.Stay, near: !o.Owner && o.Policy == dispatch.Locality, costed: o.Owner || o.Policy == dispatch.EarliestFinish, idle: o.Idle, policy: o.NewPolicy, named: o.policy(), where: where, learned: learned, data: data}
	s.paths = &where.paths
	s.owners.lost = func(node int) bool { return s.seats[node].lost }
	s.owners.can = func(t *graph.Task, node int) bool { return s.fit.can(t, node) }
	return s
}

// enter has a node be given tasks. The queue has to be renewed before it is.
func (s *scheduler) enter(node, workers int, m *memory, o *offer) {
	for len(s.seats) <= node {
		s.seats = append(s.seats, seat{lost: true})
	}
	least := ahead
	if s.owned {
		least = aheadOwned
	}
	p := newPace(workers, least, o.below.Workers)
	if node > 0 && s.seats[node].lost {
		s.others++
	}
	s.seats[node] = seat{workers: workers, pace: p, room: p.size, memory: m, offer: o}
	s.open.set(node, p.size > 0)
	s.called.set(node, true)
	if node > 0 || !s.idle {
		s.owners.enter(node)
	}
}

// renew makes a queue for the nodes that there are. What the old one has goes there, as it
// was submitted.
func (s *scheduler) renew() {
	old, known := s.queue, s.nodes
	s.nodes = len(s.seats)
	own := s.idle && !s.alone()
	m := dispatch.Machine{Costs: costs{s}, Held: s.parts}
	offers := make([]*offer, s.nodes)
	for i := range s.nodes {
		m.Locations = append(m.Locations, i)
		if x := &s.seats[i]; !x.lost && !(i == 0 && own) {
			offers[i] = x.offer
		}
	}
	var last *offer
	if own {
		last = s.seats[0].offer
	}
	s.fit = newMatches(offers, last)
	var p dispatch.Policy
	switch {
	case s.owned:
		p = dispatch.ByOwner(m, s.owners.of, s.takes)
	case s.costed || len(s.fit.groups) < 2:
		p = s.policy(m)
	default:
		p = dispatch.ByKind(m, s.fit.of, func(t *graph.Task) uint64 { return s.fit.ask(t).groups }, s.policy)
	}
	s.queue = dispatch.NewQueue(p, s.nodes, s.nodes)
	if old == nil {
		return
	}
	var tasks []*graph.Task
	for t := old.Own(0); t != nil; t = old.Own(0) {
		if s.bound(t) {
			s.only(t)
		} else { // nobody else could, and that may have changed
			tasks = append(tasks, t)
		}
	}
	tasks = append(tasks, s.unfit...)
	s.unfit = nil
	for i := range known {
		for t := old.Pop(i); t != nil; t = old.Pop(i) {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, byID)
	s.ready(tasks, -1)
}

func byID(a, b *graph.Task) int { return cmp.Compare(a.ID(), b.ID()) }

// ready hands tasks that are bound to no node to the policy. From is the node at which the end
// of a task has freed them, -1 if they come from elsewhere. The slice may be changed.
func (s *scheduler) ready(tasks []*graph.Task, from int) {
	common := tasks[:0]
	for _, t := range tasks {
		switch a := s.fit.ask(t); {
		case a.groups != 0 || a.some && s.costed:
			if common = append(common, t); s.owned {
				s.called.set(s.owners.of(t), true)
			}
		case a.some:
			to := s.inTurn(a.nodes)
			s.queue.Direct(t, to)
			s.called.set(to, true)
		case a.last:
			s.only(t)
		default:
			s.unfit = append(s.unfit, t)
		}
	}
	s.queue.Push(common, from)
}

// inTurn returns one of some nodes.
func (s *scheduler) inTurn(nodes []bool) int {
	for s.direct = (s.direct + 1) % len(nodes); !nodes[s.direct]; s.direct = (s.direct + 1) % len(nodes) {
	}
	return s.direct
}

// back notes that a node does not execute a task that the policy has given it.
func (s *scheduler) back(node int) { s.queue.Push(nil, node) }

// only has a task given to the driver.
func (s *scheduler) only(t *graph.Task) {
	s.queue.Direct(t, 0)
	s.called.set(0, true)
}

// parts is the [dispatch.Held] of nodes.
func (s *scheduler) parts(t *graph.Task, yield func(node int, bytes int64)) {
	for k := range t.Len() {
		o := t.Operand(k)
		if o.Mode&graph.In == 0 || foremost(t, k) < k {
			continue
		}
		for _, h := range s.data.of(o.Datum).holders {
			yield(h, o.Datum.Bytes)
		}
	}
}

// gives has nodes take tasks as long as they have room, one node after the other, so that none
// gets all that is ready. Who is told of a task takes it, or sees to its end.
//
// By owner a node is asked if something of its own has come since it was asked in vain; and then,
// if others have much to do, whether it takes some of that.
func (s *scheduler) gives() iter.Seq2[*graph.Task, int] {
	return func(yield func(*graph.Task, int) bool) {
		own := s.idle && !s.alone()
		s.recallWaiting()
		tries := -1 // of nodes that may take what others own; -1: none yet
		for vain := 0; vain < s.open.n && !s.halted && (s.queue.Len() > 0 || s.waiting > 0); {
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
			if s.near && !s.bound(t) {
				i = s.nearest(t, i, own)
			}
			if len(s.paths.cut) > 0 && !s.owned && !s.bound(t) {
				i = s.reaching(t, i, own)
			}
			if !yield(t, i) {
				return
			}
		}
	}
}

// whom returns the node that is asked next, -1 if none is to be.
func (s *scheduler) whom(tries *int) int {
	if s.steals = false; !s.owned {
		return s.open.after(s.turn, nil)
	}
	if i := s.open.after(s.turn, &s.called); i >= 0 {
		return i
	}
	if s.late == 0 || s.stay || *tries < 0 && !s.affords() || *tries == searchFew && s.flying.n > 0 {
		return -1
	}
	s.steals = true
	*tries = max(*tries, 0) + 1
	return s.open.after(s.turn, nil)
}

// recallWaiting has nodes asked again for which tasks wait: memory may be free now.
func (s *scheduler) recallWaiting() {
	if s.waiting == 0 {
		return
	}
	for i := range s.seats {
		if len(s.seats[i].waiting) > 0 {
			s.called.set(i, true)
		}
	}
}

// nearest returns the node, of those with room, that has most of what a task reads, which is
// about to go to another one. While nodes have workers without a task it is one of these, or one
// that is going to have such a worker soon.
func (s *scheduler) nearest(t *graph.Task, node int, own bool) int {
	takes := func(i int) bool {
		return s.seats[i].open() && (i > 0 || !own) && s.fit.can(t, i)
	}
	free := false
	for i, k := s.open.after(node-1, nil), 0; k < s.open.n && !free; i, k = s.open.after(i, nil), k+1 {
		free = takes(i) && s.seats[i].free()
	}
	fits := func(i int) bool {
		x := &s.seats[i]
		return takes(i) && (!free || x.free() || x.pace.quick()) && (i == node || s.fits(t, i))
	}
	// Of nodes that have equally much the first from the given one on.
	best, most := -1, int64(0)
	s.parts(t, func(i int, _ int64) {
		if i >= len(s.seats) || i == best {
			return
		}
		b := int64(0)
		s.parts(t, func(h int, bytes int64) {
			if h == i {
				b += bytes
			}
		})
		sooner := func() bool { n := len(s.seats); return (i-node+n)%n < (best-node+n)%n }
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
func (s *scheduler) reaching(t *graph.Task, node int, own bool) int {
	all := func(i int) bool {
		for k := range t.Len() {
			o := t.Operand(k)
			if e := s.data.of(o.Datum); o.Mode&graph.In != 0 && !e.unmade() && len(e.holders) > 0 && !s.reaches(e, i) {
				return false
			}
		}
		return true
	}
	if all(node) {
		return node
	}
	for i, k := s.open.after(node, nil), 0; k < s.open.n; i, k = s.open.after(i, nil), k+1 {
		if i != node && (i > 0 || !own) && s.fit.can(t, i) && all(i) && s.fits(t, i) {
			return i
		}
	}
	return node
}

// next returns the next task for a node, nil if there is none now: one for which it has
// room.
func (s *scheduler) next(i int, own bool) *graph.Task {
	x := &s.seats[i]
	for k, t := range x.waiting {
		if s.fits(t, i) {
			s.waits(i, slices.Delete(x.waiting, k, k+1))
			return t
		}
	}
	for s.queue.Len() > 0 && (len(x.waiting) < waitMost || s.flying.n == 0) {
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
func (s *scheduler) fits(t *graph.Task, node int) bool {
	m := s.seats[node].memory
	if m.most == 0 || !s.runs(t) {
		return true
	}
	return m.room(uses(t, s.data), func(e *entry) {
		s.where.drop(node, e.ref)
		e.drop(node)
		if e.datum != nil {
			e.show(e.datum)
		}
	})
}

// misses reports whether nobody has something that a task is to read.
func (s *scheduler) misses(t *graph.Task) bool {
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.In != 0 && s.data.of(o.Datum).lost() {
			return true
		}
	}
	return false
}

// squeeze returns what to do when all tasks that could be given wait for memory, and none is
// under way: a task for whoever has room, or the first that fits nowhere, for node -1. It
// returns nil if none waits.
func (s *scheduler) squeeze() (t *graph.Task, node int) {
	if s.flying.n > 0 {
		return nil, -1
	}
	var first *graph.Task
	for i := range s.seats {
		for k, t := range s.seats[i].waiting { // none is bound to the driver, which has no cap
			for to := range s.seats {
				if !s.seats[to].lost && s.fit.can(t, to) && s.fits(t, to) {
					s.waits(i, slices.Delete(s.seats[i].waiting, k, k+1))
					s.back(i)
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
func (s *scheduler) takes(node int) bool {
	return s.steals && s.seats[node].taken <= s.seats[node].workers
}

// costs are the [dispatch.Costs] of a job's nodes, as the driver has learned them. Of a node
// with several workers a task takes a part of the time.
type costs struct{ s *scheduler }

// Run implements [dispatch.Costs].
func (c costs) Run(t *graph.Task, node int) float64 {
	s := c.s
	if s.absent(node) || !s.fit.can(t, node) {
		return math.Inf(1)
	}
	return s.learned.run(node, t) * float64(s.width(t, node)) / float64(s.seats[node].workers)
}

// Move implements [dispatch.Costs].
func (c costs) Move(t *graph.Task, node int) (seconds float64) {
	for k := range t.Len() {
		o := t.Operand(k)
		e := c.s.data.of(o.Datum)
		if o.Mode&graph.In == 0 || len(e.holders) == 0 || e.has(node) || e.asked(node) {
			continue
		}
		way := c.s.learned.move(e.holders, node, o.Datum.Bytes)
		if !c.s.reaches(e, node) { // it goes by way of another node
			way *= 2
		}
		seconds += way
	}
	return seconds
}
