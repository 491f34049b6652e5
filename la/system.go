package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
)

// beginSystem checks A·X = B, with A m×n, and shapes dst. It returns where X goes, and the engine
// for the solution; the caller calls end after it. A nil sink says that there is nothing to
// solve, or an error.
func beginSystem[T Element](ctx context.Context, e *Engine, op string, m, n int, dst Destination[T],
	b Source[T]) (to Sink[T], _ *Engine, end func(), err error) {
	if to, err = checkSystem(op, m, n, dst, b); err == nil {
		err = e.Ready(ctx)
	}
	if _, nrhs := b.Dims(); err != nil || n == 0 || nrhs == 0 {
		return nil, nil, nil, err
	}
	e, end = e.Session()
	return to, e, end, nil
}

// deliver copies the solution x for b to dst, unless err says that there is none or x overflows,
// and closes x. A nil b is finite. It returns report and err, or its own error.
func deliver[T Element](ctx context.Context, e *Engine, report SolveReport, dst Sink[T], x *blocked.Matrix[T],
	b Source[T], err error) (SolveReport, error) {
	defer closeMatrix(x)
	if x == nil || noSolution(err) {
		return report, err
	}
	if overflow := inRange(ctx, e, x, b); overflow != nil {
		return report, overflow
	}
	switch to := distributedOn[T](e, dst); to {
	case nil:
		x.CopyTo(dst, e.Options().Workers)
	default:
		if failed := scatter(ctx, e, to, x); failed != nil {
			return report, failed
		}
	}
	return report, err
}

// checkSystem checks the shapes of A·X = B, with A m×n, and shapes dst. It returns dst as a Sink.
func checkSystem[T Element](op string, m, n int, dst Destination[T], b Source[T]) (Sink[T], error) {
	mb, nrhs := b.Dims()
	if mb != m {
		return nil, &ShapeError{op, fmt.Sprintf("A is %d×%d and b %d×%d", m, n, mb, nrhs)}
	}
	to, err := sink(op, "dst", dst)
	if err != nil {
		return nil, err
	}
	return to, shapeResult[T](op, "solution", to, n, nrhs)
}

// shapeResult gives an empty dst the shape of the result, or returns a *ShapeError.
func shapeResult[T Element](op, what string, dst Source[T], m, n int) error {
	shape(dst, m, n)
	if r, c := dst.Dims(); r != m || c != n {
		return &ShapeError{op, fmt.Sprintf("the %s is %d×%d and dst %d×%d", what, m, n, r, c)}
	}
	return nil
}

// solveVector solves for one right-hand side with solve, which solves for several. A is
// rows×cols, and name its name in errors.
func solveVector[T Element](ctx context.Context, name string, rows, cols int, dst VectorSink[T], b VectorSource[T],
	solve func(ctx context.Context, dst Destination[T], b Source[T]) error) error {
	if b.Len() != rows {
		return &ShapeError{"SolveVecTo", fmt.Sprintf("%s is %d×%d and b has %d elements", name, rows, cols, b.Len())}
	}
	to := columnSink[T]{column[T]{dst}, dst}
	if shape[T](to, cols, 1); dst.Len() != cols {
		return &ShapeError{"SolveVecTo", fmt.Sprintf("the solution has %d elements and dst %d", cols, dst.Len())}
	}
	return solve(ctx, to, column[T]{b})
}

// retiled returns x in tiles of nb×nb.
func retiled[T Element](x *blocked.Matrix[T], nb int, e *Engine) *blocked.Matrix[T] {
	if x.NB() != nb {
		x, _ = blocked.From[T](x, blocked.Full, nb, copying(e))
	}
	return x
}

// solvable returns a *ShapeError of op unless b is a right-hand side for a in the same tile size.
func solvable[T Element](op string, a, b *blocked.Matrix[T]) error {
	n, _ := a.Dims()
	if m, nrhs := b.Dims(); b.Kind() != blocked.Full || m != n || b.NB() != a.NB() {
		return &ShapeError{op, fmt.Sprintf("A is %d×%d in tiles of %d, B %v, %d×%d in tiles of %d", n, n, a.NB(),
			b.Kind(), m, nrhs, b.NB())}
	}
	return nil
}

// rightSideInPlace returns b, which op is to overwrite with a solution with the matrix or the factors in a, or a
// *ShapeError unless dst is b and fits a.
func rightSideInPlace[T Element](op string, a *blocked.Matrix[T], dst Destination[T], b Source[T]) (*blocked.Matrix[T], error) {
	x, ok := b.(*blocked.Matrix[T])
	if to, isMatrix := dst.(*blocked.Matrix[T]); !ok || !isMatrix || to != x {
		return nil, &ShapeError{op, "in place dst and b are the same *blocked.Matrix"}
	}
	return x, solvable(op, a, x)
}
