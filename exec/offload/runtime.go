package offload

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Runtime is what the worker of a device needs of the runtime that it belongs to. The
// worker's goroutine calls its methods.
type Runtime interface {
	// Take appends to tasks ready ones for this worker, as many as there is room
	// for. If there are none it waits for some, if idle is set: until then the worker
	// has nothing to do. Otherwise the accelerator's Wake says that there are some.
	// It reports false when there will be no more: the runtime is closed.
	Take(tasks []*graph.Task, room int, idle bool) (_ []*graph.Task, ok bool)
	// Push hands over the tasks that have become ready when a task ended which the
	// worker had taken.
	Push(freed []*graph.Task)
	// Refuse gives a task back, for a worker that is not this one.
	Refuse(t *graph.Task)
	// Leave gives back all tasks that the worker has not started, and those that
	// are for it alone: the device is lost, and its worker takes no more, unless
	// the runtime goes on to give it what only it could have run.
	Leave(tasks []*graph.Task) (takes bool)
	// Uses notes that devices may have some of the data of t's job from now on, and
	// returns the number of the job.
	Uses(t *graph.Task) (job uint64)
	// NewAttempt returns an attempt at nothing yet.
	NewAttempt() Attempt
	// Exit says that the worker is at its end.
	Exit()
}

// Attempt is one attempt after the other at tasks: the runtime's part of a flight. Its
// methods are called in the order in which they stand here, and then again from the
// first.
type Attempt interface {
	// Open begins an attempt at t: its operands come to where it is made, and a
	// version is chosen. It reports false if t has ended instead, and appends what
	// that has freed to freed.
	Open(t *graph.Task, work *versions.Workspace, freed []*graph.Task) (_ []*graph.Task, ok bool)
	// Chosen returns the call that is to be made, and of which version.
	Chosen() (*versions.Call, *versions.Version)
	// Starts tells everybody who wants to know that the attempt starts now.
	Starts(t *graph.Task)
	// Ends tells them that it has ended with err, that it began then, if that is not
	// zero, and how long it took. It returns the error that counts.
	Ends(t *graph.Task, began time.Time, took time.Duration, err error) error
	// Conclude ends t, whose attempt has ended with err, or reports that there is to
	// be another one, which t is ready for. Fail and Anew may come instead: t
	// fails whatever its policy of retries says; or it begins anew as if this had
	// been no attempt. Then Restore comes first if the attempt has begun to write: it
	// undoes that, and reports false if it cannot.
	Conclude(t *graph.Task, err error, freed []*graph.Task) (_ []*graph.Task, again bool)
	Fail(t *graph.Task, err error, freed []*graph.Task) []*graph.Task
	Restore(t *graph.Task) bool
	Anew(t *graph.Task, why error)
	// Forget drops what is known of the task.
	Forget()
}

// Options are what a device's worker is made with.
type Options struct {
	Runtime Runtime
	Devices Devices // all of the runtime, this one among them
	// Alone has every call started on its own.
	Alone bool
}
