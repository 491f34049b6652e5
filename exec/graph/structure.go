package graph

import (
	"sync"
	"sync/atomic"
	"time"
)

// The data structures of the graph. Methods on them are in the other files, none of which this one
// uses:
//
//	Graph ──► Task ──► use (one an operand) ──► Datum
//	  │                 │ in: the version read    │ current: the latest version
//	  │                 │ out: the version made ◄─┘
//	  │                 └──► version ──► waiters: uses of later tasks
//	  └──► groups: Commute and Reduce tasks on a datum; renamed values

// inline is the number of operands whose bookkeeping is inside the Task. The tile operations of a
// factorization have at most four.
const inline = 4

// These close a version's list of waiters: produced if it is good, broken if its
// task's fault taints it.
var produced, broken = new(use), new(use)

// Graph infers dependencies among the tasks added to it. The zero value is an empty graph. Its
// fields lie on separate cache lines by use: what is only read once tasks run, what the goroutine
// that adds tasks writes, and the list onto which all goroutines push.
type Graph struct {
	_ [64]byte // what follows is read often, and not written

	// Owner belongs to the code that runs the graph; the package does not use it.
	Owner any
	// Observer, if not nil, receives every edge. It costs memory and time; set it before the first
	// Add.
	Observer Observer
	// Log, if not nil, notes the accesses from which edges follow, which costs less; set it before
	// the first Add.
	Log *Log
	// Pool, if not nil, provides memory for tasks; [Graph.Release] returns it.
	Pool *Pool
	// Clock, if not nil, gives each task the time at which it was added and became ready: see
	// [Task.Added].
	Clock func() time.Duration

	// Failed, if not nil, is called when a function of the program has panicked: what is
	// "reduction" for a Reduction's Combine, and "renaming" for the function given to SetRenaming.
	Failed func(what string, f *Fault)

	_         [64]byte
	past      past       // for the Observer
	numbering *numbering // the numbers of data, for an Observer or a Log
	groups    groups
	replaced  []*Datum // data whose latest value is not Datum.Value: see PutBack

	last TaskID
	free *Task // tasks to reuse, owned by Add

	_     [64]byte
	ended atomic.Pointer[Task] // tasks to reuse, pushed by End
	_     [56]byte
}

// Watch waits for a datum's version without being a task of the program.
type Watch struct {
	// Done is called once, by the code that runs the graph, when the version is there, with its
	// fault if it is tainted.
	Done func(fault *Fault)
}

// Operand is a datum with the mode in which a task accesses it.
type Operand struct {
	Datum *Datum
	Mode  Mode
}

// Spec describes a task to [Graph.Add], which keeps nothing of the Spec
// itself or its slice.
type Spec struct {
	Op Op
	// Params is the op's parameter, by pointer so that tasks can share it.
	// It must not change while the task lives.
	Params any
	// Operands in the order that the op documents. The same datum may occur
	// several times; its modes are then joined.
	Operands []Operand
	// Priority orders ready tasks under policies that heed it; larger first.
	Priority int64
	// Failure is the failure policy; nil means the zero Failure.
	Failure *Failure
	// Local is shared by tasks of this process and passed on to versions.Call. It is no part of the
	// task's meaning, and is never sent.
	Local any
	// Constraints restricts the workers beyond what the op does, nil for no restriction; for
	// package exec it is a *versions.Constraints. It may be shared by many tasks and must not
	// change.
	Constraints any
	// Witness, if not nil, learns of each attempt at the task, and of its end.
	Witness Witness
}

// extras has the fields that only some tasks need. Its memory stays with the task's, for the next
// one.
type extras struct {
	failure     *Failure
	local       any
	kept        any
	constraints any
	witness     Witness
}

// Task is a node of the graph. The graph reuses the memory of an ended task: a *Task must not be
// kept beyond the call of [Graph.End] for it; its ID may.
//
// A task is written on one core and read on another, so each of its cache lines moves twice. It has
// six: one for the tasks that it waits for and for queues, one more to run it, and one for each
// inline operand. Fields are atomic only if several goroutines access them at once. The others
// belong to the code that owns the task: Add, then the last task that it waits for, then the
// worker.
type Task struct {
	pending atomic.Int32 // versions and readers still awaited; below 0 while Add counts
	refs    int32        // own life + versions of it that may still be used; atomic after Add

	// Attempt counts the failed attempts so far; the runtime's.
	Attempt int32
	state   uint8 // a State
	special bool  // the task is a fence, or some use is special
	odd     bool  // the task stands for a Watch or a fence, which is in Params
	alone   bool  // no other task shares its data: see AddReady

	// Op, Params, Priority and extras are the Spec's; read-only.
	Priority int64
	id       TaskID
	Op       Op
	Params   any

	extras  *extras
	graph   *Graph
	uses    []use
	tainted atomic.Pointer[Fault] // an input is tainted, or what it has made
	added   time.Duration         // added and ready stay 0
	ready   time.Duration         // without a clock
	own     [inline]use
}

// use is one operand of a task and its place in the graph: a cache line.
type use struct {
	datum   *Datum
	in      *version
	waiter  *use        // next in in's list of waiters
	mode    Mode        // 0: same datum as an earlier operand, nothing to infer
	special bool        // the mode is uncommon, or the datum was when the task was added
	lone    bool        // no task reads in: its maker may drop it when it is there
	given   atomic.Bool // the task has finished with it before its end
	out     version     // the version made, for Out and InOut; its task is set for In too
}

// version is one version of a datum. It is part of the use that makes it, or of the Datum if no
// task has made it.
type version struct {
	task    *Task               // its maker; nil for the initial version
	next    *use                // the maker of the following version; set once, before ended can become 0
	waiters atomic.Pointer[use] // uses that wait for it; produced or broken once it is there
	ended   atomic.Int32        // minus the readers that have ended, plus all of them once next is set
}

// Datum is a handle on something that tasks read and write, for example a
// tile. The zero value, with Value and Bytes set, is ready to use. A Datum
// belongs to one graph at a time: it may go to another graph when all tasks
// on it have ended.
type Datum struct {
	// Value is what versions of an op receive as the operand.
	Value any
	// Bytes is its size, for locality and transfers.
	Bytes int64
	// Key identifies the datum in every run of a program; the zero Key is none.
	Key
	// Owner is the process that the datum belongs to.
	Owner int32

	special  *special      // nil for most
	observed *datumNumber  // its number in the graph that observed it last
	at       atomic.Uint64 // Locations; ends a cache line: workers read what comes before, only Add the rest

	// Name names the datum to people, with I and J: "A(3,2)".
	Name string

	current *version
	reads   int32  // readers of current so far
	number  uint32 // twice current's number, for the Observer; odd once current is known to be there, untainted
	initial version
}

// Locations is a set of locations: memories that are near to some workers and far from others, like
// those of NUMA nodes and accelerators. They are numbered from 0; those from 64 on are in no set.
type Locations uint64

// A group is a run of tasks in program order that access one datum by Commute, or by Reduce, with
// no other access between them. Its members do not depend on one another. To the rest of the graph
// they are readers of a version that a fence makes before them; a fence after them waits for these
// readers and makes the version that all members together have produced:
//
//	          ┌─► member ─┐
//	write ─► fence ─► member ─► fence ─► read
//	          └─► member ─┘
//
// A fence is a task without an op that ends as soon as it is ready.
//
// A group is open from its first member until another kind of access, Seal or a Watch seals it:
// then its second fence is added, and it gets no more members. Members of a Reduce group run at
// once, each with a copy. Members of a Commute group have the datum in turn: a member whose version
// is there takes all its groups at once, or waits in the list of the first one that is held,
// holding none. So members of several groups cannot deadlock.
type group struct {
	mode  Mode
	datum *Datum
	first TaskID                // the first member
	into  any                   // the value to which a Reduce group is added
	holds *renamed              // the renamed value of into, which the group keeps alive
	fault atomic.Pointer[Fault] // of the smallest member that failed

	// The graph's lock for groups guards the rest.
	held    bool    // by a member of a Commute group that is ready or runs
	waiting []*Task // members that only wait for the group
	copies  []any   // all copies of a Reduce group
	free    []any   // copies that no member uses
}

// special has the fields of data that are accessed in uncommon ways.
type special struct {
	group *group // the open group, if the latest accesses form one

	neutral func() any
	combine func(dst, src any)

	renew func() any
	value *renamed // the value of the latest version, if renew is set
}

// groups is the state of a graph's special accesses. The maps have a use until its task has
// finished with the datum.
type groups struct {
	mu     sync.Mutex // a leaf
	of     map[*use]*group
	values map[*use]any // copies and renamed versions, for Task.Value
	open   []*group

	copies Copies
}

// fence is what makes a task a fence.
type fence struct{ group *group }

// renamed is the value of versions of a renamed datum. Versions made in place, by InOut, share the
// value of the previous one; each Out begins a new value.
type renamed struct {
	value any
	bytes int64
	of    *Graph // counts the value; nil for Datum.Value, which is the program's
	// uses counts the tasks that access the value, and the datum while the value is its latest.
	uses atomic.Int32
}

// Copies counts the values that a graph has allocated beside the data's own, now and at most: those
// of renamed data, and the copies of reductions.
type Copies struct {
	Live, Peak       int64
	Bytes, PeakBytes int64 // Datum.Bytes of each
}

// Observer receives the edges as they are inferred, including those from tasks that have ended
// already: so the edges depend on the program only, not on its timing. The goroutine that adds a
// task calls it before the task can run. The graph itself keeps no edges.
type Observer interface {
	// Depends says that task depends on task "on" by version number v of d: the version that "on"
	// made (RAW, WAW) or reads (WAR).
	Depends(on, task TaskID, kind Dependence, d *Datum, v uint32)
}

// numbering numbers the data of an observed graph, from 0.
type numbering struct{ count uint32 }

// datumNumber is the number of a datum in a graph; the datum gets another one in another graph.
type datumNumber struct {
	of     *numbering
	number uint32
}

// Pool keeps the memory of ended tasks between graphs, so that a short graph
// does not pay for allocating its tasks. The zero value is an empty pool. It
// is safe for concurrent use.
type Pool struct {
	mu    sync.Mutex // a leaf
	lists []*Task    // heads of lists linked by nextFree
}
