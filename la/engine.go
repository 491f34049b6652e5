package la

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Options configures an [Engine]. The zero value is useful.
type Options struct {
	// Workers is the number of workers; 0 means what the environment variable
	// TESSERA_WORKERS says or, without it, one for each core that the process may use.
	Workers int
	// Float leaves the placement of workers to the operating system instead
	// of pinning each to a core.
	Float bool
	// Target declares what the workers are, for versions that ask for a
	// certain processor or several units: {Processor: "KNL", Units: 2}. Empty
	// fields are filled in from the machine. What no version asks for, and
	// what the machine has not, is refused: see [Options.Validate].
	Target versions.Target
	// Resources declares workers that differ, each kind as Target does, instead of
	// Workers and Target. Which tasks run where, the versions' constraints say.
	Resources []exec.Resource
	// NB is the tile size; 0 chooses it, see [TileSize].
	NB int
	// Direct is the largest order of a problem that is given to one kernel on
	// the calling goroutine, without tasks; 0 chooses it by operation, and
	// none above NB, if that is set; -1 is never. See [TileSize].
	Direct int
	// Policy decides which ready task a worker takes next. The zero value is
	// dispatch.Priority; with Accelerators it stands for dispatch.EarliestFinish, unless
	// ByPriority is set.
	Policy     dispatch.Kind
	ByPriority bool
	// NewPolicy makes a policy of the program's own instead: see dispatch.ByScore and
	// docs/own-policies.md.
	NewPolicy func(dispatch.Machine) dispatch.Policy
	// Accelerators execute tasks beside the workers on cores: see
	// [OpenAccelerators]. The caller opens them, and closes them after the engine;
	// no two engines have one at the same time: see offload.InUseError. Which tasks run
	// there, the expected times decide, and Only, Exclude and Fixed: an operation
	// that is fixed to a version of theirs runs nowhere else. A Deterministic engine
	// gives them only what is fixed so.
	Accelerators []offload.Accelerator

	// Only names the versions that may run, in order of preference; see
	// versions.Config. Exclude names those that may not, and Fixed fixes the
	// version of single operations.
	Only, Exclude []string
	Fixed         []versions.Pin
	// Profile is what is known of the versions from earlier runs; what is
	// learned is added to it, but saving it is the caller's. Nil means that
	// the engine learns for itself.
	Profile *versions.Profile
	// Deterministic makes results the same, bit for bit, whatever the number
	// of workers, the policy and the speed of the machine: the first eligible
	// version of each operation is taken instead of the fastest, and the tile
	// size does not depend on the number of workers.
	Deterministic bool
	// Static takes the first eligible version of each operation, as a nil
	// engine does, and measures nothing.
	Static bool
	// Thorough explores every version of each operation at once, as tuning does,
	// whatever that costs. Without it a version that may be slow is tried only in a
	// call that this makes hardly longer; see docs/versions.md. An engine that is
	// Static or Deterministic explores nothing.
	Thorough bool
	// Table lists the operations and their versions; nil means those of the
	// build.
	Table *kernels.Table

	// Progress, if not nil, is called every 100 ms while tasks run, and once
	// at the end, with the number of tasks that have ended and of those that have
	// been submitted. total grows until all are: at once in a call of fewer tasks than Window, so that
	// done/total then says how far it is. done is less than total before the end. After
	// a failure, or the end of the context, done stays where it was. A
	// call that does several things one after the other, as SolveSPD or a checkpoint does,
	// counts each anew. Progress is never called twice at once, not even when
	// several computations share the engine; it must not compute with it. A
	// problem that goes to one kernel has no tasks and no progress.
	Progress func(done, total int)
	// Trace, if not nil, gets an event for each task. A problem that is given
	// to one kernel on the calling goroutine is an event of the worker that
	// follows the last one.
	Trace *trace.Recorder
	// Window is the number of tasks of a call that may be in flight; 0 means
	// exec.DefaultWindow.
	Window int
	// Retries is how often a task that has failed is tried again before its failure
	// stands, but for those that depend on the matrix: see graph.Failure. What a task
	// updates in place is saved before, which costs a copy; without retries nothing is
	// copied.
	Retries int

	// Runtime executes the tasks, if it is not nil: one that the program shares with
	// other work, or has given what these options have no word for. Its workers,
	// policy, versions, trace and window count, and the options for them must not be
	// set. Close leaves it running, and it must outlive the engine.
	Runtime exec.Runtime
}

// Engine holds workers and what is known about the versions of operations. It
// is safe for concurrent use; calls share the workers. A nil *Engine stands
// for the zero Options with workers that live for one call, and takes the
// first eligible version of each operation.
type Engine struct {
	opt      Options
	table    *kernels.Table
	selector *versions.Selector
	rt       exec.Runtime
	hosts    int  // workers on cores
	devices  bool // there are accelerators
	remote   bool // some operations have no version for the workers on cores
	closed   atomic.Bool
	brief    bool // a session's: see Engine.session

	reporting sync.Mutex // held while Options.Progress is called
}

// buildTable is the table of this build, and preferred the selector of a nil
// engine; neither is configured after it is made.
var (
	buildTable = sync.OnceValue(op.NewTable)
	preferred  = sync.OnceValue(func() *versions.Selector {
		s, err := versions.NewSelector(versions.Config{Mode: versions.Static})
		if err != nil {
			panic(err) // there is nothing in it that could be wrong
		}
		return s
	})
)

// NewEngine returns an engine with running workers; the caller must Close it.
// The error lists what is wrong with the options: an *OptionsError, or
// versions' *ConfigError and *UnknownNameError; versions' *NoVersionError says
// that they leave an operation without a version that can run here.
func NewEngine(opt Options) (*Engine, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{opt: opt, table: opt.Table}
	if e.table == nil {
		e.table = buildTable()
	}
	if opt.Runtime != nil {
		if err := e.use(opt.Runtime); err != nil {
			return nil, err
		}
		return e, nil
	}
	cfg := versions.Config{Only: opt.Only, Exclude: opt.Exclude, Fixed: opt.Fixed, Profile: opt.Profile,
		Measure: opt.Scheduling() == dispatch.EarliestFinish}
	switch {
	case opt.Deterministic || opt.Static:
		cfg.Mode = versions.Static
	case opt.Thorough:
		cfg.Mode = versions.Thorough
	}
	var err error
	if e.selector, err = versions.NewSelector(cfg); err != nil {
		return nil, err
	}
	if err := e.selector.Validate(e.table.All()); err != nil {
		return nil, err
	}
	if opt.Deterministic && len(opt.Accelerators)+len(opt.Resources) > 0 {
		if err := e.settle(cfg); err != nil {
			return nil, err
		}
	}
	rt, err := e.start()
	if bad, ok := errors.AsType[*exec.OptionsError](err); ok { // of the environment
		err = &OptionsError{bad.Problems}
	}
	if err != nil {
		return nil, err
	}
	if err := e.use(rt); err != nil {
		rt.Close()
		return nil, err
	}
	return e, nil
}

// use has the engine work with a runtime.
func (e *Engine) use(rt exec.Runtime) error {
	e.rt, e.selector = rt, rt.Selector()
	for _, w := range rt.Workers() {
		if w.Accelerator == "" {
			e.hosts++
		} else {
			e.devices = true
		}
	}
	return e.check()
}

// OptionsError lists everything that is wrong with an Options.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string {
	msg := "la: invalid options"
	sep := ": "
	for _, p := range e.Problems {
		msg, sep = msg+sep+p, "; "
	}
	return msg
}

// problems is what is wrong with options.
type problems []string

// add notes a problem.
func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// check notes a problem unless ok.
func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		p.add(format, args...)
	}
}

// err returns an *OptionsError, or nil if there is no problem.
func (p problems) err() error {
	if p == nil {
		return nil
	}
	return &OptionsError{Problems: p}
}

// maxNB is the largest tile size: a float64 tile then takes 2 GiB. maxWorkers
// is exec's.
const (
	maxNB      = 1 << 14
	maxWorkers = 1 << 14
)

// Validate returns an *OptionsError that lists everything that is wrong with o,
// or nil: numbers out of range, and a Target that fits nothing, which would
// otherwise be ignored without a word. Whether there are the versions that o
// names, [NewEngine] finds out.
func (o *Options) Validate() error {
	var bad problems
	bad.check(o.Workers >= 0 && o.Workers <= maxWorkers, "Workers is %d, want 0 to %d", o.Workers, maxWorkers)
	bad.check(o.NB >= 0 && o.NB <= maxNB, "NB is %d, want 0 to %d", o.NB, maxNB)
	bad.check(o.Direct >= -1, "Direct is %d, want at least -1", o.Direct)
	bad.check(int(o.Policy) < len(dispatch.Kinds()), "Policy is %v, want one of %v", o.Policy, dispatch.Kinds())
	for i, a := range o.Accelerators {
		switch {
		case a == nil:
			bad.add("Accelerators[%d] is nil", i)
		case slices.Contains(o.Accelerators[:i], a):
			bad.add("Accelerators[%d] is %s once more", i, a.Name())
		case a.Lost() != nil:
			bad.add("Accelerators[%d] is of no use: %v", i, a.Lost())
		}
	}
	bad.check(!o.ByPriority || o.Policy == dispatch.Priority, "ByPriority is set and Policy is %v", o.Policy)
	for i, r := range o.Resources {
		bad.check(r.Workers >= 1 && r.Workers <= maxWorkers, "Resources[%d].Workers is %d, want 1 to %d", i, r.Workers, maxWorkers)
	}
	bad.check(o.Resources == nil || o.Workers == 0 && reflect.ValueOf(o.Target).IsZero(), "Resources is set, and so is Workers or Target")
	bad.check(o.NewPolicy == nil || !o.ByPriority && o.Policy == 0, "NewPolicy is set, and so is Policy (%v) or ByPriority", o.Policy)
	bad.check(o.Window >= 0, "Window is %d, want at least 0", o.Window)
	bad.check(o.Retries >= 0, "Retries is %d, want at least 0", o.Retries)
	set := o.clashes()
	bad.check(o.Runtime == nil || len(set) == 0, "Runtime has its own %s", strings.Join(set, ", "))
	bad = append(bad, o.checkTarget("", &o.Target)...)
	for i := range o.Resources {
		bad = append(bad, o.checkTarget(fmt.Sprintf("Resources[%d].", i), &o.Resources[i].Target)...)
	}
	return bad.err()
}

// clashes returns the names of the options that are set and are a runtime's.
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

// start returns a runtime for the engine's options.
func (e *Engine) start() (*exec.Local, error) {
	return exec.NewLocal(exec.Options{Workers: e.opt.Workers, Float: e.opt.Float, Policy: e.opt.Scheduling(), NewPolicy: e.opt.NewPolicy, Accelerators: e.opt.Accelerators,
		Target: e.opt.Target, Resources: e.opt.Resources, Selector: e.selector, Window: e.opt.Window, Recorder: e.opt.Trace, Alone: e.opt.Deterministic})
}

// Close ends the workers, unless they are Options.Runtime's. Calls under way, whose
// workers end, and later ones return exec.ErrClosed.
// A nil engine has nothing to close.
func (e *Engine) Close() error {
	if e == nil {
		return nil
	}
	e.closed.Store(true)
	if e.opt.Runtime != nil {
		return nil
	}
	return e.rt.Close()
}

// ready returns why nothing may be computed: the cause of the context's end,
// or exec.ErrClosed.
func (e *Engine) ready(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if e != nil && e.closed.Load() {
		return exec.ErrClosed
	}
	return nil
}

// Runtime returns what executes the engine's tasks, Options.Runtime or its own, for work beside
// the engine's on the same workers: what takes an exec.Runtime, as loops and sparse matrices do.
//
//	a, err := csr.Read(e.Runtime(), "A.mtx", nil)
//	err = loop.For(ctx, e.Runtime(), n, loop.Options{}, body)
//
// It lives as long as the engine: after [Engine.Close] its jobs, and with them the loops and the
// products of sparse matrices, return exec.ErrClosed, unless it is Options.Runtime. Close the
// engine, not the runtime, when that work has ended. Runtime panics with [ErrNoRuntime] if e is
// nil, as the workers of a nil engine live for one call only.
func (e *Engine) Runtime() exec.Runtime {
	if e == nil {
		panic(ErrNoRuntime)
	}
	return e.rt
}

// Workers describes the engine's workers, those on cores first; those of a nil engine exist only
// during calls.
func (e *Engine) Workers() []exec.Worker {
	if e == nil {
		return nil
	}
	return e.rt.Workers()
}

// Explain says which version of an operation on T, by its name in package
// kernels as in "gemm" or "getrf", the engine would take for the operands and
// parameter of call, and why. It returns false if there is no such operation.
func Explain[T Element](e *Engine, op string, call *versions.Call) (versions.Explanation, bool) {
	for _, o := range kernels.For[T](e.ops()).All() {
		if o.Name == op {
			selector, target := e.selection()
			return selector.Explain(o, call, target), true
		}
	}
	return versions.Explanation{}, false
}

// ops returns the engine's table.
func (e *Engine) ops() *kernels.Table {
	if e == nil {
		return buildTable()
	}
	return e.table
}

// selection returns what chooses among versions, and for which worker.
func (e *Engine) selection() (*versions.Selector, *versions.Target) {
	if e == nil {
		return preferred(), exec.Here()
	}
	return e.selector, e.target()
}

// options returns the engine's options.
func (e *Engine) options() *Options {
	if e == nil {
		return &Options{}
	}
	return &e.opt
}

// failure returns the failure policy of tasks, nil for the usual one.
func (e *Engine) failure() *graph.Failure {
	if n := e.options().Retries; n > 0 {
		return &graph.Failure{Retries: n}
	}
	return nil
}

// run executes a program of tile algorithms and waits for its end.
func run[T Element](ctx context.Context, e *Engine, program func(*blocked.Program[T]) error) (err error) {
	if err := e.ready(ctx); err != nil {
		return err
	}
	rt, end, err := e.runtime()
	if err != nil {
		return err
	}
	defer end()
	job := rt.NewJob(ctx)
	p := blocked.NewProgram(job, kernels.For[T](e.ops()))
	p.Failure = e.failure()
	var all atomic.Bool
	if e != nil && e.opt.Progress != nil {
		defer e.follow(job, p.Len, &all)()
	}
	err = program(p)
	all.Store(true)
	if jobErr := job.Wait(); jobErr != nil {
		err = jobErr // a failed submission only repeats it, maybe too early
	}
	return unwrapped(err)
}

// follow reports the progress of job until the function that it returns is
// called. submitted is the number of tasks so far, and all says that no more will come.
func (e *Engine) follow(job exec.Job, submitted func() int, all *atomic.Bool) (stop func()) {
	done := 0
	report := func() {
		e.reporting.Lock()
		defer e.reporting.Unlock()
		// Tasks that are cancelled count as completed. A job has its error
		// before the first of them ends.
		if n := job.Completed(); job.Err() == nil {
			done = n
		}
		total := submitted()
		if !all.Load() {
			total = max(total, done+1)
		}
		e.opt.Progress(done, total)
	}
	end := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				report()
			case <-end:
				report()
				return
			}
		}
	})
	return func() {
		close(end)
		ended.Wait()
	}
}

// scratch is the memory that kernels work in when they are called directly.
// It is a cache: nothing in it outlives a call.
var scratch = sync.Pool{New: func() any { return new(versions.Workspace) }}

// direct calls one kernel on the calling goroutine. A version that fails or
// panics gives an *exec.TaskError, as in a task, without task and worker.
func direct(ctx context.Context, e *Engine, op *versions.Op, params any, args ...any) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	call := &versions.Call{Ctx: ctx, Params: params, Args: args, Work: scratch.Get().(*versions.Workspace)}
	defer scratch.Put(call.Work)
	return invokeDirect(e, op, call)
}

// invokeDirect is direct for a call that is complete.
func invokeDirect(e *Engine, op *versions.Op, call *versions.Call) error {
	selector, target := e.selection()
	if e.isRemote(op) || e.options().Retries > 0 {
		return e.submitCall(op, call)
	}
	choice, err := selector.Select(op, call, target)
	if err != nil {
		return &exec.TaskError{Op: op.OpName(), Worker: -1, Err: err}
	}
	var begin time.Time
	if choice.Timed {
		begin = time.Now()
	}
	if e != nil && e.opt.Trace != nil {
		err = e.traced(op, choice.Version, call)
	} else {
		err = invoke(choice.Version, call)
	}
	switch {
	case err == nil && choice.Timed:
		selector.Record(choice, time.Since(begin).Seconds())
	case choice.Timed:
		selector.Abandon(choice)
	}
	if err == nil {
		return nil
	}
	return unwrapped(&exec.TaskError{Op: op.OpName(), Version: choice.Version.Name, Worker: -1, Attempts: 1, Err: err})
}

// invoke calls a version and turns a panic into an error.
func invoke(v *versions.Version, call *versions.Call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &exec.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return v.Run(call)
}

// traced is invoke with an event in the trace.
func (e *Engine) traced(op *versions.Op, v *versions.Version, call *versions.Call) error {
	r, worker := e.opt.Trace, len(e.rt.Workers())
	start := r.Now()
	err := invoke(v, call)
	r.Sink(worker)(trace.Event{Op: op.OpName(), Version: v.Name, Worker: worker,
		Start: start, End: r.Now(), Failed: err != nil})
	if err == nil && op.Work != nil {
		r.Tally(worker).Worked(op.Work(call))
	}
	return err
}
