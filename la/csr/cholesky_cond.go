package csr

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/la"
)

// Cond estimates the condition number ‖A‖₁·‖A⁻¹‖₁ by some five solutions. But for rounding the estimate is a lower bound,
// which is rarely below a third of the true value. It is +Inf if a solution overflows, and 0 if n = 0. A solution has about
// as many wrong digits as the condition number has before its point.
//
// The error is the cause of the context's end. Cond panics with [ErrNotFactorized] if there is no factorization.
//
// Reference: LAPACK xPOCON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (f *Cholesky[T]) Cond(ctx context.Context) (float64, error) {
	f.check()
	n := f.pattern.N()
	if n == 0 {
		return 0, nil
	}
	e := estimator[T]{ctx: ctx, f: f, x: make([]T, n), scratch: make([]T, f.factor.SolveScratch(1))}
	inverse := e.inverse()
	if e.err != nil {
		return 0, e.err
	}
	cond := f.norm / math.Ldexp(1, f.exp) * inverse
	if math.IsNaN(cond) {
		return math.Inf(1), nil
	}
	return cond, nil
}

// estimator estimates the 1-norm of the inverse of the matrix that was factored.
type estimator[T la.Element] struct {
	ctx        context.Context
	f          *Cholesky[T]
	x, scratch []T
	err        error
}

// solve overwrites x with the solution for x, and returns its 1-norm.
func (e *estimator[T]) solve() (norm float64) {
	if e.err = context.Cause(e.ctx); e.err != nil {
		return 0
	}
	e.f.factor.Solve(e.x, 1, e.scratch)
	for _, v := range e.x {
		norm += math.Abs(float64(v))
	}
	return norm
}

// set sets the elements of x.
func (e *estimator[T]) set(value func(i int) float64) {
	for i := range e.x {
		e.x[i] = T(value(i))
	}
}

// inverse returns the estimate. From a vector x with ‖x‖₁ = 1 it goes to the unit vector in whose direction ‖A⁻¹·x‖₁ grows
// most, until it grows no more.
func (e *estimator[T]) inverse() float64 {
	n := len(e.x)
	e.set(func(int) float64 { return 1 / float64(n) })
	estimate := e.solve()
	if n == 1 {
		return estimate
	}
	const rounds = 5
	last := -1
	for range rounds {
		e.set(func(i int) float64 { return math.Copysign(1, float64(e.x[i])) })
		if e.solve(); e.err != nil {
			return 0
		}
		top := 0
		for i, v := range e.x {
			if math.Abs(float64(v)) > math.Abs(float64(e.x[top])) {
				top = i
			}
		}
		if top == last {
			break
		}
		e.set(func(i int) float64 {
			if i == top {
				return 1
			}
			return 0
		})
		norm := e.solve()
		if !(norm > estimate) {
			break
		}
		estimate, last = norm, top
	}
	// A vector for matrices in whose inverse elements cancel out.
	e.set(func(i int) float64 {
		v := 1 + float64(i)/float64(n-1)
		if i%2 == 1 {
			v = -v
		}
		return v
	})
	return max(estimate, 2*e.solve()/float64(3*n))
}
