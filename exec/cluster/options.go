package cluster

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Options configures a node.
type Options struct {
	// Transport connects the node with the others. It has not been started; the node
	// closes it at its end.
	Transport transport.Transport
	// Runtime executes the node's tasks: an exec.Local, or what hands specs on to one, with
	// their Witness and, if there are accelerators, is an exec.Forgetter. The caller closes it after the node's end.
	Runtime exec.Runtime
	// Ops are those that the node can execute, as kernels.Table.All lists them. All
	// nodes need those that the program uses.
	Ops []*versions.Op
	// Values has a value of each type that operands may have, a pointer to a zero
	// value, as kernels.Values lists them.
	Values []versions.Value
	// Errors has an error of each type, a pointer to a struct of plain data, that is to
	// reach the driver as it is. Others arrive as a *RemoteError.
	Errors []error
	// Memory is how many bytes of operands the node is to have at most, as an agent: a
	// task for which there is no room waits, or goes to another node. 0 means no cap. What
	// tasks need beside their operands is not counted.
	Memory int64
	// Parent is the name of the agent below which this one is: only that one gives it tasks,
	// children of its own ([exec.Nested]), and is their driver. It is an agent of a driver
	// or below another one in turn. Empty, or the name of a driver, stands for an agent of
	// drivers.
	Parent string
	// Driver is the name of the driver that an agent works for: when that one leaves, Serve ends.
	// It may come later than the agent. Other drivers are served until then. Empty stands for
	// an agent that serves until its context ends, whichever drivers come and go. NewDriver ignores it.
	Driver string
	// Program says which program the node is, of which version, for Usage.
	Program string
	// Log is told what the node cannot tell anybody else; nil means slog.Default.
	Log *slog.Logger

	// The rest is the driver's, or that of an agent which has others below it.

	// Trace, if not nil, gets an event for each attempt at a task on any node, with a row
	// for each of its workers, and what nodes fetch from each other. Nodes then say more of
	// each task. Times of other nodes are off by as much as is not known of their clocks: a
	// part of the time that a message takes.
	Trace *trace.Recorder

	// Stories is the number of tasks of a job, the latest ones, for which a story is kept
	// for its Story: see exec.Story. Nodes then say more of each task. 0 keeps none.
	Stories int
	// Watchdog, if not nil, is told of what is stuck: a task that runs on a node, or waits
	// there for operands, for too long, and a job of which nothing runs and nothing ends. Nodes
	// are then asked four times in that time what they are at. A task that waits for
	// children counts as one that runs.
	Watchdog *exec.Watchdog
	// Policy decides which ready task a node takes next, and NewPolicy makes a policy
	// of the program's own: to both, locations and workers are nodes, the driver the
	// first one. dispatch.Priority, the zero value, stands for dispatch.Locality:
	// among nodes it matters first where the data are; ByPriority has it mean what it says.
	// dispatch.EarliestFinish goes by what the driver learns of the times of tasks on each
	// node, and of values between them, as do the Costs that NewPolicy is given.
	Policy     dispatch.Kind
	ByPriority bool
	NewPolicy  func(dispatch.Machine) dispatch.Policy
	// Owner has each task run on the node that owns the first datum that it writes, by
	// the Layout of the matrix (blocked.Matrix.SetLayout), instead of a policy: owner k
	// is the k-th node that is there, the driver the first unless Idle is set. Owners
	// that there are not are others, in turn; a node that joins takes the place of one that is
	// lost. It moves the fewest bytes. A node that has nothing to do executes what another one
	// owns, where that pays (see dispatch.ByOwner), unless Stay is set.
	Owner, Stay bool
	// Window is the number of tasks of a job that may be in flight; 0 means
	// exec.DefaultWindow.
	Window int
	// Idle has the driver execute only what no other node can.
	Idle bool
	// Copies says when agents keep second copies of what tasks have made.
	Copies Copies
}

// Copies says when agents keep second copies of what tasks have made, from which that is made
// again which a lost node alone had. They are taken while tasks go on, where there are two
// agents, and count as operands under Options.Memory: they are left out where there is no
// room, and make room for tasks. The zero value is right for most programs.
type Copies struct {
	// Off has none taken. Then the driver keeps a record of each task that has ended, some
	// hundred bytes, as long as its results count.
	Off bool
	// Records is how many records of tasks that have ended the driver keeps, beside those
	// that are in flight. 0 means as many as need an eighth of the bytes of the data, at
	// least 131072, where all agents have caps on their memory, so that it is known
	// what room there is, and otherwise no limit. When there are more, second copies of each
	// datum of the job are put on two agents, and the records before that are freed. It
	// needs room for two to four times the data; as long as there is none, records are
	// kept, and so are those of kept data that no job uses. What two agents that are lost
	// one shortly after the other had may be lost for good then.
	Records int
	// Share is the part of the time that taking copies is to need at most; 0 means 0.02
	// where all agents have caps on their memory, and otherwise that none are taken for
	// this. After so much work, one more agent gets a copy of each datum. No record is
	// freed.
	Share float64
}

// OptionsError says what is wrong with an Options.
type OptionsError struct{ Problem string }

func (e *OptionsError) Error() string { return "cluster: " + e.Problem }

// known is what a node can name.
type known struct {
	ops      map[string]*versions.Op
	values   map[string]reflect.Type
	errs     []error
	maxValue int64 // bytes of a value, 0 if there is no limit
}

// check returns what the options know, with their defaults set. The error is an
// *OptionsError.
func (o *Options) check() (k known, err error) {
	bad := func(format string, args ...any) (known, error) {
		return k, &OptionsError{fmt.Sprintf(format, args...)}
	}
	if o.Transport == nil || o.Runtime == nil {
		return bad("a node needs a Transport and a Runtime")
	}
	if _, ok := o.Runtime.(*Driver); ok {
		return bad("a Driver executes no node's tasks")
	}
	if o.Owner && (o.NewPolicy != nil || o.Policy != dispatch.Priority || o.ByPriority) {
		return bad("Owner is set, and so is Policy, ByPriority or NewPolicy")
	}
	if o.ByPriority && (o.NewPolicy != nil || o.Policy != dispatch.Priority) {
		return bad("ByPriority is set, and so is Policy or NewPolicy")
	}
	if o.Parent == o.Transport.Self() {
		return bad("Parent is the node itself, %s", o.Parent)
	}
	if o.Memory < 0 {
		return bad("Memory is %d, want at least 0", o.Memory)
	}
	if o.Window < 0 {
		return bad("Window is %d, want at least 0", o.Window)
	}
	if o.Stories < 0 {
		return bad("Stories is %d, want at least 0", o.Stories)
	}
	if w := o.Watchdog; w != nil && (w.After <= 0 || w.Report == nil) {
		return bad("Watchdog needs a time, and a function to report to")
	}
	if c := &o.Copies; c.Records < 0 || c.Share < 0 || c.Share > 1 || c.Off && *c != (Copies{Off: true}) {
		return bad("Copies is %+v, want Records of at least 0, a Share from 0 to 1, and neither with Off", *c)
	}
	if o.Window == 0 {
		o.Window = exec.DefaultWindow
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	k = known{ops: map[string]*versions.Op{}, values: map[string]reflect.Type{}, errs: o.Errors, maxValue: o.Memory}
	for _, op := range o.Ops {
		k.ops[op.OpName()] = op
	}
	if len(o.Ops) > maxOps {
		return bad("Ops are %d, want %d at most", len(o.Ops), maxOps)
	}
	kinds := kindsOf(o.Runtime.Workers())
	if len(kinds) > maxKinds {
		return bad("Runtime has workers of %d kinds, want %d at most", len(kinds), maxKinds)
	}
	for _, x := range kinds {
		if _, ok := o.Runtime.(exec.Forgetter); x.Accelerator != "" && !ok {
			return bad("Runtime has accelerators, and cannot Forget what they have")
		}
		for _, name := range x.Target.Ops {
			if !slices.ContainsFunc(o.Ops, func(op *versions.Op) bool { return op.Name == name || op.OpName() == name }) {
				return bad("Runtime has workers for %q, and there is no op of that name in Ops", name)
			}
		}
	}
	for _, v := range o.Values {
		t := reflect.TypeOf(v)
		if t.Kind() != reflect.Pointer {
			return bad("Values has a %v, want a pointer", t)
		}
		k.values[t.String()] = t.Elem()
	}
	return k, nil
}

// choices returns those that say which node gets a task.
func (o *Options) choices() core.Choices {
	return core.Choices{Policy: o.Policy, ByPriority: o.ByPriority, NewPolicy: o.NewPolicy, Owner: o.Owner, Stay: o.Stay, Idle: o.Idle}
}

// valueError is why a node cannot make a value: it never will.
type valueError struct{ problem string }

func (e *valueError) Error() string { return e.problem }

// value returns a new value of the type that is called so, with a shape if that says one. The
// error is a *valueError, unless no type is named: then the node was to have the value.
func (k *known) value(name, shape string) (versions.Value, error) {
	t, ok := k.values[name]
	switch {
	case name == "":
		return nil, errNoVersion
	case !ok:
		return nil, &valueError{fmt.Sprintf("values of type %s are not known here", name)}
	}
	v := reflect.New(t).Interface().(versions.Value)
	if m, ok := v.(versions.Measured); ok && shape != "" && k.maxValue > 0 { // or else one message could end this process
		if n, err := m.Measure([]byte(shape)); err == nil && n > k.maxValue {
			return nil, &valueError{fmt.Sprintf("a value of type %s has %d bytes, and this node may have %d", name, n, k.maxValue)}
		}
	}
	if s, ok := v.(versions.Shaped); ok && shape != "" {
		if err := s.Reshape([]byte(shape)); err != nil {
			return nil, &valueError{fmt.Sprintf("a value of type %s: %v", name, err)}
		}
	}
	return v, nil
}

// canSend reports whether values of a type can be sent: whether others can make one.
func (k *known) canSend(name string) bool {
	_, ok := k.values[name]
	return ok
}
