package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// LeastSquares computes, for each column of B,
//
//	dst = the x that minimizes ‖b − A·x‖₂,
//
// and, of several, the one of minimum ‖x‖₂, by a QR factorization. A is m×n, of any shape and of
// full rank; B is m×nrhs. dst may share memory with A and B; an empty *mat.Dense becomes n×nrhs.
// An A or B near the ends of the range is scaled by a power of two. It treats distributed
// matrices as [Solve] does.
//
// The error is one of:
//   - a *ShapeError;
//   - a *NonFiniteError for A;
//   - an *OverflowError if B is finite and the solution is not;
//   - a mat.Condition if A is rank-deficient to working precision (see [Solve]): if it is finite, dst
//     holds a solution whose digits may all be wrong;
//   - the cause of the context's end, an *exec.TaskError that names the version that failed, or
//     exec.ErrClosed.
//
// But for the finite mat.Condition an error leaves dst unchanged, except for its shape.
//
// The option is [LeastNorm]: A may be of any rank then, there is no mat.Condition, and a distributed A is blocked.ErrAway.
//
// Reference: LAPACK xGELS, and xGELSY for LeastNorm.
func LeastSquares[T Element](ctx context.Context, e *Engine, dst Destination[T], a, b Source[T], opts ...CallOption) error {
	o, err := optionsIn(ctx, "LeastSquares", takesLeastNorm, opts)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	if o.leastNorm == nil && leastSquaresDirect(ctx, e, dst, m, n, a, b) {
		return nil
	}
	to, e, end, err := beginSystem(ctx, e, "LeastSquares", m, n, dst, b)
	if err != nil || to == nil {
		return err
	}
	defer end()
	solve := solveQR[T]
	if o.leastNorm != nil {
		solve = func(ctx context.Context, e *Engine, a, b Source[T]) (*blocked.Matrix[T], error) {
			return solveLeastNorm(ctx, e, a, b, o.leastNorm)
		}
	}
	x, err := solve(ctx, e, a, b)
	_, err = deliver(ctx, e, SolveReport{}, to, x, b, err)
	return err
}

// leastSquaresDirect is LeastSquares for a small problem, if it returns true.
func leastSquaresDirect[T Element](ctx context.Context, e *Engine, dst Destination[T], m, n int, a, b Source[T]) bool {
	if m < n || n == 0 {
		return false
	}
	d := directlyTall[T](ctx, e, m, n)
	if d == nil {
		return false
	}
	defer d.leave()
	src, ok := memoryOf(a)
	from, isMemory := memoryOf(b)
	if !ok || !isMemory || src.rows != m || src.cols != n || from.rows != m {
		return false
	}
	to, ok := resultMemory(dst, n, from.cols)
	return ok && d.solveTall(src, &to, &from)
}

// solveQR returns the least-squares or minimum-norm solution, nil if there is none.
func solveQR[T Element](ctx context.Context, e *Engine, a, b Source[T]) (x *blocked.Matrix[T], err error) {
	if m := distributedOn(e, a); m != nil {
		return solveDistributedQR(ctx, e, m, b)
	}
	m, n := a.Dims()
	q := kept[T]().takeQR(e)
	defer kept[T]().leaveQR(q)
	if m >= n {
		if err := q.factorize(ctx, a); err != nil {
			return nil, err
		}
		return q.solve(ctx, false, b)
	}
	// The factorization of Aᵀ gives the solution without another one.
	nb, _ := engine.QRTileSize[T](e, q.opt.TileSize, n, m)
	at, trans := readable(a, blas.NoTrans, nb, nil, e.Options().Workers)
	if trans == blas.NoTrans {
		at = at.Transposed()
	}
	err = q.factorize(ctx, at)
	if _, ok := errors.AsType[*NonFiniteError](err); ok {
		return nil, nonFinite(at, blas.Trans) // the first by rows of A
	}
	if err != nil {
		return nil, err
	}
	return q.solve(ctx, true, b)
}
