package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Engine holds workers and what is known about the versions of operations. It is safe for
// concurrent use; calls share the workers. A nil *Engine stands for the zero Options; its workers
// start when a call needs them, and end a tenth of a second after the last call. It takes the first eligible version of
// each operation.
type Engine struct {
	opt        Options
	table      *kernels.Table
	selector   *versions.Selector
	rt         exec.Runtime
	cpuWorkers int
	devices    bool // there are accelerators
	remote     bool // some operations have no version for the workers on cores
	closed     atomic.Bool
	session    bool  // e stands for a nil engine in several calls: see Session
	crew       *crew // of a session, from its first call with tasks on
	unclean    bool  // a call of the session has left tasks
	plainUpTo  int   // see Plain
	rates      op.MeasuredRates

	reporting sync.Mutex // held while Options.Progress is called
}

// New returns an engine with running workers; the caller must Close it.
//
// The error is an *OptionsError that lists what is wrong with the options; a
// *versions.ConfigError or *versions.UnknownNameError; or a *versions.NoVersionError if an
// operation has no version left that can run here.
func New(opt Options) (*Engine, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{opt: opt, table: opt.table(), plainUpTo: opt.plainUpTo()}
	if opt.Runtime != nil {
		if err := e.attach(opt.Runtime); err != nil {
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
		if err := e.pinVersions(cfg); err != nil {
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
	if err := e.attach(rt); err != nil {
		rt.Close()
		return nil, err
	}
	return e, nil
}

// attach makes the engine compute on rt.
func (e *Engine) attach(rt exec.Runtime) error {
	e.rt, e.selector = rt, rt.Selector()
	for _, w := range rt.Workers() {
		if w.Accelerator == "" {
			e.cpuWorkers++
		} else {
			e.devices = true
		}
	}
	return e.checkVersions()
}

// start returns a runtime for the engine's options.
func (e *Engine) start() (*exec.Local, error) {
	return exec.NewLocal(exec.Options{Workers: e.opt.Workers, Float: e.opt.Float, Policy: e.opt.Scheduling(),
		NewPolicy: e.opt.NewPolicy, Accelerators: e.opt.Accelerators,
		Target: e.opt.Target, Resources: e.opt.Resources, Selector: e.selector, Window: e.opt.Window,
		Recorder: e.opt.Trace, Alone: e.opt.Deterministic})
}

// Close ends the workers, unless they belong to Options.Runtime. Calls under way and later calls
// return exec.ErrClosed. Close of a nil engine does nothing.
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

// ReductionRates returns where eigenproblems and singular value decompositions on e keep the rates that they measure, to
// choose between one stage of reduction and two. It is nil, and they measure nothing, if e is nil, Static or Deterministic.
func (e *Engine) ReductionRates() *op.MeasuredRates {
	if e.temporary() || e.opt.Static || e.opt.Deterministic {
		return nil
	}
	return &e.rates
}

// Plain reports whether a call in ctx may compute a problem of that order without the engine: whether nothing of it could be
// seen or would be different. A plain engine takes versions as a nil one does, or may choose them by what it has
// measured, which makes no difference for small problems; it records no trace and retries no task; and it is open, as ctx
// is.
func (e *Engine) Plain(ctx context.Context, order int) bool {
	if ctx.Done() != nil && ctx.Err() != nil {
		return false
	}
	if e == nil {
		return true
	}
	return order <= e.plainUpTo && !e.closed.Load()
}

// Ready returns why the engine may not compute: the cause of the context's end, or
// exec.ErrClosed.
func (e *Engine) Ready(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if e != nil && e.closed.Load() {
		return exec.ErrClosed
	}
	return nil
}

// Runtime returns the runtime that executes the engine's tasks, Options.Runtime or its own, for
// other work on the same workers, such as loops and sparse matrices:
//
//	a, err := csr.Read(e.Runtime(), "A.mtx", nil)
//	err = loop.For(ctx, e.Runtime(), n, loop.Options{}, body)
//
// It lives as long as the engine. After [Engine.Close] its jobs, and so loops and products of
// sparse matrices, return exec.ErrClosed, unless it is Options.Runtime. Close the engine, not the
// runtime, after that work. Runtime panics with [ErrNoRuntime] if e is nil, as the workers of a
// nil engine end by themselves.
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

// Table returns the operations and their versions.
func (e *Engine) Table() *kernels.Table {
	if e == nil {
		return buildTable()
	}
	return e.table
}

// selection returns the selector of versions, and the worker for which it selects.
func (e *Engine) selection() (*versions.Selector, *versions.Target) {
	if e == nil {
		return preferred(), exec.Here()
	}
	return e.selector, e.target()
}

// Options returns the engine's options, the zero ones for a nil engine. The caller does not change them.
func (e *Engine) Options() *Options {
	if e == nil {
		return &Options{}
	}
	return &e.opt
}

// failure returns the failure policy of tasks, nil for the default.
func (e *Engine) failure() *graph.Failure {
	if n := e.Options().Retries; n > 0 {
		return &graph.Failure{Retries: n}
	}
	return nil
}

// pinVersions fixes each operation that cores and accelerators can both run to its version for
// cores. A deterministic engine needs that, as the bits of a result depend on where a task runs.
func (e *Engine) pinVersions(cfg versions.Config) error {
	plain := cfg
	plain.Mode, plain.Measure = versions.Static, false
	first, err := versions.NewSelector(plain)
	if err != nil {
		return err
	}
	cfg.Fixed = slices.Clone(cfg.Fixed)
	kinds := []*versions.Target{exec.TargetOf(e.opt.Target)}
	for i, r := range e.opt.Resources {
		kinds = append(kinds[:i], exec.TargetOf(r.Target))
	}
	for _, op := range e.table.All() {
		// No call is looked at, and an operation without a version for cores is
		// not settled.
		for _, on := range kinds {
			if choice, err := first.Select(op, nil, on); err == nil {
				cfg.Fixed = append(cfg.Fixed, versions.Pin{Op: op.OpName(), Version: choice.Version.Name})
				break
			}
		}
	}
	e.selector, err = versions.NewSelector(cfg)
	return err
}

// checkVersions returns a *versions.NoVersionError if no worker can run some operation. It sets
// remote if the first worker cannot run one.
func (e *Engine) checkVersions() error {
	for _, op := range e.table.All() {
		err := e.selector.Check(op, e.rt.Target())
		if err == nil {
			continue
		}
		e.remote = true
		if !slices.ContainsFunc(e.rt.Workers(), func(w exec.Worker) bool {
			return e.selector.Check(op, w.Target) == nil
		}) {
			return err
		}
	}
	return nil
}

// target returns what the first worker offers to versions.
func (e *Engine) target() *versions.Target {
	if e.temporary() {
		return exec.Here()
	}
	return e.rt.Target()
}

// temporary reports whether e has no workers before its first call: it is nil or a session.
func (e *Engine) temporary() bool { return e == nil || e.session }
