package graph

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/internal/words"
)

// Mode says how a task accesses a datum.
type Mode uint8

// The access modes.
const (
	In    Mode = 1        // reads the current version
	Out   Mode = 2        // makes a new version without reading the current one
	InOut Mode = In | Out // reads the current version and makes the next one in place

	// Commute is InOut for tasks that may run in any order, but not at once. Successive ones on a
	// datum do not depend on one another; a task that waits for its turn occupies no worker.
	// Results may depend on the order.
	Commute Mode = InOut | 4
	// Reduce is InOut for tasks that add to the datum, and may run in any order and at once: each
	// adds to a copy. The datum must have a [Reduction].
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

// State is the state of a task. The package comment draws the transitions.
type State uint32

// The states of a task, in the order in which it can go through them.
const (
	Waiting   State = iota // added; a version that it needs is missing
	Ready                  // nothing missing; waits for a worker
	Running                // a worker executes it
	Done                   // ended well
	Failed                 // ended with an error, after its last attempt
	Cancelled              // never ran: its input is tainted or its job is over
)

var states = words.Of[State]{"waiting", "ready", "running", "done", "failed", "cancelled"}

func (s State) String() string { return states.Name(s) }

// Action is what a job does when a task has failed.
type Action uint8

// The actions, after PyCOMPSs' on_failure.
const (
	// Fail ends the job: no task submitted after the failed one is started.
	Fail Action = iota
	// CancelSuccessors cancels the tasks that need the failed task's outputs, directly or not; all
	// others go on. The job reports the error at the end.
	CancelSuccessors
	// Ignore counts the task as done; its outputs stay as the task left them.
	Ignore
)

var actions = words.Of[Action]{"fail", "cancel-successors", "ignore"}

func (a Action) String() string { return actions.Name(a) }

// Failure is a task's failure policy. The zero value fails the job at the
// first error. It may be shared by many tasks and must not change.
type Failure struct {
	// Retries is how often the task is run again after an error: the first time on the same worker,
	// then on another one. Values that the task updates in place are saved before the first attempt
	// and restored before the others; they must be versions.Value. An error with a method Final()
	// bool that returns true is not retried.
	Retries int
	// Then is what happens after the last attempt.
	Then Action
	// Timeout bounds each attempt; 0 is no bound. The attempt's context ends with it, and an
	// attempt that returns later has failed, whatever it returns. Go cannot end a function that
	// ignores its context: the worker stays busy until it returns.
	Timeout time.Duration
}

// Op is the operation of a task; *versions.Op is one.
type Op interface {
	// OpName identifies the operation on every node.
	OpName() string
}

// Attempt is an attempt at a task that has ended.
type Attempt struct {
	Worker  int // of the runtime
	Version string
	Start   time.Time
	Took    time.Duration // without the time of the task's children
	Err     error
}

// Witness learns of attempts at a task. The worker that makes the attempt calls it before the
// attempt's consequences, except for operands that the task has handed on before. It must not wait.
type Witness interface {
	Attempted(Attempt)
	// Finished is called, by any goroutine, when a running attempt has finished with operand i,
	// before the tasks that wait for that operand are released: see [Graph.Give].
	Finished(i int)
	// Ended is called once, when the task has ended for good, its children included. The error says
	// why it has not made its outputs, nil if it has. The outputs are in the program's memory then.
	Ended(error)
}

// Fault is the reason why a version is tainted: the first failed task on the way to it, and its
// error.
type Fault struct {
	Task TaskID
	Err  error
}

// Cause returns the error of f, nil if there is no fault.
func (f *Fault) Cause() error {
	if f == nil {
		return nil
	}
	return f.Err
}

// Key identifies a datum in its graph: element (I, J), as a rule a tile, of a matrix. The code that
// makes data numbers matrices from 1, in the order of the program.
type Key struct {
	Matrix uint32 `json:"matrix,omitempty"`
	I      int32  `json:"i"`
	J      int32  `json:"j"`
}
