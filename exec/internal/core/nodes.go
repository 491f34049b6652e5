package core

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// NodeTable is the nodes with the tasks that they have. Its books keep the cost of a task
// independent of the number of nodes. It is pure.
type NodeTable struct {
	paths     *paths
	Nodes     []nodeState
	InFlight  table[Flight] // by the numbers of tasks
	open      nodeSet       // nodes that take tasks
	others    int           // nodes that are there, without the driver
	loaded    int           // nodes with recallTime to do, or more
	waiting   int           // tasks that wait for memory
	credit    int           // see canSearch
	unitWidth bool          // a version takes one worker, whatever units it asks for
}

// nodeState is a node that executes tasks.
//
//	slots = window.size − used            may be negative
//	load  = expected seconds of its tasks, without the unknown workers
type nodeState struct {
	lost            bool
	workers         int
	Tasks           int     // number of tasks that it has
	used            int     // workers that they take
	flights         *Flight // its tasks, in no order
	loaded          bool    // load is recallTime a worker, or more
	load            float64 // seconds of a worker that its tasks are expected to take …
	unknown         int     // … but for tasks of unknown length, which take so many workers
	slots           int     // workers' worth of tasks that it may get
	window          window
	memory          *Memory
	offer           *Offer
	recalled        int           // workers' worth of tasks that other nodes are asked to give back for it
	recallTasks     int           // tasks that it had when it was last asked to give some back
	RecallWorkers   int           // workers' worth of tasks that it was asked to give back; 0: no recall is open
	RecallFor       int           // the node that asked for them
	nothingToRecall bool          // it had nothing to give back, and nothing has changed since
	waiting         []*graph.Task // tasks that wait for room in its memory
}

// Flight is a task in flight: a node has it.
type Flight struct {
	Task      *graph.Task
	Node      int
	Width     int        // workers that it takes
	work      float64    // in units of its op
	cost      float64    // expected seconds of a worker; 0: not known
	Record    *Record    // how to make its results again if it ends well; nil if that is impossible
	InPlace   bool       // it runs in the program's memory
	Grouped   bool       // it is a rank of a group
	uses      []*Entry   // its data, on a node with a cap on memory
	transfers []Transfer // operands that it gets from nodes with a cap on memory
	next      *Flight    // in the node's list, or among the spare flights
	prev      *Flight
}

// Transfer is a datum that another node fetches from node From, which keeps it until then.
type Transfer struct {
	Entry *Entry
	From  int
}

// addSlots changes the number of free slots of a node.
func (s *NodeTable) addSlots(node, by int) {
	x := &s.Nodes[node]
	x.slots += by
	s.open.set(node, x.isOpen())
}

// isOpen reports whether a node takes tasks: it has free slots, or its tasks are expected to take
// less time than a message exchange with a node whose cores all compute.
func (x *nodeState) isOpen() bool {
	if x.lost || x.slots > 0 {
		return !x.lost
	}
	return x.unknown == 0 && x.used < maxAhead*x.workers && x.load < aheadLoad*float64(x.workers)
}

// aheadLoad is the seconds of work for each worker below which a node takes more tasks than it has
// slots. A core that computes is lent to messages after up to 4 ms.
const aheadLoad = 4e-3

// recallTime is the seconds of work for each worker from which other nodes may take over some of
// it: about ten message exchanges. Where a node is ten times as slow as others, runs take 0 to 3 %
// longer with half of it, 1 to 3 % with twice as much and 4 to 12 % if nothing is taken over
// (docs/internals/measurements.md, constants of the runtime).
const recallTime = 3e-3

// addLoad changes the expected seconds that a node has to do.
func (s *NodeTable) addLoad(node int, by float64) {
	x := &s.Nodes[node]
	x.load += by
	late := !x.lost && x.load > recallTime*float64(x.workers)
	if late != x.loaded {
		if x.loaded = late; late {
			s.loaded++
		} else {
			s.loaded--
		}
	}
	s.open.set(node, x.isOpen())
}

// addTask notes that a node has one task more, by 1, or one less, by −1.
func (s *NodeTable) addTask(f *Flight, by int) {
	x := &s.Nodes[f.Node]
	x.used += by * f.Width
	if f.cost == 0 {
		x.unknown += by * f.Width
	}
	s.addLoad(f.Node, float64(by)*f.cost)
}

// EndRecall notes that a node has given back all that it could of what it was asked for.
func (s *NodeTable) EndRecall(node int) {
	if v := &s.Nodes[node]; v.RecallWorkers > 0 {
		x := &s.Nodes[v.RecallFor] // it may have joined anew meanwhile, so nothing is recalled for it
		x.recalled = max(x.recalled-v.RecallWorkers, 0)
		v.RecallWorkers, v.nothingToRecall = 0, v.Tasks == v.recallTasks
	}
}

// Absent reports whether a node takes no tasks because it is lost or has not joined.
func (s *NodeTable) Absent(node int) bool { return node >= len(s.Nodes) || s.Nodes[node].lost }

// DriverAlone reports whether the driver is the only node.
func (s *NodeTable) DriverAlone() bool { return s.others == 0 }

// MaxMemory returns the largest cap on memory of all nodes, 0 if one has no cap. Idle leaves out
// the driver.
func (s *NodeTable) MaxMemory(idle bool) (most int64) {
	for i, x := range s.Nodes {
		if x.lost || i == 0 && idle {
			continue
		}
		if x.memory.Cap == 0 {
			return 0
		}
		most = max(most, x.memory.Cap)
	}
	return most
}

// setWaiting sets the tasks that wait for a node's memory.
func (s *NodeTable) setWaiting(node int, tasks []*graph.Task) {
	x := &s.Nodes[node]
	s.waiting += len(tasks) - len(x.waiting)
	x.waiting = tasks
}

// width returns how many workers of a node a task takes.
func (s *NodeTable) width(t *graph.Task, node int) int {
	op := t.Op
	if s.unitWidth {
		op = nil
	}
	return min(WidthOf(op, t.Constraints()), s.Nodes[node].workers)
}

// WidthOf returns how many workers a task of op takes at once: the units that its constraints, of type
// *versions.Constraints, ask for, or the fewest that a version of op does.
func WidthOf(op graph.Op, constraints any) int {
	n := 1
	if c, _ := constraints.(*versions.Constraints); c != nil {
		n = max(n, c.Units)
	}
	o, ok := op.(*versions.Op)
	if !ok || len(o.Versions) == 0 {
		return n
	}
	least := o.Versions[0].Constraints.Units
	for i := range o.Versions {
		least = min(least, o.Versions[i].Constraints.Units)
	}
	return max(least, n)
}

// hasFreeWorker reports whether a worker has no task.
func (x *nodeState) hasFreeWorker() bool { return x.used < x.workers }

// forget notes that a node drops a datum, and reports whether it was counted there.
func (s *NodeTable) forget(node int, e *Entry) bool {
	return node < len(s.Nodes) && s.Nodes[node].memory != nil && s.Nodes[node].memory.Forget(e)
}

// fewNodes is the number of nodes up to which a search through all of them is always affordable.
// With more nodes, each task that ends pays for looking at this many.
const fewNodes = 16

// canSearch reports whether a search through all nodes is affordable now, and pays for it. So the
// cost of a task does not grow with the number of nodes.
func (s *NodeTable) canSearch() bool {
	n := len(s.Nodes)
	if n <= fewNodes || s.InFlight.N == 0 {
		return true
	}
	if s.credit < n {
		return false
	}
	s.credit -= n
	return true
}

// earnSearches notes that tasks have ended.
func (s *NodeTable) earnSearches(tasks int) {
	s.credit = min(s.credit+fewNodes*tasks, 4*len(s.Nodes))
}
