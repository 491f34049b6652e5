package exec

import (
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/problems"
)

// ErrClosed is the error of jobs that Close has ended, and of tasks submitted after Close.
var ErrClosed = errors.New("exec: runtime is closed")

// ErrUnfinished is returned, unwrapped, by a version whose task is to go on later: the worker has
// given way to other work. The task becomes ready again, which is no failed attempt, and any worker
// may continue it. The version keeps its progress in the task's parameter or data. It must have no
// children then.
var ErrUnfinished = errors.New("exec: the task is to go on later")

// TaskError reports a failed task. Of all failed tasks of a job the one with the smallest number is
// reported, whichever failed first in time.
type TaskError struct {
	Task     graph.TaskID // number of the task in its job; 0 if it ran outside of any
	Op       string       // as in "potrf/f64"
	Version  string       // version that ran, empty if none could be chosen
	Node     string       // node that ran the last attempt; empty if it is this process
	Worker   int          // worker that ran the last attempt; -1 if none did
	Attempts int          // how often it was run
	Err      error        // what the version returned; *PanicError, *TimeoutError
}

// Error names the task, its version and worker, and the cause.
func (e *TaskError) Error() string {
	msg := e.Op
	if e.Task > 0 {
		msg = fmt.Sprintf("task %d, %s", e.Task, e.Op)
	}
	if e.Version != "" {
		msg += fmt.Sprintf(" (%s)", e.Version)
	}
	if e.Worker >= 0 {
		msg += fmt.Sprintf(" on worker %d", e.Worker)
	}
	if e.Node != "" {
		msg += " of " + e.Node
	}
	if e.Attempts > 1 {
		msg += fmt.Sprintf(", attempt %d", e.Attempts)
	}
	return msg + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *TaskError) Unwrap() error { return e.Err }

// PanicError is a panic inside a task, or a call of runtime.Goexit.
type PanicError = graph.PanicError

// TimeoutError reports an attempt that exceeded its time-out, graph.Failure.Timeout. The attempt
// was not interrupted: it ended late, by itself or because its version heeds the context of the
// call, which ends with the time-out. Its results are not used.
type TimeoutError struct {
	Limit time.Duration // the time-out
	Took  time.Duration // how long the attempt ran
	Err   error         // what it returned, if anything
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("time-out of %v exceeded: took %v", e.Limit, e.Took.Round(time.Microsecond))
}

// Unwrap returns what the attempt returned.
func (e *TimeoutError) Unwrap() error { return e.Err }

// Timeout reports true, as net.Error's does, so that a program can test for it without this type.
func (e *TimeoutError) Timeout() bool { return true }

// OptionsError lists every problem of an Options, so that the user can correct all at once.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string { return problems.InvalidOptions("exec", e.Problems) }

// ErrConstraints is the panic of [Job.Submit] for a task whose constraints are of another type than
// *versions.Constraints.
const ErrConstraints graph.Error = "exec: the constraints of a task must be a *versions.Constraints"

// ErrNotRestorable is the panic of [Job.Submit] for a task with retries that updates in place a
// value which is no versions.Value: a second attempt would start from what the first one has left.
// It is also the panic for a child that overwrites a renamed datum with such a value: the result
// could not be copied into the datum's value.
const ErrNotRestorable graph.Error = "exec: a value that has to be restored, or replaced, is no versions.Value"

// MemoryError reports a task that needs more memory than all workers of a kind have together, and
// so would wait for ever. Need is the larger of what its version (Version.Memory,
// Constraints.Memory) and its own constraints declare; Have is versions.Target.Memory of the kind.
type MemoryError struct {
	Op         string
	Need, Have int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("exec: %s needs %d bytes of memory while it runs, and its workers have %d together", e.Op,
		e.Need, e.Have)
}
