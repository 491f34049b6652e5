package core

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Seating is the nodes as those that are given tasks, and what they have: books that are kept so
// that a task costs as much however many nodes there are. It is pure.
type Seating struct {
	paths   *paths
	Seats   []seat
	Flying  table[Flight] // by the numbers of tasks
	open    nodeSet       // nodes with room
	others  int           // nodes that are there, beside the driver
	late    int           // nodes that have recallTime to do, or more
	waiting int           // tasks that wait for memory
	credit  int           // see affords
	narrow  bool          // each task takes one worker, whatever units its op asks for
}

// seat is a node as one that is given tasks.
type seat struct {
	lost    bool
	workers int
	Has     int     // tasks
	taken   int     // workers that they take
	flights *Flight // them, in no order
	late    bool    // load is that of recallTime, or more
	load    float64 // seconds that its workers are expected to take for them …
	unknown int     // … but for those of which nothing is known, which take so many of them
	room    int     // how many more it is given
	pace    pace
	memory  *Memory
	offer   *Offer
	asked   int           // workers that tasks may take for which others were asked, for this node
	had     int           // tasks that the node had when it was asked for some …
	Called  int           // … and the workers that those tasks take for which the node was asked; 0: it has answered
	Caller  int           // the node for which
	vain    bool          // it had nothing to give back then, and nothing has changed since
	waiting []*graph.Task // for room in its memory
}

// Flight is a task that a node has been given, and what made its results if it ends well,
// nil if nobody could do so again.
type Flight struct {
	Task  *graph.Task
	Node  int
	Width int     // workers that it takes
	work  float64 // in units of its op
	cost  float64 // seconds of a worker that it is expected to take there; 0: not known
	Made  *Record
	Home  bool // it works in the program's memory
	uses  []*Entry
	from  []Gift  // what others have been asked to give it, of those with a cap on memory
	next  *Flight // of the node's, or of those to be used again
	prev  *Flight
}

// Gift is a datum that a node is to give another one: it keeps it until then.
type Gift struct {
	Of   *Entry
	Node int
}

// grows notes that a node has room for so many more tasks, or fewer.
func (s *Seating) grows(node, by int) {
	x := &s.Seats[node]
	x.room += by
	s.open.set(node, x.open())
}

// open reports whether a node is given tasks: it has room, or all that it has is expected to take
// less time than a message there and back takes while its cores compute.
func (x *seat) open() bool {
	if x.lost || x.room > 0 {
		return !x.lost
	}
	return x.unknown == 0 && x.taken < aheadMost*x.workers && x.load < aheadLoad*float64(x.workers)
}

// aheadLoad is the seconds that each worker of a node has to do before the node has no room. Cores
// that compute are lent to messages after up to 4 ms.
const aheadLoad = 4e-3

// recallTime is the seconds that a node must have to do for others to take some of it: some
// ten times the way of a message there and back. Not measured.
const recallTime = 3e-3

// loads notes that a node has so many seconds more to do, or less.
func (s *Seating) loads(node int, by float64) {
	x := &s.Seats[node]
	x.load += by
	late := !x.lost && x.load > recallTime*float64(x.workers)
	if late != x.late {
		if x.late = late; late {
			s.late++
		} else {
			s.late--
		}
	}
	s.open.set(node, x.open())
}

// weighs notes that a node has a task to do, by 1, or not any more, by -1.
func (s *Seating) weighs(f *Flight, by int) {
	x := &s.Seats[f.Node]
	x.taken += by * f.Width
	if f.cost == 0 {
		x.unknown += by * f.Width
	}
	s.loads(f.Node, float64(by)*f.cost)
}

// Acknowledged notes that a node has given all back that it was asked for and had not begun.
func (s *Seating) Acknowledged(node int) {
	if v := &s.Seats[node]; v.Called > 0 {
		s.Seats[v.Caller].asked = max(s.Seats[v.Caller].asked-v.Called, 0) // it may be another one since
		v.Called, v.vain = 0, v.Has == v.had
	}
}

// Absent reports whether a node is given no tasks.
func (s *Seating) Absent(node int) bool { return node >= len(s.Seats) || s.Seats[node].lost }

// Alone reports whether the driver is the only node.
func (s *Seating) Alone() bool { return s.others == 0 }

// Largest returns the bytes that the node with the most memory can have; 0: no cap. Idle says
// that the driver is left out.
func (s *Seating) Largest(idle bool) (most int64) {
	for i, x := range s.Seats {
		if x.lost || i == 0 && idle {
			continue
		}
		if x.memory.Most == 0 {
			return 0
		}
		most = max(most, x.memory.Most)
	}
	return most
}

// waits has these tasks wait for memory on a node.
func (s *Seating) waits(node int, tasks []*graph.Task) {
	x := &s.Seats[node]
	s.waiting += len(tasks) - len(x.waiting)
	x.waiting = tasks
}

// width returns how many workers of a node a task takes.
func (s *Seating) width(t *graph.Task, node int) int {
	if s.narrow {
		return 1
	}
	return min(WidthOf(t.Op), s.Seats[node].workers)
}

// WidthOf returns how many workers a task of op takes at the same time: the units of that of its
// versions which asks for the fewest.
func WidthOf(op graph.Op) int {
	o, ok := op.(*versions.Op)
	if !ok || len(o.Versions) == 0 {
		return 1
	}
	least := o.Versions[0].Constraints.Units
	for i := range o.Versions {
		least = min(least, o.Versions[i].Constraints.Units)
	}
	return max(least, 1)
}

// free reports whether a worker has no task.
func (x *seat) free() bool { return x.taken < x.workers }

// forgets notes that a node is told to drop a datum, and reports whether it had one.
func (s *Seating) forgets(node int, e *Entry) bool {
	return node < len(s.Seats) && s.Seats[node].memory != nil && s.Seats[node].memory.Forget(e)
}

// searchFew is the number of nodes up to which all are looked at whenever that may be of use.
// Where there are more, to look at all of them is paid for by tasks that end: each for so many.
const searchFew = 16

// affords reports whether all nodes may be looked at once more. What it costs a task does not
// grow with the number of nodes.
func (s *Seating) affords() bool {
	n := len(s.Seats)
	if n <= searchFew || s.Flying.N == 0 {
		return true
	}
	if s.credit < n {
		return false
	}
	s.credit -= n
	return true
}

// earns notes that tasks have ended.
func (s *Seating) earns(tasks int) {
	s.credit = min(s.credit+searchFew*tasks, 4*len(s.Seats))
}
