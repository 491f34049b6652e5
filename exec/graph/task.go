package graph

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Mode says how a task accesses a datum.
type Mode uint8

// The access modes.
const (
	In    Mode = 1        // reads the current version
	Out   Mode = 2        // makes a new version without reading the current one
	InOut Mode = In | Out // reads the current version and makes the next one in place

	// Commute is InOut for tasks that may run in any order, but not at once:
	// successive ones on a datum do not wait for one another, and a task that
	// is ready but for another one's turn waits without holding up a worker.
	// Results may depend on the order.
	Commute Mode = InOut | 4
	// Reduce is InOut for tasks that add to the datum, and may run in any order
	// and at once: each gets a copy to add to. See [Reduction], which the datum
	// must have.
	Reduce Mode = InOut | 8
)

// InPlace reports whether a task with that mode changes the value that it reads.
func (m Mode) InPlace() bool { return m&InOut == InOut }

// valid reports whether m is one of the modes.
func (m Mode) valid() bool { return m-1 < InOut || m == Commute || m == Reduce }

func (m Mode) String() string {
	switch m {
	case In:
		return "IN"
	case Out:
		return "OUT"
	case InOut:
		return "INOUT"
	case Commute:
		return "COMMUTE"
	case Reduce:
		return "REDUCE"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// TaskID numbers the tasks of one graph from 1 in the order of [Graph.Add]:
// the order of the sequential program.
type TaskID uint64

// State is where a task stands. The package comment draws the transitions.
type State uint32

// The states of a task, in the order in which it can go through them.
const (
	Waiting   State = iota // added; a version it needs is missing
	Ready                  // nothing missing; waits for a worker
	Running                // a worker executes it
	Done                   // ended well
	Failed                 // ended with an error, after its last attempt
	Cancelled              // never ran: its input is tainted or its job is over
)

func (s State) String() string {
	names := [...]string{"waiting", "ready", "running", "done", "failed", "cancelled"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint32(s))
}

// Action is what a job does about a task that has failed.
type Action uint8

// The actions, after PyCOMPSs' on_failure.
const (
	// Fail ends the job: no task submitted after the failed one is started.
	Fail Action = iota
	// CancelSuccessors cancels those who need the task's outputs, directly or
	// not; everything else goes on. The job reports the error at the end.
	CancelSuccessors
	// Ignore takes the task for done; its outputs are what it left there.
	Ignore
)

func (a Action) String() string {
	names := [...]string{"fail", "cancel-successors", "ignore"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Failure is a task's failure policy. The zero value fails the job at the
// first error. It may be shared by many tasks and must not change.
type Failure struct {
	// Retries is how often the task is run again after an error: the first
	// time on the same worker, then on another one. An attempt starts from what
	// the first one has found: what the task updates in place is saved before, and
	// its values have to be versions.Value. An error that has a method Final() bool,
	// which returns true, is one that another attempt would only repeat: it stands.
	Retries int
	// Then is what happens after the last attempt.
	Then Action
	// Timeout bounds each attempt; 0 is no bound. The attempt's context ends
	// with it, and an attempt that returns later has failed whatever it
	// returns. Go cannot end a function that ignores its context: the worker
	// stays busy until it returns.
	Timeout time.Duration
}

// Op is the operation of a task; *versions.Op is one.
type Op interface {
	// OpName identifies the operation, on every node alike.
	OpName() string
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
	// Local is what the task shares with others of this process, for versions.Call:
	// it is no part of what the task means, and is never sent.
	Local any
	// Constraints is what the task asks of its worker beyond what its op does, nil
	// for nothing: for package exec a *versions.Constraints. It may be shared by many
	// tasks and must not change.
	Constraints any
	// Witness, if not nil, is told of each attempt at the task, and of its end.
	Witness Witness
}

// Attempt is an attempt at a task that has ended.
type Attempt struct {
	Worker  int // of the runtime
	Version string
	Start   time.Time
	Took    time.Duration // without the time of the task's children
	Err     error
}

// Witness is told of attempts at tasks by the workers that make them, before what follows
// from an attempt, unless the task has handed on all that it writes. It must not wait.
type Witness interface {
	Attempted(Attempt)
	// Finished is told, by any goroutine, that a running attempt has finished with operand i,
	// before those are that waited for it: see [Graph.Give].
	Finished(i int)
	// Ended is told once that the task has ended for good, its children included, and why
	// it has not made what it was to write. That is where the program finds it.
	Ended(error)
}

// aside is what only some tasks have. It stays with the memory of a task, for the next ones.
type aside struct {
	failure *Failure
	local   any
	kept    any
	// constraints are for the runtime.
	constraints any
	witness     Witness
}

// Constraints returns the Spec's, nil if there are none.
func (t *Task) Constraints() any {
	if t.aside == nil {
		return nil
	}
	return t.aside.constraints
}

// Witness returns the Spec's, nil if there is none.
func (t *Task) Witness() Witness {
	if t.aside == nil {
		return nil
	}
	return t.aside.witness
}

// Failure returns the Spec's, nil if there is none.
func (t *Task) Failure() *Failure {
	if t.aside == nil {
		return nil
	}
	return t.aside.failure
}

// Local returns the Spec's, nil if there is none.
func (t *Task) Local() any {
	if t.aside == nil {
		return nil
	}
	return t.aside.local
}

// Keep has the task keep something until its end, for the runtime: what another
// attempt has to start from. The task must have a Failure.
func (t *Task) Keep(v any) { t.aside.kept = v }

// Kept returns what [Task.Keep] was given, or nil.
func (t *Task) Kept() any {
	if t.aside == nil {
		return nil
	}
	return t.aside.kept
}

// Fault is why a version is tainted: the task that failed first on the way to
// it, and its error.
type Fault struct {
	Task TaskID
	Err  error
}

// inline is the number of operands whose bookkeeping lives inside the Task.
// The tile operations of a factorization have at most three or four.
const inline = 4

// Task is a node of the graph. The graph reuses the memory of a task some
// time after its end: a *Task must not be kept beyond the call of [Graph.End]
// for it; its ID may.
//
// A task is written on one core and read on another, and each of its cache lines
// has to move twice. It has six: one for those who wait for it to become ready,
// and for queues; one more to run it; and one for each operand that it has. Fields
// are atomic only where several goroutines may be at them at once; the others
// belong to the code that has the task: Add, the last of those that it waits for, the
// worker.
type Task struct {
	pending atomic.Int32 // versions and readers still awaited; below 0 while Add counts
	refs    int32        // own life + versions of it that somebody may touch; atomic after Add

	// Attempt counts the failed attempts so far; the runtime's.
	Attempt int32
	state   uint8 // a State
	special bool  // it is a fence, or some use is special
	odd     bool  // it stands for a Watch or a fence: Params is that
	alone   bool  // no other task shares its data: see AddReady

	// Op, Params, Priority and aside are the Spec's; read-only.
	Priority int64
	id       TaskID
	Op       Op
	Params   any

	aside   *aside
	graph   *Graph
	uses    []use
	tainted atomic.Pointer[Fault] // an input is tainted, or what it has made
	added   time.Duration         // these two stay 0
	ready   time.Duration         // without a clock
	own     [inline]use
}

// nextFree is the next task on a list of those whose memory can be used again: the
// place for it is in a version that nobody looks at any more.
func (t *Task) nextFree() **Task { return &t.own[0].out.task }

// use is one operand of a task and its place in the graph: a cache line.
type use struct {
	datum   *Datum
	in      *version
	waiter  *use        // next in the list of those who wait for in
	mode    Mode        // 0: same datum as an earlier operand, nothing to infer
	special bool        // the mode is uncommon, or the datum was when the task was added
	lone    bool        // nobody else reads in: when it is there its maker may drop it
	given   atomic.Bool // the task has finished with it before its end
	out     version     // the version made, for Out and InOut; its task is set for In too
}

// version is one version of a datum. It lives in the use that makes it, or in
// the Datum for the one that was there before any task.
type version struct {
	task    *Task               // who makes it; nil if it was there before
	next    *use                // who makes the following version; set once, before readers can be 0
	waiters atomic.Pointer[use] // who waits for it; produced or broken once it is there
	ended   atomic.Int32        // minus the readers that have ended, plus all of them once next is set
}

// These close a version's list of waiters: produced if it is good, broken if its
// task's fault taints it.
var produced, broken = new(use), new(use)

// ID returns the task's number.
func (t *Task) ID() TaskID { return t.id }

// Graph returns the graph that the task belongs to.
func (t *Task) Graph() *Graph { return t.graph }

// State returns where the task stands.
//
// As the rest of the task it is for the code that has the task at present.
func (t *Task) State() State { return State(t.state) }

// SetState records a transition that the runtime decides: to Running, and
// back to Ready for another attempt.
func (t *Task) SetState(s State) { t.state = uint8(s) }

// Added returns when the task was added, by [Graph.Clock]; 0 without a clock.
func (t *Task) Added() time.Duration { return t.added }

// ReadyAt returns when the task became ready; 0 without a clock.
func (t *Task) ReadyAt() time.Duration { return t.ready }

// SetReadyAt notes when the task became ready, for the runtime.
func (t *Task) SetReadyAt(at time.Duration) { t.ready = at }

// Tainted returns the fault of a tainted input, nil if there is none. It is
// final once the task is ready.
func (t *Task) Tainted() *Fault { return t.tainted.Load() }

// Len returns the number of operands.
func (t *Task) Len() int { return len(t.uses) }

// Operand returns operand i, its mode joined with that of an earlier operand
// if both are the same datum.
func (t *Task) Operand(i int) Operand {
	u := t.first(i)
	return Operand{u.datum, u.mode}
}

// Gave reports whether the task has finished with some operand before its end:
// see [Graph.Give].
func (t *Task) Gave() bool {
	for i := range t.uses {
		if t.uses[i].given.Load() {
			return true
		}
	}
	return false
}

// Given reports whether the task has finished with operand i before its end.
func (t *Task) Given(i int) bool { return t.first(i).given.Load() }

// Shadowed reports whether an operand is renamed or reduced: then its value may
// be another one than the datum's.
func (t *Task) Shadowed() bool {
	if !t.special {
		return false
	}
	for i := range t.uses {
		if u := t.first(i); u.special && (u.mode == Reduce || u.datum.special.renew != nil) {
			return true
		}
	}
	return false
}

// Watch returns the Watch that the task stands for, nil for a task that was
// added with [Graph.Add].
func (t *Task) Watch() *Watch {
	if !t.odd {
		return nil
	}
	w, _ := t.Params.(*Watch)
	return w
}

// fence returns the fence that the task is, nil for others.
func (t *Task) fence() *fence {
	if !t.odd {
		return nil
	}
	f, _ := t.Params.(*fence)
	return f
}

// Used notes that the task has accessed its data at a location, but for those that
// it had finished with before: what it has read is there too from now on, and what
// it has written is there only. Fixed are the locations that share a memory, in which
// a value stays where it was touched first: the NUMA nodes of a host.
func (t *Task) Used(location int, fixed Locations) {
	for i := range t.uses {
		if u := &t.uses[i]; u.mode != 0 && !u.given.Load() {
			u.datum.used(u.mode, location, fixed)
		}
	}
}

// UsedOperand is [Task.Used] for operand i alone.
func (t *Task) UsedOperand(i, location int, fixed Locations) {
	u := t.first(i)
	u.datum.used(u.mode, location, fixed)
}

// BytesAt returns how many bytes of what the task reads are at a location.
func (t *Task) BytesAt(location int) (bytes int64) {
	for i := range t.uses {
		if u := &t.uses[i]; u.mode&In != 0 && u.datum.At().Has(location) {
			bytes += u.datum.Bytes
		}
	}
	return bytes
}

// Values appends [Task.Value] of each operand to values.
func (t *Task) Values(values []any) []any {
	for i := range t.uses {
		if t.special {
			values = append(values, t.Value(i))
		} else {
			values = append(values, t.uses[i].datum.Value)
		}
	}
	return values
}

// Value returns the value of operand i's datum. It panics if Reduction.New does.
func (t *Task) Value(i int) any {
	u := &t.uses[i]
	if !t.special {
		return u.datum.Value
	}
	if u = t.first(i); !u.special {
		return u.datum.Value
	}
	return t.graph.value(u)
}

// first returns the use that stands for operand i: that of an earlier operand if
// both are the same datum.
func (t *Task) first(i int) *use {
	u := &t.uses[i]
	for k := 0; u.mode == 0 && k < i; k++ {
		if t.uses[k].datum == u.datum {
			u = &t.uses[k]
		}
	}
	return u
}
