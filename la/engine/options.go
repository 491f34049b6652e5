package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Scheduling returns the built-in policy that the options select.
func (o *Options) Scheduling() dispatch.Kind {
	if len(o.Accelerators) > 0 && !o.ByPriority && o.NewPolicy == nil {
		return cmp.Or(o.Policy, dispatch.EarliestFinish)
	}
	return o.Policy
}

// Options configures an [Engine]. The zero value is useful.
type Options struct {
	// Workers is the number of workers; 0 means what the environment variable
	// TESSERA_WORKERS says or, without it, one for each core that the process may use.
	Workers int
	// Float leaves the placement of workers to the operating system instead
	// of pinning each to a core.
	Float bool
	// Target declares what the workers are, for versions that require a certain processor or several
	// units: {Processor: "KNL", Units: 2}. The machine fills in empty fields. [Options.Validate]
	// refuses what no version requires and what the machine lacks.
	Target versions.Target
	// Resources declares workers of several kinds, each as Target does, instead of Workers and
	// Target. The constraints of the versions decide which tasks run where.
	Resources []exec.Resource
	// NB is the tile size; 0 chooses it, see [TileSize].
	NB int
	// Direct is the largest order of a problem that one kernel computes on the calling goroutine,
	// without tasks. 0 chooses it by operation, at most NB if NB is set; -1 means never. See
	// [TileSize].
	Direct int
	// Policy decides which ready task a worker takes next. The zero value is
	// dispatch.Priority; with Accelerators it stands for dispatch.EarliestFinish, unless
	// ByPriority is set.
	Policy     dispatch.Kind
	ByPriority bool
	// NewPolicy makes a policy of the program's own instead: see dispatch.ByScore and
	// docs/own-policies.md.
	NewPolicy func(dispatch.Machine) dispatch.Policy
	// Accelerators execute tasks beside the workers on cores: see [OpenAccelerators]. The caller
	// opens them, and closes them after the engine. Only one engine may use an accelerator at a time:
	// see offload.InUseError. Expected times, Only, Exclude and Fixed decide which tasks run there;
	// an operation that is fixed to an accelerator's version runs nowhere else. A Deterministic
	// engine gives accelerators only operations that are fixed in this way.
	Accelerators []offload.Accelerator

	// Only names the versions that may run, in order of preference; see versions.Config. Exclude
	// names the versions that may not run, and Fixed fixes the version of single operations.
	Only, Exclude []string
	Fixed         []versions.Pin
	// Profile holds what earlier runs measured about the versions. The engine adds what it measures;
	// the caller saves it. Nil means a profile of the engine's own.
	Profile *versions.Profile
	// Deterministic makes results the same, bit for bit, for any number of workers, any policy and
	// any speed of the machine: the engine takes the first eligible version of each operation instead
	// of the fastest, the tile size does not depend on the number of workers, and the way of a
	// la.FasterReduction not on measured rates.
	Deterministic bool
	// Static takes the first eligible version of each operation, as a nil
	// engine does, and measures nothing.
	Static bool
	// Thorough explores every version of each operation at once, as tuning does, at any cost. Without
	// it the engine tries a version that may be slow only in a call that the trial makes hardly
	// longer; see docs/versions.md. An engine that is Static or Deterministic explores nothing.
	Thorough bool
	// Table lists the operations and their versions; nil means those of the
	// build.
	Table *kernels.Table

	// Progress, if not nil, is called every 100 ms while tasks run, and once at the end, with the
	// number of completed and of submitted tasks. total grows while the call submits tasks; a call of
	// fewer tasks than Window submits all of them at once, and done/total is then its progress.
	// Before the end, done is less than total. After a failure or the end of the context done stays
	// as it is. A call of several computations, such as SolveSPD or a checkpoint, counts each from 0.
	// Progress is never called twice at once, not even if several computations share the engine; it
	// must not compute on the engine. A problem that goes to one kernel has no tasks and no progress.
	Progress func(done, total int)
	// Trace, if not nil, records an event for each task. A kernel on the calling goroutine is an
	// event of a worker whose number follows the last one.
	Trace *trace.Recorder
	// Window is the number of a call's tasks that may be in flight; 0 means exec.DefaultWindow.
	Window int
	// Retries is how often a failed task is retried before its failure stands, except for failures
	// that depend on the matrix: see graph.Failure. Before a task runs, the operands that it updates
	// in place are copied; without retries nothing is copied.
	Retries int

	// Runtime, if not nil, executes the tasks: a runtime that the program shares with other work, or
	// has configured as these options cannot. Its workers, policy, versions, trace and window apply,
	// and the options for them must not be set. Close leaves it running, and it must outlive the
	// engine.
	Runtime exec.Runtime
}

// MaxTileSize is the largest tile size: a float64 tile then takes 2 GiB. maxWorkers is exec's limit.
const (
	MaxTileSize = 1 << 14
	maxWorkers  = 1 << 14
)

// Validate returns an *OptionsError that lists everything that is wrong with o, or nil: numbers
// out of range, options that exclude each other, and a Target that no version requires.
// [New] checks whether the versions that o names exist.
func (o *Options) Validate() error {
	var bad problems.List
	bad.Check(o.Workers >= 0 && o.Workers <= maxWorkers, "Workers is %d, want 0 to %d", o.Workers, maxWorkers)
	bad.Check(o.NB >= 0 && o.NB <= MaxTileSize, "NB is %d, want 0 to %d", o.NB, MaxTileSize)
	bad.Check(o.Direct >= -1, "Direct is %d, want at least -1", o.Direct)
	bad.Check(int(o.Policy) < len(dispatch.Kinds()), "Policy is %v, want one of %v", o.Policy, dispatch.Kinds())
	for i, a := range o.Accelerators {
		switch {
		case a == nil:
			bad.Add("Accelerators[%d] is nil", i)
		case slices.Contains(o.Accelerators[:i], a):
			bad.Add("Accelerators[%d] is %s once more", i, a.Name())
		case a.Lost() != nil:
			bad.Add("Accelerators[%d] is of no use: %v", i, a.Lost())
		}
	}
	bad.Check(!o.ByPriority || o.Policy == dispatch.Priority, "ByPriority is set and Policy is %v", o.Policy)
	for i, r := range o.Resources {
		bad.Check(r.Workers >= 1 && r.Workers <= maxWorkers, "Resources[%d].Workers is %d, want 1 to %d", i,
			r.Workers, maxWorkers)
	}
	bad.Check(o.Resources == nil || o.Workers == 0 && reflect.ValueOf(o.Target).IsZero(),
		"Resources is set, and so is Workers or Target")
	bad.Check(o.NewPolicy == nil || !o.ByPriority && o.Policy == 0,
		"NewPolicy is set, and so is Policy (%v) or ByPriority", o.Policy)
	bad.Check(o.Window >= 0, "Window is %d, want at least 0", o.Window)
	bad.Check(o.Retries >= 0, "Retries is %d, want at least 0", o.Retries)
	set := o.clashes()
	bad.Check(o.Runtime == nil || len(set) == 0, "Runtime has its own %s", strings.Join(set, ", "))
	ops := o.table().All()
	bad = append(bad, checkTarget(ops, "", &o.Target)...)
	for i := range o.Resources {
		bad = append(bad, checkTarget(ops, fmt.Sprintf("Resources[%d].", i), &o.Resources[i].Target)...)
	}
	return ErrorOf(bad)
}

// clashes returns the names of the set options that only a runtime of the engine's own can
// follow.
func (o *Options) clashes() (set []string) {
	ours := []string{"NB", "Direct", "Table", "Progress", "Retries", "Runtime"}
	v := reflect.ValueOf(*o)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !v.Field(i).IsZero() && !slices.Contains(ours, name) {
			set = append(set, name)
		}
	}
	return set
}

// buildTable is the table of this build; nothing changes it after it is made.
var buildTable = sync.OnceValue(op.NewTable)

// table returns the table of operations that o selects.
func (o *Options) table() *kernels.Table {
	if o.Table == nil {
		return buildTable()
	}
	return o.Table
}
