package core

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// Scheduler decides which node gets which task of a job, and when. Its caller passes events and
// their times in, and gets the assignments back:
//
//	Admit, RemoveNode  ─► nodes          free slots, memory, what each can execute
//	Push, PushDriver   ─► queue          of the policy, or of the driver alone
//	                   └► Misfits        tasks that no node can execute
//	Picks              ─► queue ─► node  while it has free slots; a task that does not fit into the
//	                                     node's memory waits there
//	Assign, Unassign   ─► InFlight       the tasks that nodes have
//
// The cost of a task does not grow with the number of nodes: nodes with free slots are in a set,
// and a search through all nodes happens once for a number of tasks (nodes.go).
//
// It is pure: it has no goroutine, clock, lock or socket, so tests and simulations can drive it in
// virtual time. Node 0 is the driver. Node i is worker i and location i of the policy.
type Scheduler struct {
	byOwner    bool                                   // Options.Owner
	stay       bool                                   // Options.Stay: no task leaves its owner
	byLocality bool                                   // the policy is dispatch.Locality
	byCost     bool                                   // the policy weighs times, infinite where a node cannot execute
	driverIdle bool                                   // Options.Idle: node 0 gets only what no other node can execute
	policy     func(dispatch.Machine) dispatch.Policy // unused if byOwner
	policyName string                                 // for people
	directory  *Directory
	data       *DataIndex             // of the tasks
	WillRun    func(*graph.Task) bool // whether a task is going to be executed; others need no memory
	DriverOnly func(*graph.Task) bool // whether only the driver can execute a task
	Recovering bool                   // the tasks compute lost data again, and stay on their nodes
	Learned    *Experience

	queue      *dispatch.Queue
	queueNodes int // nodes that the queue was built for
	Fit        matches
	Misfits    []*graph.Task // tasks that no node can execute
	NodeTable
	owners       owners
	spareFlights *Flight // flights to be reused
	Paused       bool    // no task is given out
	lastAsked    int     // the node that was asked last for a task
	askAgain     nodeSet // nodes for which a task may have come since they last had none
	stealing     bool    // the node that is asked may take what another node owns
	lastDirected int     // the node that got the last task which few nodes can execute
}

// NewScheduler returns a scheduler without nodes.
func NewScheduler(o Choices, where *Directory, learned *Experience, data *DataIndex) *Scheduler {
	o.setDefaults()
	s := &Scheduler{
		byOwner: o.Owner, stay: o.Owner && o.Stay, driverIdle: o.Idle,
		byLocality: !o.Owner && o.Policy == dispatch.Locality,
		byCost:     o.Owner || o.Policy == dispatch.EarliestFinish,
		policy:     o.NewPolicy, policyName: o.policyName(),
		directory: where, data: data, Learned: learned,
	}
	s.paths = &where.Paths
	s.owners.lost = func(node int) bool { return s.Nodes[node].lost }
	s.owners.can = func(t *graph.Task, node int) bool { return s.Fit.can(t, node) }
	return s
}

// Admit adds a node with its memory and its offer. RebuildQueue must follow.
func (s *Scheduler) Admit(node, workers int, m *Memory, o *Offer) {
	for len(s.Nodes) <= node {
		s.Nodes = append(s.Nodes, nodeState{lost: true})
	}
	least := minAhead
	if s.byOwner {
		least = minAheadOwned
	}
	p := newWindow(workers, least, o.Below.Workers)
	if node > 0 && s.Nodes[node].lost {
		s.others++
	}
	s.Nodes[node] = nodeState{workers: workers, window: p, slots: p.size, memory: m, offer: o}
	s.open.set(node, p.size > 0)
	s.askAgain.set(node, true)
	if node > 0 || !s.driverIdle {
		s.owners.add(node)
	}
}

// RebuildQueue makes a queue for the current nodes and moves all waiting tasks into it in the order
// of submission.
func (s *Scheduler) RebuildQueue() {
	old, known := s.queue, s.queueNodes
	s.queueNodes = len(s.Nodes)
	own := s.driverIdle && !s.DriverAlone()
	m := dispatch.Machine{Costs: costs{s}, Held: s.heldBytes}
	offers := make([]*Offer, s.queueNodes)
	for i := range s.queueNodes {
		m.Locations = append(m.Locations, i)
		if x := &s.Nodes[i]; !x.lost && !(i == 0 && own) {
			offers[i] = x.offer
		}
	}
	var last *Offer
	if own {
		last = s.Nodes[0].offer
	}
	s.Fit = newMatches(offers, last)
	var p dispatch.Policy
	switch {
	case s.byOwner:
		p = dispatch.ByOwner(m, s.owners.node, s.canSteal)
	case s.byCost || len(s.Fit.groups) < 2:
		p = s.policy(m)
	default:
		p = dispatch.ByKind(m, s.Fit.groupOf, func(t *graph.Task) uint64 { return s.Fit.Ask(t).groups }, s.policy)
	}
	s.queue = dispatch.NewQueue(p, s.queueNodes, s.queueNodes)
	if old == nil {
		return
	}
	var tasks []*graph.Task
	for t := old.Own(0); t != nil; t = old.Own(0) {
		if s.DriverOnly(t) {
			s.PushDriver(t)
		} else { // no other node could execute it; a new one may
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

// Push queues ready tasks: with the policy, with the driver, or with a node that can execute them.
// From is the node where the end of a task made them ready, −1 if there is none. Push overwrites
// the slice.
func (s *Scheduler) Push(tasks []*graph.Task, from int) {
	common := tasks[:0]
	for _, t := range tasks {
		if s.DriverOnly(t) {
			s.PushDriver(t)
			continue
		}
		switch a := s.Fit.Ask(t); {
		case a.groups != 0 || a.Any && s.byCost:
			if common = append(common, t); s.byOwner {
				s.askAgain.set(s.owners.node(t), true)
			}
		case a.Any:
			to := s.nextOf(a.Nodes)
			s.queue.Direct(t, to)
			s.askAgain.set(to, true)
		case a.DriverOnly:
			s.PushDriver(t)
		default:
			s.Misfits = append(s.Misfits, t)
		}
	}
	s.queue.Push(common, from)
}

// nextOf returns one of some nodes, each in its turn.
func (s *Scheduler) nextOf(nodes []bool) int {
	i := (s.lastDirected + 1) % len(nodes)
	for !nodes[i] {
		i = (i + 1) % len(nodes)
	}
	s.lastDirected = i
	return i
}

// Withdraw tells the policy that a node does not execute a task that it has popped.
func (s *Scheduler) Withdraw(node int) { s.queue.Push(nil, node) }

// PushDriver queues a task for the driver alone.
func (s *Scheduler) PushDriver(t *graph.Task) {
	s.queue.Direct(t, 0)
	s.askAgain.set(0, true)
}

// heldBytes implements [dispatch.Held]: it yields the nodes that hold operands of a task.
func (s *Scheduler) heldBytes(t *graph.Task, yield func(node int, bytes int64)) {
	for k := range t.Len() {
		o := t.Operand(k)
		if o.Mode&graph.In == 0 || FirstUse(t, k) < k {
			continue
		}
		for _, h := range s.data.Of(o.Datum).Holders {
			yield(h, o.Datum.Bytes)
		}
	}
}

// Picks yields tasks and the nodes that take them while nodes have free slots. Nodes take turns, so
// that none takes all ready tasks. The caller must assign each task, or end it.
//
// By owner, a node is asked if a task of its own has come since it last had none. When no such node
// is left and some nodes have much to do, others are asked whether they steal.
func (s *Scheduler) Picks() iter.Seq2[*graph.Task, int] {
	return func(yield func(*graph.Task, int) bool) {
		own := s.driverIdle && !s.DriverAlone()
		s.askWaiting()
		tries := -1 // nodes asked to steal; -1: none yet
		for misses := 0; misses < s.open.n && !s.Paused && (s.queue.Len() > 0 || s.waiting > 0); {
			i := s.nextNode(&tries)
			if i < 0 {
				return
			}
			s.lastAsked = i
			t := s.nextTask(i, i == 0 && own)
			if t == nil {
				s.askAgain.set(i, false)
				misses++
				continue
			}
			misses, tries = 0, -1
			if s.byLocality && !s.DriverOnly(t) {
				i = s.nearestNode(t, i, own)
			}
			if len(s.paths.Cut) > 0 && !s.byOwner && !s.DriverOnly(t) {
				i = s.reachableNode(t, i, own)
			}
			if !yield(t, i) {
				return
			}
		}
	}
}

// nextNode returns the node to ask next, −1 if there is none.
func (s *Scheduler) nextNode(tries *int) int {
	if s.stealing = false; !s.byOwner {
		return s.open.after(s.lastAsked, nil)
	}
	if i := s.open.after(s.lastAsked, &s.askAgain); i >= 0 {
		return i
	}
	if s.loaded == 0 || s.stay || *tries < 0 && !s.canSearch() || *tries == fewNodes && s.InFlight.N > 0 {
		return -1
	}
	s.stealing = true
	*tries = max(*tries, 0) + 1
	return s.open.after(s.lastAsked, nil)
}

// askWaiting marks the nodes where tasks wait for memory, which may be free by now, to be asked
// again.
func (s *Scheduler) askWaiting() {
	if s.waiting == 0 {
		return
	}
	for i := range s.Nodes {
		if len(s.Nodes[i].waiting) > 0 {
			s.askAgain.set(i, true)
		}
	}
}

// nearestNode returns the node with free slots that holds most of what a task reads. Node is the
// one that was about to get it. As long as some node has an idle worker, only nodes with an idle
// worker, or with tasks so short that one is idle soon, count.
func (s *Scheduler) nearestNode(t *graph.Task, node int, own bool) int {
	takes := func(i int) bool {
		return s.Nodes[i].isOpen() && (i > 0 || !own) && s.Fit.can(t, i)
	}
	free := false
	for i, k := s.open.after(node-1, nil), 0; k < s.open.n && !free; i, k = s.open.after(i, nil), k+1 {
		free = takes(i) && s.Nodes[i].hasFreeWorker()
	}
	fits := func(i int) bool {
		x := &s.Nodes[i]
		return takes(i) && (!free || x.hasFreeWorker() || x.window.tasksAreShort()) && (i == node || s.fitsMemory(t, i))
	}
	// Of nodes that hold equally much, the first one from node on wins.
	best, most := -1, int64(0)
	s.heldBytes(t, func(i int, _ int64) {
		if i >= len(s.Nodes) || i == best {
			return
		}
		b := int64(0)
		s.heldBytes(t, func(h int, bytes int64) {
			if h == i {
				b += bytes
			}
		})
		sooner := func() bool { n := len(s.Nodes); return (i-node+n)%n < (best-node+n)%n }
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

// reachableNode returns a node that takes a task and can fetch everything that the task reads: the
// given node if it can, else the first such node with free slots, else the given node.
func (s *Scheduler) reachableNode(t *graph.Task, node int, own bool) int {
	all := func(i int) bool {
		for k := range t.Len() {
			o := t.Operand(k)
			if e := s.data.Of(o.Datum); o.Mode&graph.In != 0 && !e.Unwritten() && len(e.Holders) > 0 && !s.CanReach(e, i) {
				return false
			}
		}
		return true
	}
	if all(node) {
		return node
	}
	for i, k := s.open.after(node, nil), 0; k < s.open.n; i, k = s.open.after(i, nil), k+1 {
		if i != node && (i > 0 || !own) && s.Fit.can(t, i) && all(i) && s.fitsMemory(t, i) {
			return i
		}
	}
	return node
}

// nextTask returns the next task for a node whose memory has room for it, nil if there is none.
// Tasks that do not fit wait at the node.
func (s *Scheduler) nextTask(i int, own bool) *graph.Task {
	x := &s.Nodes[i]
	for k, t := range x.waiting {
		if s.fitsMemory(t, i) {
			s.setWaiting(i, slices.Delete(x.waiting, k, k+1))
			return t
		}
	}
	for s.queue.Len() > 0 && (len(x.waiting) < maxWaiting || s.InFlight.N == 0) {
		var t *graph.Task
		if own {
			t = s.queue.Own(i)
		} else {
			t = s.queue.Pop(i)
		}
		if t == nil || s.fitsMemory(t, i) {
			return t
		}
		s.setWaiting(i, append(x.waiting, t))
	}
	return nil
}

// maxWaiting is the number of tasks that wait for a node's memory before no further ready task is
// tried there.
const maxWaiting = 8

// fitsMemory reports whether a node has the memory for a task. It drops copies to make room.
func (s *Scheduler) fitsMemory(t *graph.Task, node int) bool {
	m := s.Nodes[node].memory
	if m.Cap == 0 || !s.WillRun(t) {
		return true
	}
	return m.makeRoom(Uses(t, s.data), func(e *Entry) {
		s.directory.MarkStale(node, e.Ref)
		e.RemoveHolder(node)
		if e.Datum != nil {
			e.ShowHolders(e.Datum)
		}
	})
}

// ReadsLost reports whether a task reads a datum whose latest version no node has.
func (s *Scheduler) ReadsLost(t *graph.Task) bool {
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.In != 0 && s.data.Of(o.Datum).Lost() {
			return true
		}
	}
	return false
}

// Squeeze resolves the case that no task is in flight and all tasks that could start wait for
// memory. It returns a task and a node that has room for it, or the first task that fits nowhere
// and −1. It returns nil if no task waits.
func (s *Scheduler) Squeeze() (t *graph.Task, node int) {
	if s.InFlight.N > 0 {
		return nil, -1
	}
	var first *graph.Task
	for i := range s.Nodes {
		for k, t := range s.Nodes[i].waiting { // none is the driver's alone, which has no cap
			for to := range s.Nodes {
				if !s.Nodes[to].lost && s.Fit.can(t, to) && s.fitsMemory(t, to) {
					s.setWaiting(i, slices.Delete(s.Nodes[i].waiting, k, k+1))
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

// canSteal reports whether a node has so little to do that it may take a task that another node
// owns.
func (s *Scheduler) canSteal(node int) bool {
	return s.stealing && s.Nodes[node].used <= s.Nodes[node].workers
}

// costs implements [dispatch.Costs] with the driver's experience. A task on a node with several
// workers takes its share of the node's time.
type costs struct{ s *Scheduler }

// Run implements [dispatch.Costs].
func (c costs) Run(t *graph.Task, node int) float64 {
	s := c.s
	if s.Absent(node) || !s.Fit.can(t, node) {
		return math.Inf(1)
	}
	return s.Learned.runTime(node, t) * float64(s.width(t, node)) / float64(s.Nodes[node].workers)
}

// Move implements [dispatch.Costs].
func (c costs) Move(t *graph.Task, node int) (seconds float64) {
	for k := range t.Len() {
		o := t.Operand(k)
		e := c.s.data.Of(o.Datum)
		if o.Mode&graph.In == 0 || len(e.Holders) == 0 || e.Has(node) || e.isFetching(node) {
			continue
		}
		took := c.s.Learned.transferTime(e.Holders, node, o.Datum.Bytes)
		if !c.s.CanReach(e, node) { // by way of a relay
			took *= 2
		}
		seconds += took
	}
	return seconds
}
