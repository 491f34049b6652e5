package engine

import (
	"context"
	"sync/atomic"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Run executes a program on the engine's workers and waits for its end. The program submits tile
// algorithms of package blocked; the engine interleaves them:
//
//	err := engine.Run(ctx, e, func(p *blocked.Program[float64]) error {
//		chol.Potrf(p, a)
//		return p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, a, b)
//	})
//
// The error is the first one in the order of submission: a *NotPositiveDefiniteError, an
// *exec.TaskError that names the version that failed, exec.ErrClosed, the cause of ctx's end, or
// the program's own error. The matrices that the program writes are then undefined.
func Run[T blocked.Element](ctx context.Context, e *Engine, program func(p *blocked.Program[T]) error) (err error) {
	if err := e.Ready(ctx); err != nil {
		return err
	}
	rt, end, err := e.acquire()
	if err != nil {
		return err
	}
	clean := false
	defer func() { end(clean) }()
	job := rt.NewJob(ctx)
	p := blocked.NewProgram(job, kernels.For[T](e.Table()))
	p.Failure = e.failure()
	var all atomic.Bool
	if e != nil && e.opt.Progress != nil {
		defer e.follow(job, p.Len, &all)()
	}
	err = program(p)
	all.Store(true)
	jobErr := job.Wait()
	clean = true
	if jobErr != nil {
		err = jobErr // err only repeats it, and the job knows the smallest failing task
	}
	return unwrapped(err)
}

// Ops returns the operations on tiles of T that the engine works with.
func Ops[T blocked.Element](e *Engine) kernels.Ops[T] { return kernels.For[T](e.Table()) }

// Explain says which version of an operation on T the engine would select for call, and why. op
// is the operation's name in package kernels, such as "gemm" or "getrf". It returns false if
// there is no such operation.
func Explain[T blocked.Element](e *Engine, op string, call *versions.Call) (versions.Explanation, bool) {
	for _, o := range kernels.For[T](e.Table()).All() {
		if o.Name == op {
			selector, target := e.selection()
			return selector.Explain(o, call, target), true
		}
	}
	return versions.Explanation{}, false
}
