package exec

import (
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/versions"
)

// Options configures a [Local] runtime. The zero value is useful.
type Options struct {
	// Workers is the number of workers; 0 means that of the environment variable TESSERA_WORKERS
	// or, if it is not set, one for each core that the process may use. More workers than cores
	// share cores.
	Workers int
	// Policy decides which ready task a worker takes next; the zero value is
	// dispatch.Priority.
	Policy dispatch.Kind
	// NewPolicy makes the program's own policy, instead of Policy: see dispatch.ByScore and
	// docs/own-policies.md. The runtime calls its methods under its lock.
	NewPolicy func(dispatch.Machine) dispatch.Policy
	// Selector chooses among the versions of an op; nil takes the first
	// eligible version of each op and measures nothing. Under
	// dispatch.EarliestFinish it should have versions.Config.Measure.
	Selector *versions.Selector
	// Window is the number of tasks of one job that may be in flight, that is submitted and not
	// ended. Submit blocks when it is reached. 0 means DefaultWindow.
	Window int
	// Float leaves the placement of workers to the operating system. By
	// default each worker is locked to a thread and the thread pinned to
	// one core, workers spread evenly over the NUMA nodes.
	Float bool
	// Target overrides the target that the machine is detected as, for example to declare a
	// processor name. Empty fields are filled in.
	Target versions.Target
	// Resources declares workers of several kinds, instead of Workers and Target. A task goes only
	// to workers that have a version for it.
	Resources []Resource
	// Accelerators each get a worker, numbered after those on cores. The runtime uses them until
	// its Close and does not close them. Two runtimes must not use one at the same time.
	Accelerators []offload.Accelerator
	// Alone makes accelerators start every call on its own. By default an accelerator that is an
	// [offload.Batcher] starts small calls that are ready at the same time as one, possibly with
	// another routine. Then the last bits of results may depend on when calls were ready.
	Alone bool
	// Recorder, if not nil, gets an event for each attempt at a task.
	Recorder *trace.Recorder
	// Watchdog, if not nil, reports tasks that do not end and jobs that do not get on.
	Watchdog *Watchdog
	// Stories is the number of latest tasks of each job whose story is kept for [Job.Story]. 0
	// keeps none and costs nothing.
	Stories int

	// For tests; the zero values are the usual ones.
	linger time.Duration // 0 means lingers
	nodes  int           // workers claim to be on so many NUMA nodes, in turns
}

// Resource declares workers of one kind on cores.
type Resource struct {
	Workers int             // at least 1
	Target  versions.Target // the target of each; empty fields are filled in from the machine
}

// DefaultWindow is the default of Options.Window. At some 400 bytes a task it
// bounds a job to a few megabytes; the graphs of factorizations with 30×30
// tiles fit whole.
const DefaultWindow = 8192

// validate returns an *OptionsError with every problem, or nil. It examines the options alone; the
// code that uses an option checks that the machine has what it asks for.
func (o *Options) validate() error {
	var bad problems.List
	bad.Check(o.Workers >= 0 && o.Workers <= maxWorkers, "Workers is %d, want 0 to %d", o.Workers, maxWorkers)
	if _, err := environmentWorkers(); err != nil && o.Workers == 0 && o.Resources == nil {
		bad.Add("%v", err)
	}
	bad.Check(int(o.Policy) < len(dispatch.Kinds()), "Policy is %v, want one of %v", o.Policy, dispatch.Kinds())
	bad.Check(o.NewPolicy == nil || o.Policy == 0, "NewPolicy is set and Policy is %v", o.Policy)
	for i, r := range o.Resources {
		bad.Check(r.Workers >= 1 && r.Workers <= maxWorkers, "Resources[%d].Workers is %d, want 1 to %d", i, r.Workers,
			maxWorkers)
	}
	// Both would define the workers.
	bad.Check(o.Resources == nil || o.Workers == 0 && TargetOf(o.Target) == Here(),
		"Resources is set, and so is Workers or Target")
	bad.Check(o.Window >= 0, "Window is %d, want at least 0", o.Window)
	w := o.Watchdog
	bad.Check(w == nil || w.After > 0 && w.Report != nil,
		"Watchdog wants a time After which it is to Report, and a function that does")
	bad.Check(o.Stories >= 0, "Stories is %d, want at least 0", o.Stories)
	for i, a := range o.Accelerators {
		bad.Check(a != nil && !slices.Contains(o.Accelerators[:i], a), "Accelerators has nil, or one twice, at %d", i)
	}
	if bad != nil {
		return &OptionsError{Problems: bad}
	}
	return nil
}
