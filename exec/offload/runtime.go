package offload

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Runtime is what the worker of a device needs of its runtime. The worker's goroutine calls its
// methods.
type Runtime interface {
	// Take appends at most room ready tasks for this worker to tasks. If there are none and idle is
	// set, because the worker has nothing to do, it waits for some. Otherwise the accelerator's
	// Wake says later that there are some. Take reports false when there will be no more: the
	// runtime is closed.
	Take(tasks []*graph.Task, room int, idle bool) (_ []*graph.Task, ok bool)
	// Push hands over the tasks that the end of one of the worker's tasks has made ready.
	Push(freed []*graph.Task)
	// Refuse gives a task back, for another worker.
	Refuse(t *graph.Task)
	// Leave gives back all tasks that the worker has not started, and those that are for it alone,
	// because the device is lost. It reports whether the runtime goes on to give the worker tasks
	// that no other can run, which the worker fails.
	Leave(tasks []*graph.Task) (takes bool)
	// Uses notes that devices may hold data of t's job from now on, and returns the job's number.
	Uses(t *graph.Task) (job uint64)
	// NewAttempt returns an Attempt without a task.
	NewAttempt() Attempt
	// Exit says that the worker has ended.
	Exit()
}

// Attempt is the runtime's part of a flight; it is used for one attempt after the other. Its
// methods are called in the order below, and then again from the first.
type Attempt interface {
	// Open begins an attempt at t: it brings the operands to the device and chooses a version. It
	// reports false if t has ended instead, and appends the tasks that become ready to freed.
	Open(t *graph.Task, work *versions.Workspace, freed []*graph.Task) (_ []*graph.Task, ok bool)
	// Chosen returns the call and the chosen version.
	Chosen() (*versions.Call, *versions.Version)
	// Starts tells all observers that the attempt starts now.
	Starts(t *graph.Task)
	// Ends tells all observers that the attempt has ended with err after took; began is its
	// beginning, if it is not zero. It returns the attempt's final error.
	Ends(t *graph.Task, began time.Time, took time.Duration, err error) error
	// Conclude ends t, whose attempt has ended with err, or reports that t is ready for another
	// attempt. Instead, Fail ends t as failed whatever its policy of retries, and Anew makes it
	// ready as if this had been no attempt. If the attempt may have written, Restore comes before
	// Anew: it undoes the writes, and reports false if it cannot.
	Conclude(t *graph.Task, err error, freed []*graph.Task) (_ []*graph.Task, again bool)
	Fail(t *graph.Task, err error, freed []*graph.Task) []*graph.Task
	Restore(t *graph.Task) bool
	Anew(t *graph.Task, why error)
	// Forget drops all references to the task.
	Forget()
}

// Options configure a device's worker.
type Options struct {
	Runtime Runtime
	Devices Devices // all devices of the runtime, this one among them
	// Alone makes every call start on its own.
	Alone bool
}
