package la

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// Cond estimates the condition number ‖A‖·‖A⁻¹‖ of an n×n matrix A in the 1-norm
// (lapack.MaxColumnSum) or the ∞-norm (lapack.MaxRowSum). It uses the factorization that [Solve]
// would use, on the nodes for a distributed A. But for rounding the estimate is a lower bound,
// which is rarely below a third of the true value. It is +Inf if A is singular or one of the
// norms out of range, and 0 if n = 0.
//
// Half the digits of a solution are right if the condition number is 1/√ε, and none if it is 1/ε:
// 10⁸ and 10¹⁶ in float64.
//
// The error is a *ShapeError if A is not square, a *NonFiniteError, the cause of the context's
// end, an *exec.TaskError that names the version that failed, or exec.ErrClosed. Cond panics with
// mat.ErrNormOrder for another norm.
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
	e, end := e.Session()
	defer end()
	if err := e.Ready(ctx); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, nil
	}
	size := Norm(e, a, norm)
	if m := distributedOn(e, a); m == nil && (needsScaling[T](size) || math.IsInf(size, 1)) {
		if top := Norm(e, a, lapack.MaxAbs); scaleExponent[T](top) != 0 {
			a = scaledCopy(e, a, -scaleExponent[T](top))
			size = Norm(e, a, norm)
		}
	}
	d, err := newDivisor(ctx, e, a)
	defer d.close()
	var singular *SingularError
	switch {
	case errors.As(err, &singular):
		return math.Inf(1), nil
	case err != nil:
		return 0, err
	}
	v := inverse{n: n, apply: solveAsMatrix(d.nb, d.solve), transposed: solveAsMatrix(d.nb, d.transposed)}
	if norm == lapack.MaxRowSum {
		v.apply, v.transposed = v.transposed, v.apply
	}
	if size, err = estimateCondition[T](size, v); err != nil {
		return 0, err
	}
	return size, nil
}
