package cluster

import (
	"log/slog"
	"reflect"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Options configures a node.
type Options struct {
	// Transport connects the node with the others. It must not have been started. The node closes it at its end.
	Transport transport.Transport
	// Runtime executes the node's tasks: an exec.Local, or a Runtime that hands specs on to one with their
	// Witness. With accelerators it must be an exec.Forgetter. The caller closes it after the node's end.
	Runtime exec.Runtime
	// Ops are those that the node can execute, as kernels.Table.All lists them. All nodes need the ops that the
	// program uses.
	Ops []*versions.Op
	// Values has a pointer to a zero value of each type that operands may have, as kernels.Values lists them.
	Values []versions.Value
	// Errors has an error of each type that reaches the driver unchanged, a pointer to a struct of plain data. Others
	// arrive as a *RemoteError.
	Errors []error
	// Memory is the cap on the bytes of operands that an agent has. A task for which there is no room waits, or goes to
	// another node. 0 means no cap. Memory that tasks need beside their operands does not count.
	Memory int64
	// Parent is the name of the agent above this one. Only the parent gives this agent tasks: children of its own tasks
	// ([exec.Nested]). The parent may have a parent in turn. Empty, or the name of a driver, means that drivers
	// give it tasks.
	Parent string
	// Driver is the name of the driver with which an agent ends: when that driver leaves, Serve returns. The driver may
	// come later than the agent. Other drivers are served until then. Empty means that the agent serves all
	// drivers until its context ends. NewDriver ignores it.
	Driver string
	// Program names the node's program and its version, for Usage.
	Program string
	// Log gets what the node cannot report otherwise; nil means slog.Default.
	Log *slog.Logger

	// The rest is for drivers, and for agents with nodes below them.

	// Trace, if not nil, gets an event for each attempt at a task on any node, with a row for each worker, and
	// the fetches between nodes. Nodes then report more of each task. Times of other nodes are off by
	// the uncertainty of their clocks, a part of the time of a message.
	Trace *trace.Recorder

	// Stories is the number of a job's latest tasks whose stories are kept: see exec.Story. Nodes then report more of
	// each task. 0 keeps none.
	Stories int
	// Watchdog, if not nil, gets reports of what is stuck: a task that runs on a node, or waits there for operands,
	// for too long, and a job without tasks that run or end. Nodes are queried four times in that time. A
	// task that waits for its children counts as running.
	Watchdog *exec.Watchdog
	// Policy decides which ready task a node takes next. NewPolicy makes a policy of the program's own. Both see the
	// nodes as locations and as workers, the driver as the first. The zero value, dispatch.Priority, stands for
	// dispatch.Locality, because between nodes the place of the data matters most; with ByPriority it means
	// dispatch.Priority. dispatch.EarliestFinish goes by the times of tasks and transfers that the driver
	// learns, and so do the Costs that NewPolicy gets.
	Policy     dispatch.Kind
	ByPriority bool
	NewPolicy  func(dispatch.Machine) dispatch.Policy
	// Owner, instead of a policy, runs each task on the node that owns the first datum that the task writes, by the
	// Layout of the matrix (blocked.Matrix.SetLayout). Owner k is the k-th available node, the driver the first
	// unless Idle is set; larger numbers wrap around. A node that joins takes the place of a lost one. This
	// moves the fewest bytes. A node without work executes tasks of another owner if that pays (see
	// dispatch.ByOwner), unless Stay is set.
	Owner, Stay bool
	// Window bounds the tasks of a job that are submitted and have not ended; 0 means exec.DefaultWindow.
	Window int
	// Idle makes the driver execute only tasks that no other node can.
	Idle bool
	// Admit, if not nil, reports whether a driver lets a node that has come take part in its jobs. The driver makes one
	// call at a time, also for a node that comes again.
	Admit func(node string) bool
	// Copies says when agents take replicas of what tasks have made.
	Copies Copies
}

// Copies says when agents take replicas of what tasks have made, from which data that only a lost
// node had are computed again. Replicas are taken while tasks go on, if there are at least two
// agents. They count as operands under Options.Memory; they are left out if there is no room, and
// make room for tasks. The zero value is right for most programs.
type Copies struct {
	// Off takes none. The driver then keeps a record of each ended task, some hundred bytes, as long as its results
	// are needed.
	Off bool
	// Records is the number of records of ended tasks that the driver keeps. When there are more, two agents take a
	// replica of each datum of the job, and the driver frees older records. This needs room for two to four
	// times the data; without room the driver keeps the records, and also those of kept data that no job uses.
	// After records are freed, data may be lost for good if two agents are lost shortly one after the other.
	// 0 means no limit; but if all agents have caps on their memory, it means as many records as take an eighth
	// of the bytes of the data, at least 131072.
	Records int
	// Share bounds the part of the time that further replicas take: after enough work, one more agent gets a replica
	// of each datum, and no record is freed. 0 means 0.02 if all agents have caps on their memory, and otherwise
	// no such replicas.
	Share float64
}

// OptionsError lists everything that is wrong with an Options.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string { return problems.InvalidOptions("cluster", e.Problems) }

// validate checks o and sets its defaults. The result is what o names. The error is an *OptionsError.
func (o *Options) validate() (k known, err error) {
	if o.Transport == nil || o.Runtime == nil {
		return k, &OptionsError{[]string{"a node needs a Transport and a Runtime"}}
	}
	if _, ok := o.Runtime.(*Driver); ok {
		return k, &OptionsError{[]string{"a Driver executes no node's tasks"}}
	}
	var bad problems.List
	chosen := o.NewPolicy != nil || o.Policy != dispatch.Priority
	bad.Check(!o.Owner || !chosen && !o.ByPriority, "Owner is set, and so is Policy, ByPriority or NewPolicy")
	bad.Check(!o.ByPriority || o.Owner || !chosen, "ByPriority is set, and so is Policy or NewPolicy")
	bad.Check(o.Parent != o.Transport.Self(), "Parent is the node itself, %s", o.Parent)
	bad.Check(o.Memory >= 0, "Memory is %d, want at least 0", o.Memory)
	bad.Check(o.Window >= 0, "Window is %d, want at least 0", o.Window)
	bad.Check(o.Stories >= 0, "Stories is %d, want at least 0", o.Stories)
	w := o.Watchdog
	bad.Check(w == nil || w.After > 0 && w.Report != nil, "Watchdog needs a time, and a function to report to")
	c := o.Copies
	bad.Check(c.Records >= 0 && c.Share >= 0 && c.Share <= 1 && (!c.Off || c == Copies{Off: true}),
		"Copies is %+v, want Records of at least 0, a Share from 0 to 1, and neither with Off", c)
	bad.Check(len(o.Ops) <= maxOps, "Ops are %d, want %d at most", len(o.Ops), maxOps)
	o.checkRuntime(&bad)
	for _, value := range o.Values {
		typ := reflect.TypeOf(value)
		bad.Check(typ.Kind() == reflect.Pointer, "Values has a %v, want a pointer", typ)
	}
	if bad != nil {
		return k, &OptionsError{bad}
	}
	if o.Window == 0 {
		o.Window = exec.DefaultWindow
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return newKnown(o.Ops, o.Values, o.Errors, o.Memory), nil
}

// checkRuntime checks that the node can serve the workers of its Runtime.
func (o *Options) checkRuntime(bad *problems.List) {
	kinds := kindsOf(o.Runtime.Workers())
	bad.Check(len(kinds) <= maxKinds, "Runtime has workers of %d kinds, want %d at most", len(kinds), maxKinds)
	_, forgets := o.Runtime.(exec.Forgetter)
	for _, kind := range kinds {
		bad.Check(kind.Accelerator == "" || forgets, "Runtime has accelerators, and cannot Forget what they have")
		for _, name := range kind.Target.Ops {
			named := func(op *versions.Op) bool { return op.Name == name || op.OpName() == name }
			bad.Check(slices.ContainsFunc(o.Ops, named),
				"Runtime has workers for %q, and there is no op of that name in Ops", name)
		}
	}
}

// choices returns the options that say which node gets a task.
func (o *Options) choices() core.Choices {
	return core.Choices{
		Policy: o.Policy, ByPriority: o.ByPriority, NewPolicy: o.NewPolicy,
		Owner: o.Owner, Stay: o.Stay, Idle: o.Idle,
	}
}
