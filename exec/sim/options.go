package sim

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/versions"
)

// Body is the code of a task with children, as the op's version has it with the job of exec.Nested:
// it submits children, and may wait for them. The task ends when all children have ended. A Body
// must wait for nothing but the job.
type Body func(c *versions.Call, children exec.Job) error

// Options configures a [Runtime] or a [Cluster].
type Options struct {
	// Context, if not nil, can cancel a Cluster's work outside of jobs: to keep millions of values
	// takes seconds.
	Context context.Context
	// Machine is the machine to simulate. It must not be changed while it is in use.
	Machine *Machine
	// Policy decides which ready task a worker takes next, as exec.Options.Policy, and NewPolicy
	// makes the program's own. For a Cluster they are the policies of each node.
	Policy    dispatch.Kind
	NewPolicy func(dispatch.Machine) dispatch.Policy
	// Nodes decides which node of a Cluster gets a task, as cluster.Options: only Policy,
	// ByPriority, NewPolicy, Owner and Stay count.
	Nodes cluster.Options
	// Decided, if not nil, returns the seconds that the program's own policy, or a Cluster's
	// driver, has taken to decide since the last call. Built-in policies take the time in Costs.
	Decided func() float64
	// Bodies are the ops whose tasks have children, with the body that such a task runs after its
	// own cost. If a task is on a node of a Cluster that has nodes below it, these execute its
	// children.
	Bodies map[*versions.Op]Body
	// Window is the number of tasks of a job that may be in flight; 0 means
	// exec.DefaultWindow.
	Window int
	// Setup says that the time before the first Reset only prepares a Cluster: times of
	// Machine.Failures count from that Reset.
	Setup bool
	// Record keeps the events of each task, for Recording. It takes some hundred bytes for each.
	Record bool
}
