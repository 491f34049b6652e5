package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Run executes program on the engine's workers and waits for its end. The
// program submits tile algorithms of package blocked, one or several that the
// engine then interleaves:
//
//	err := la.Run(ctx, e, func(p *blocked.Program[float64]) error {
//		p.Potrf(a)
//		return p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, a, b)
//	})
//
// The error is the first one by the order of submission, as the functions of
// this package return it: *NotPositiveDefiniteError, an *exec.TaskError that
// names a version that has failed, exec.ErrClosed, the cause of ctx's end, or
// program's own. Matrices that program writes are then undefined.
func Run[T Element](ctx context.Context, e *Engine, program func(p *blocked.Program[T]) error) error {
	return run(ctx, e, program)
}

// Call executes one operation on the calling goroutine, without tasks: what a
// problem of one tile wants. op is one of [Ops], with the parameter and
// operands that package kernels documents for it; misuse of them comes back in
// an *exec.TaskError, as other failures do.
func Call(ctx context.Context, e *Engine, op *versions.Op, params any, args ...any) error {
	return direct(ctx, e, op, params, args...)
}

// Ops returns the operations on tiles of T that the engine works with.
func Ops[T Element](e *Engine) kernels.Ops[T] { return kernels.For[T](e.ops()) }
