package exec

import (
	"context"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Runtime executes tasks: [Local] does on the cores and accelerators of this
// machine. It is safe for concurrent use.
type Runtime interface {
	// NewJob returns a job without tasks. When ctx ends, tasks of the job that have
	// not started are cancelled and those that run see their context end.
	NewJob(ctx context.Context) Job
	// Workers describes the workers, those on cores first.
	Workers() []Worker
	// Target returns what the first worker offers to versions; others may offer
	// something else. It must not be changed.
	Target() *versions.Target
	// Selector returns what chooses among the versions of an op.
	Selector() *versions.Selector
	// Close cancels what has not started of all jobs, waits for the tasks that run,
	// and ends the workers. The jobs' Wait returns ErrClosed, unless they had failed
	// before. Close may be called more than once.
	Close() error
}

// Working returns the workers of rt among which work is to be divided: those that are not Spare.
func Working(rt Runtime) []Worker {
	return slices.DeleteFunc(slices.Clone(rt.Workers()), func(w Worker) bool { return w.Spare })
}

// Keeper is a Runtime of several memories that leaves values where tasks have left them,
// also when a job ends.
type Keeper interface {
	Runtime
	// Keep has data with these values stay where they are from now on: Wait does not
	// bring them into the program's memory, where they need none. A value has its
	// shape, and is zero until a task writes it. The error is ErrClosed, or says that
	// values of that type cannot be kept.
	Keep(values []versions.Shaped) (Kept, error)
}

// Forgetter is a Runtime with memories besides the program's, which it fills with copies of
// values.
type Forgetter interface {
	Runtime
	// Forget has it give up its copies of a value that no task uses now. Who is going to
	// write the value otherwise than by a task calls it before, as long as tasks of a job
	// that has used it may use it again.
	Forget(value any)
}

// Kept is values that a [Keeper] keeps.
type Kept interface {
	// Fetch copies what the last job that has ended left of v, one of the values, into
	// another value of its shape. A value that no task has written is left alone.
	Fetch(ctx context.Context, v versions.Shaped, into versions.Value) error
	// Locate returns which node has each of the values: the Location of its workers, of which
	// Worker.Host names it, or 0 for this process; −1 if no task has written it, or all nodes
	// that had it are lost. It is one look-up for all of them, and moves nothing.
	Locate(values []versions.Shaped) []int
	// Release ends that. The values must not be used any more.
	Release()
}

// Job is a sequence of tasks and their execution. Its methods are safe for
// concurrent use, except that the order of tasks submitted by several
// goroutines at once is theirs to settle.
type Job interface {
	// Submit adds a task. It blocks while the job's window is full. The error is
	// the job's, if it has failed or been cancelled: then the task was not added,
	// and nothing submitted later will be.
	//
	// Submit panics with a graph.Error if the spec makes no sense, as
	// ErrNotRestorable. A task must not submit to its own job: it would wait for a
	// window that it helps to fill. It can have children: see [Nested].
	Submit(s *graph.Spec) (graph.TaskID, error)
	// Wait waits until every task submitted so far has ended and returns the
	// job's error: nil if all went well, a *TaskError for the failed task with
	// the smallest number, the cause of the context's end, or ErrClosed. A failure
	// under graph.Ignore is no error. After a nil error the job can go on.
	Wait() error
	// WaitOn waits until the version of d that the latest task submitted so far
	// makes is there, and returns the error that keeps it from being made, if any.
	// Tasks submitted later that write d may already change it.
	WaitOn(d *graph.Datum) error
	// Notify has done called, once, when WaitOn would return, with what it would return:
	// by a worker, or at once. Done must not wait, nor use the job.
	Notify(d *graph.Datum, done func(error))
	// Err returns the job's error so far, as Wait would.
	Err() error
	// Completed returns the number of tasks that have ended in any way, and Ignored
	// of those whose failure was ignored.
	Completed() int
	Ignored() int
	// Copies returns how much memory the job's data have beside their own values:
	// see graph.Graph.Copies.
	Copies() graph.Copies
	// Story returns what happened so far to a task of the job. The error is a
	// *NoStoryError if Options.Stories does not reach back to it.
	Story(id graph.TaskID) (Story, error)
}
