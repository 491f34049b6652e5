package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// LeastSquares computes, for each column of B,
//
//	dst = the x that minimizes ‖b − A·x‖₂,
//
// and, where there are several, the one of smallest ‖x‖₂, by a QR factorization.
// A is m×n, of any shape, and of full rank; B is m×nrhs. dst may share memory
// with A and B; an empty *mat.Dense becomes n×nrhs. An A or B whose elements are
// all tiny, or one of which is huge, is copied and scaled by a power of two. Distributed
// matrices are treated as by [Solve].
//
// The error is a *ShapeError; a *NonFiniteError for A; an *OverflowError if B is finite and
// the solution is not; a mat.Condition if A has not full rank to working precision, by what
// the diagonal of R shows: dst then holds a solution whose digits may all be wrong, unless the
// condition is +Inf;
// the cause of the context's end, an *exec.TaskError that names a version that
// has failed, or exec.ErrClosed. But for the finite mat.Condition dst is as it
// was, its shape excepted.
//
// Reference: LAPACK xGELS.
func LeastSquares[T Element](ctx context.Context, e *Engine, dst Destination[T], a, b Source[T]) error {
	m, n := a.Dims()
	to, e, end, err := begin(ctx, e, "LeastSquares", m, n, dst, b)
	if err != nil || to == nil {
		return err
	}
	defer end()
	x, err := solveQR(ctx, e, a, b)
	_, err = deliver(ctx, e, SolveReport{}, to, x, b, err)
	return err
}

// solveQR returns the least-squares or minimum-norm solution, nil if there is
// none. Norms of columns and what Qᵀ makes of b may be out of range where no
// element is, so both are brought to about 1 if they are near the ends, as xGELS
// does.
func solveQR[T Element](ctx context.Context, e *Engine, a, b Source[T]) (*blocked.Matrix[T], error) {
	if m := spread(e, a); m != nil {
		return solveSpreadQR(ctx, e, m, b)
	}
	power := 0 // of two, that the solution has too little
	if top := Norm(e, b, lapack.MaxAbs); immoderate[T](top) {
		power = exponent(top)
		b = scaled(e, b, -power)
	}
	x, top, err := solveUnscaled(ctx, e, a, b)
	if immoderate[T](top) {
		power -= exponent(top)
		x, _, err = solveUnscaled(ctx, e, scaled(e, a, -exponent(top)), b)
	}
	if x != nil && power != 0 {
		multiply(x, power)
	}
	return x, err
}

// solveUnscaled is solveQR for matrices that are in range. top is the largest
// magnitude of A, 0 if it was not factored.
func solveUnscaled[T Element](ctx context.Context, e *Engine, a, b Source[T]) (x *blocked.Matrix[T], top float64, err error) {
	m, n := a.Dims()
	q := &QR[T]{engine: e}
	if m >= n {
		if err := q.FactorizeContext(ctx, a); err != nil {
			return nil, 0, err
		}
		x, err = q.solve(ctx, false, b)
		return x, q.top, err
	}
	// The factorization of Aᵀ gives the solution without another one.
	nb, _ := qrTileSize[T](e, &q.opt, n, m)
	at, trans := readable(a, blas.NoTrans, nb, nil, e.options().Workers)
	if trans == blas.NoTrans {
		at = at.Transposed()
	}
	err = q.FactorizeContext(ctx, at)
	if _, ok := errors.AsType[*NonFiniteError](err); ok {
		return nil, 0, checkFinite(at, blas.Trans, e.options().Workers) // the first by rows of A
	}
	if err != nil {
		return nil, 0, err
	}
	x, err = q.solve(ctx, true, b)
	return x, q.top, err
}

// immoderate reports whether a matrix whose largest magnitude is top has to be
// scaled: xGELS's bounds.
func immoderate[T Element](top float64) bool {
	small := 0x1p-1022 / 0x1p-52
	if epsilon[T]() > 0x1p-53 {
		small = 0x1p-126 / 0x1p-23
	}
	return top > 0 && top < small || top > 1/small && top <= math.MaxFloat64
}

// scaled returns a copy of a times two to the power given.
func scaled[T Element](e *Engine, a Source[T], exp int) *blocked.Matrix[T] {
	m, n := a.Dims()
	v, _ := blocked.From(a, blocked.Full, max(1, min(max(m, n), 256)), e.copying(false))
	multiply(v, exp)
	return v
}
