package la

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// OpenAccelerators opens the accelerators that names asks for, for
// [Options.Accelerators]: "auto" stands for every device there is, "cuda0,cuda1"
// for some by number, "sim" or "sim:2" for simulated ones, to try out what works
// with devices, and "none" or nothing for none. The caller closes each of them,
// after the engine. That "auto" finds none is no error. The error is a
// *cuda.RequestError for other words, a *cuda.NoDeviceError if there is no such
// device, or what the driver says.
//
//	devices, err := la.OpenAccelerators("auto")
//	…
//	e, err := la.NewEngine(la.Options{Accelerators: devices})
func OpenAccelerators(names string) ([]offload.Accelerator, error) {
	opened, err := op.OpenAccelerators(names)
	var all []offload.Accelerator
	for _, a := range opened {
		all = append(all, a)
	}
	return all, err
}

// Scheduling returns the built-in policy that the options stand for.
func (o *Options) Scheduling() dispatch.Kind {
	if len(o.Accelerators) > 0 && !o.ByPriority && o.NewPolicy == nil {
		return cmp.Or(o.Policy, dispatch.EarliestFinish)
	}
	return o.Policy
}

// settle fixes, for an engine whose results must not depend on times, each
// operation that workers on cores and accelerators can both run to its version for
// cores: of where it runs the bits depend.
func (e *Engine) settle(cfg versions.Config) error {
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

// check finds out whether the selection leaves an operation without a version
// that a worker can run, which is a *versions.NoVersionError, and whether some
// have none for the first one.
func (e *Engine) check() error {
	for _, op := range e.table.All() {
		err := e.selector.Check(op, e.rt.Target())
		if err == nil {
			continue
		}
		e.remote = true
		if !slices.ContainsFunc(e.rt.Workers(), func(w exec.Worker) bool { return e.selector.Check(op, w.Target) == nil }) {
			return err
		}
	}
	return nil
}

// isRemote reports whether the first worker cannot run op, but others can.
func (e *Engine) isRemote(op *versions.Op) bool {
	return e != nil && e.remote && e.selector.Check(op, e.rt.Target()) != nil
}

// submitCall executes a call as a task of its own, on the worker that can run it, and
// again if it fails.
func (e *Engine) submitCall(op *versions.Op, call *versions.Call) error {
	data := make([]graph.Datum, len(call.Args))
	spec := graph.Spec{Op: op, Params: call.Params, Local: call.Local, Failure: e.failure()}
	for i, a := range call.Args {
		data[i].Value = a
		d := &data[i]
		if t := reflect.TypeOf(a); t != nil && t.Comparable() {
			d = &data[slices.Index(call.Args, a)]
		}
		spec.Operands = append(spec.Operands, graph.Operand{Datum: d, Mode: graph.InOut})
	}
	job := e.rt.NewJob(call.Ctx)
	if _, err := job.Submit(&spec); err != nil {
		return unwrapped(err)
	}
	return unwrapped(job.Wait())
}
