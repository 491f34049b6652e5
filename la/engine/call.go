package engine

import (
	"context"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// isRemote reports whether the first worker cannot run op and another worker can.
func (e *Engine) isRemote(op *versions.Op) bool {
	return e != nil && e.remote && e.selector.Check(op, e.rt.Target()) != nil
}

// submitCall executes a call as one task, on a worker of rt that can run it, and retries it as
// failure says.
func submitCall(rt exec.Runtime, failure *graph.Failure, op *versions.Op, call *versions.Call) error {
	data := make([]graph.Datum, len(call.Args))
	spec := graph.Spec{Op: op, Params: call.Params, Local: call.Local, Failure: failure}
	for i, a := range call.Args {
		data[i].Value = a
		d := &data[i]
		if t := reflect.TypeOf(a); t != nil && t.Comparable() {
			d = &data[slices.Index(call.Args, a)]
		}
		spec.Operands = append(spec.Operands, graph.Operand{Datum: d, Mode: graph.InOut})
	}
	job := rt.NewJob(call.Ctx)
	if _, err := job.Submit(&spec); err != nil {
		return unwrapped(err)
	}
	return unwrapped(job.Wait())
}

// scratch caches the memory in which directly called kernels work; its content lives for one call.
var scratch = sync.Pool{New: func() any { return new(versions.Workspace) }}

// Call executes one operation on the calling goroutine, without tasks, for problems of one tile.
// op is one of [Ops], with the parameter and operands that package kernels documents for it.
//
// The error is an *exec.TaskError, without task and worker, if a version fails or panics or the
// operands do not fit the operation; exec.ErrClosed; or the cause of ctx's end.
func Call(ctx context.Context, e *Engine, op *versions.Op, params any, args ...any) error {
	return callHere(e, op, &versions.Call{Ctx: ctx, Params: params, Args: args})
}

// callHere is [Call] for a complete call, without scratch memory.
func callHere(e *Engine, op *versions.Op, call *versions.Call) error {
	if err := e.Ready(call.Ctx); err != nil {
		return err
	}
	call.Work = scratch.Get().(*versions.Workspace)
	defer scratch.Put(call.Work)
	return Invoke(e, op, call)
}

// Invoke is [Call] for a complete call, which the caller may use again: it allocates nothing. It does not ask whether
// the engine may compute: see [Engine.Ready]. If the first worker cannot run the operation, or failed tasks are to be
// retried, it submits a task.
func Invoke(e *Engine, op *versions.Op, call *versions.Call) error {
	selector, target := e.selection()
	if e.isRemote(op) || e.Options().Retries > 0 {
		return submitCall(e.rt, e.failure(), op, call)
	}
	choice, err := choose(selector, op, call, target)
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

// choose selects a version for a call. The selection asks for the work of the call, which panics if the operands do not fit.
func choose(selector *versions.Selector, op *versions.Op, call *versions.Call, target *versions.Target) (c versions.Choice, err error) {
	defer caught(&err)
	return selector.Select(op, call, target)
}

// invoke calls a version.
func invoke(v *versions.Version, call *versions.Call) (err error) {
	defer caught(&err)
	return v.Run(call)
}

// caught turns a panic of the function that defers it into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = &exec.PanicError{Value: p, Stack: debug.Stack()}
	}
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

// CallTeam executes one operation on whole matrices: on the calling goroutine, as [Call] does, if alone is set and the
// engine computes there; else as a task of which all workers take parts. The errors are those of Call.
func CallTeam(ctx context.Context, e *Engine, alone bool, op *versions.Op, params any, args ...any) error {
	return InvokeTeam(e, alone, op, &versions.Call{Ctx: ctx, Params: params, Args: args})
}

// InvokeTeam is [CallTeam] for a complete call, without scratch memory.
func InvokeTeam(e *Engine, alone bool, op *versions.Op, call *versions.Call) error {
	if alone && !(e != nil && e.remote) {
		return callHere(e, op, call)
	}
	rt, end, err := e.acquire()
	if err != nil {
		return err
	}
	clean := false
	defer func() { end(clean) }()
	err = submitCall(rt, e.failure(), op, call)
	clean = true
	return err
}
