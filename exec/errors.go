package exec

import (
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// ErrClosed is returned for work given to a runtime after its Close, and for
// what Close cut short.
var ErrClosed = errors.New("exec: runtime is closed")

// TaskError reports a task that failed. Of all tasks of a job that fail, the
// one with the smallest number is reported, whichever failed first in time.
type TaskError struct {
	Task     graph.TaskID // number of the task in its job; 0 if it ran outside of any
	Op       string       // as in "potrf/f64"
	Version  string       // version that ran, empty if none could be chosen
	Worker   int          // worker that ran the last attempt; -1 if none did
	Attempts int          // how often it was run
	Err      error        // what the version returned; *PanicError, *TimeoutError
}

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
	if e.Attempts > 1 {
		msg += fmt.Sprintf(", attempt %d", e.Attempts)
	}
	return msg + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *TaskError) Unwrap() error { return e.Err }

// PanicError is a panic inside a task, or a call of runtime.Goexit.
type PanicError struct {
	Value any    // what was passed to panic; nil for Goexit
	Stack []byte // the stack of the panicking goroutine
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "task called runtime.Goexit"
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// TimeoutError is an attempt at a task that outlasted its time-out.
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

// Timeout reports true, as net.Error's does.
func (e *TimeoutError) Timeout() bool { return true }

// OptionsError lists everything that is wrong with an Options.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string {
	msg := "exec: invalid options"
	for i, p := range e.Problems {
		if i == 0 {
			msg += ": " + p
		} else {
			msg += "; " + p
		}
	}
	return msg
}
