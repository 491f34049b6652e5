package exec

import (
	"context"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Runtime executes tasks: [Local] on the cores and accelerators of this machine, package cluster on
// several nodes. It is safe for concurrent use.
type Runtime interface {
	// NewJob returns a job without tasks. When ctx ends, tasks of the job that have not started are
	// cancelled, and the context of running tasks ends.
	NewJob(ctx context.Context) Job
	// Workers describes the workers, those on cores first.
	Workers() []Worker
	// Target returns the target of the first worker; other workers may have other targets. It must
	// not be changed.
	Target() *versions.Target
	// Selector returns the selector that chooses among the versions of an op.
	Selector() *versions.Selector
	// Close cancels all tasks that have not started, waits for those that run, and ends the
	// workers. Wait of a job that had tasks in flight returns ErrClosed, unless the job had failed
	// before. Close may be called more than once.
	Close() error
}

// Working returns the workers of rt among which a program should divide its work: those that are
// not Spare.
func Working(rt Runtime) []Worker {
	return slices.DeleteFunc(slices.Clone(rt.Workers()), func(w Worker) bool { return w.Spare })
}

// Keeper is a Runtime with several memories that leaves values where tasks have made them, even
// when a job ends.
type Keeper interface {
	Runtime
	// Keep keeps data with these values where tasks make them: Wait does not copy them into the
	// program's memory, which they do not need. A value has its shape, and is zero until a task
	// writes it. The error is ErrClosed, or says that values of that type cannot be kept.
	Keep(values []versions.Shaped) (Kept, error)
}

// Forgetter is a Runtime that keeps copies of values in other memories than the program's.
type Forgetter interface {
	Runtime
	// Forget drops the copies of a value that no task uses now. A program calls it before it writes
	// the value other than by a task, if tasks of a job that has used the value may use it again.
	Forget(value any)
}

// Retainer is a Runtime with devices, whose copies of values can stay there between jobs.
type Retainer interface {
	Runtime
	// Retain lets copies of these values stay on the devices when a job ends, as far as there is
	// room, until discard is called. Until then the program writes the values by tasks only, or after
	// [Forgetter.Forget]; it reads them as before. It calls discard once, perhaps after Close.
	Retain(values []any) (discard func())
}

// Kept is values that a [Keeper] keeps.
type Kept interface {
	// Fetch copies what the last job that has ended left of v, one of the values, into
	// another value of its shape. A value that no task has written is left alone.
	Fetch(ctx context.Context, v versions.Shaped, into versions.Value) error
	// Locate returns the node that has each value: the Location of that node's workers, whose
	// Worker.Host names it, or 0 for this process. It returns −1 if no task has written the value,
	// or all nodes that had it are lost. It asks once for all values and moves none.
	Locate(values []versions.Shaped) []int
	// Release frees the values, which must not be used any more.
	Release()
}

// Job is a sequence of tasks and their execution. Its methods are safe for concurrent use. Several
// goroutines that submit at once must order their tasks themselves.
type Job interface {
	// Submit adds a task. It blocks while the job's window is full. If the job has failed or is
	// cancelled, the error is the job's, and neither this task nor a later one is added.
	//
	// Submit panics with a graph.Error if the spec makes no sense: see ErrNotRestorable and
	// ErrConstraints. A task must not submit to its own job: it would wait for a window that it
	// helps to fill. It may have children: see [Nested].
	Submit(s *graph.Spec) (graph.TaskID, error)
	// Wait waits until every task submitted so far has ended and returns the job's error: nil if
	// all went well, a *TaskError for the failed task with the smallest number, the cause of the
	// context's end, or ErrClosed. A failure under graph.Ignore is no error. After a nil error the
	// job may go on.
	Wait() error
	// WaitOn waits until the version of d that the latest submitted task makes is there, and
	// returns the error that prevents it, if any. Tasks submitted later that write d may change it
	// already.
	WaitOn(d *graph.Datum) error
	// Notify calls done once, with the result of WaitOn, when WaitOn would return: on a worker, or
	// at once. Done must not wait or use the job.
	Notify(d *graph.Datum, done func(error))
	// Err returns the job's error so far, as Wait would.
	Err() error
	// Completed returns the number of tasks that have ended in any way, and Ignored the number of
	// those whose failure was ignored.
	Completed() int
	Ignored() int
	// Copies returns how much memory the job's data use beside their own values: see
	// graph.Graph.Copies.
	Copies() graph.Copies
	// Story returns the history of a task of the job. The error is a *NoStoryError if
	// Options.Stories does not reach back to it.
	Story(id graph.TaskID) (Story, error)
}
