package la

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// Norm returns a norm of A: the largest sum of magnitudes of a column
// (lapack.MaxColumnSum, the 1-norm) or of a row (lapack.MaxRowSum, the ∞-norm),
// the square root of the sum of squares (lapack.Frobenius, which gonum's
// mat.Norm calls 2), or the largest magnitude (lapack.MaxAbs, no matrix norm).
//
// It is summed in float64, whatever T, on as many goroutines as e has workers,
// and the same for any number. It is 0 if A has no elements, NaN if one is NaN,
// and +Inf if a sum overflows; the Frobenius norm is scaled. That of a distributed
// matrix is computed by [NormInPlace]. Norm panics with mat.ErrNormOrder if norm is
// none of the four, and with the error of NormInPlace.
//
// Reference: LAPACK xLANGE, xLANSY, xLANTR.
func Norm[T Element](e *Engine, a Source[T], norm lapack.MatrixNorm) float64 {
	switch norm {
	case lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius, lapack.MaxAbs:
	default:
		panic(mat.ErrNormOrder)
	}
	const nb = 512 // enough tiles to share out, and what is read in a row is long
	workers := e.options().Workers
	v, trans, ok := tiles.ViewOf(a, nb)
	if m, isMatrix := any(a).(*blocked.Matrix[T]); isMatrix && m.IsDistributed() {
		x, err := NormInPlace(context.Background(), e, m, norm)
		if err != nil {
			panic(err)
		}
		return x
	} else if isMatrix {
		v, trans = m, blas.NoTrans
	} else if !ok {
		v, _ = blocked.From(a, blocked.Full, nb, e.copying(false))
		trans = blas.NoTrans
	}
	if trans != blas.NoTrans {
		switch norm {
		case lapack.MaxColumnSum:
			norm = lapack.MaxRowSum
		case lapack.MaxRowSum:
			norm = lapack.MaxColumnSum
		}
	}
	return v.Norm(norm, workers)
}

// infinityNorm returns the norm of v that is the ∞-norm of op(v).
func infinityNorm(trans blas.Transpose) lapack.MatrixNorm {
	if trans != blas.NoTrans {
		return lapack.MaxColumnSum
	}
	return lapack.MaxRowSum
}

// Cond estimates the condition number ‖A‖·‖A⁻¹‖ of an n×n matrix A in the 1-norm
// (lapack.MaxColumnSum) or the ∞-norm (lapack.MaxRowSum), from the factorization
// that [Solve] would use, on the nodes for a distributed A: Cholesky for a positive definite
// A, otherwise LU, or none. The estimate is a lower bound, but for rounding, that is rarely below a
// third of the truth. It is +Inf if A is singular or one of the norms out of range,
// and 0 if n = 0.
//
// Half the digits of a solution are right where the condition number is 1/√ε,
// and none where it is 1/ε: 10⁸ and 10¹⁶ in float64.
//
// The error is a *ShapeError if A is not square, a *NonFiniteError, the cause of
// the context's end, an *exec.TaskError that names a version that has failed, or
// exec.ErrClosed. Cond panics with mat.ErrNormOrder if norm is neither.
//
// Reference: LAPACK xGECON, xPOCON, xTRCON; N. J. Higham, ACM TOMS 14 (1988).
func Cond[T Element](ctx context.Context, e *Engine, a Source[T], norm lapack.MatrixNorm) (float64, error) {
	if norm != lapack.MaxColumnSum && norm != lapack.MaxRowSum {
		panic(mat.ErrNormOrder)
	}
	n, cols := a.Dims()
	if n != cols {
		return 0, &ShapeError{"Cond", fmt.Sprintf("A is %d×%d, and must be square", n, cols)}
	}
	e, end := e.session()
	defer end()
	if err := e.ready(ctx); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, nil
	}
	size := Norm(e, a, norm)
	if m := spread(e, a); m == nil && (immoderate[T](size) || math.IsInf(size, 1)) {
		if top := Norm(e, a, lapack.MaxAbs); excess[T](top) != 0 {
			a = scaled(e, a, -excess[T](top))
			size = Norm(e, a, norm)
		}
	}
	d, err := divide(ctx, e, a)
	defer d.close()
	var singular *SingularError
	switch {
	case errors.As(err, &singular):
		return math.Inf(1), nil
	case err != nil:
		return 0, err
	}
	v := inverse{n: n, apply: onVectors(d.nb, d.solve), transposed: onVectors(d.nb, d.transposed)}
	if norm == lapack.MaxRowSum {
		v.apply, v.transposed = v.transposed, v.apply
	}
	if size, err = condition[T](size, v); err != nil {
		return 0, err
	}
	return size, nil
}
