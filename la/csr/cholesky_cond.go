package csr

import (
	"context"
	"math"

	"gonum.org/v1/gonum/lapack/gonum"
)

// Cond estimates the condition number ‖A‖₁·‖A⁻¹‖₁ by some five solutions. But for rounding the estimate is a lower bound,
// which is rarely below a third of the true value. It is +Inf if a solution overflows, and 0 if n = 0. A solution has about
// as many wrong digits as the condition number has before its point.
//
// The error is the cause of the context's end, or [exec.ErrClosed] for a large factor whose runtime has ended. Cond panics
// with [ErrNotFactorized] if there is no factorization.
//
// Reference: LAPACK xPOCON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (f *Cholesky[T]) Cond(ctx context.Context) (float64, error) {
	f.check()
	n := f.pattern.N()
	if n == 0 {
		return 0, nil
	}
	v, x, signs := make([]float64, n), make([]float64, n), make([]int, n)
	y := make([]T, n)
	inverse, step, state := 0.0, 0, [3]int{}
	for {
		if inverse, step = (gonum.Implementation{}).Dlacn2(n, v, x, signs, inverse, step, &state); step == 0 {
			break
		}
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		for i := range y {
			y[i] = T(x[i])
		}
		if err := f.factor.solve(ctx, f.rt, y, 1); err != nil {
			return 0, err
		}
		for i := range x {
			x[i] = float64(y[i])
		}
	}
	cond := f.norm * inverse
	if math.IsNaN(cond) {
		return math.Inf(1), nil
	}
	return cond, nil
}
