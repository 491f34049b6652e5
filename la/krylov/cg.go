package krylov

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/la"
)

// CGOptions configures [CG]. The zero value is useful.
type CGOptions struct {
	// Tolerance is the residual that ends the iteration, ‖b − A·x‖ ≤ Tolerance·‖b‖; 0 means 1e-10.
	Tolerance float64
	// MaxIterations is the most iterations; 0 means 10·n, at least 100: without rounding n
	// would do.
	MaxIterations int
	// Observe, if not nil, is called after each iteration with the norm of its residual.
	Observe func(iteration int, residual float64)
}

// CGResult says how [CG] has gone.
type CGResult struct {
	Iterations int
	Residual   float64 // ‖b − A·x‖, computed anew from x
}

// CG solves
//
//	A·x = b
//
// for an n×n symmetric positive definite A by the method of conjugate gradients. It begins
// with the x that is given, zeros as a rule, and overwrites it. Only A·x is asked for. It works
// in four vectors of n elements.
//
// The residual that the recurrence carries along drifts away from that of x. When it is small
// enough b − A·x is computed, and if that is not, the iteration begins anew from there.
//
// Errors: a *[la.ShapeError], an *[OptionsError]; an *[IndefiniteError] or a *[NonFiniteError];
// a *[ConvergenceError] after MaxIterations; the cause of the context's end; what the operator
// returns. With any of the last four x is that of the last iteration.
//
// Reference: Hestenes and Stiefel, Methods of Conjugate Gradients for Solving Linear Systems,
// 1952; Saad, Iterative Methods for Sparse Linear Systems, algorithm 6.18.
func CG(ctx context.Context, a Operator, x, b []float64, opt CGOptions) (result CGResult, err error) {
	if err := checkOptions(opt.MaxIterations, "Tolerance", opt.Tolerance); err != nil {
		return result, err
	}
	n, columns := a.Dims()
	if n != columns {
		return result, &la.ShapeError{Op: "CG", Detail: fmt.Sprintf("A is %d×%d, not square", n, columns)}
	}
	if err := checkShapes("CG", a, x, b); err != nil {
		return result, err
	}
	tolerance, most := opt.Tolerance, opt.MaxIterations
	if tolerance == 0 {
		tolerance = 1e-10
	}
	if most == 0 {
		most = max(100, 10*n)
	}
	normB := norm(b)
	want := tolerance * normB
	switch {
	case !finite(want):
		return result, &NonFiniteError{"CG", 0}
	case normB == 0:
		clear(x)
		return result, nil
	}
	r, p, q := make([]float64, n), make([]float64, n), make([]float64, n)
	// residual computes r = b − A·x and its norm.
	residual := func() error {
		if err := a.MulVecTo(ctx, q, false, x); err != nil {
			return err
		}
		for i := range r {
			r[i] = b[i] - q[i]
		}
		if result.Residual = norm(r); !finite(result.Residual) {
			return &NonFiniteError{"CG", result.Iterations}
		}
		return nil
	}
	if err := residual(); err != nil {
		return result, err
	}
	for result.Residual > want {
		copy(p, r)
		for rr := dot(r, r); ; {
			if err := context.Cause(ctx); err != nil {
				return result, err
			}
			if result.Iterations == most {
				return result, &ConvergenceError{"CG", most, result.Residual, want, "the limit of iterations"}
			}
			if err := a.MulVecTo(ctx, q, false, p); err != nil {
				return result, err
			}
			result.Iterations++
			pq := dot(p, q)
			switch {
			case !finite(pq) || !finite(rr) || rr == 0:
				return result, &NonFiniteError{"CG", result.Iterations}
			case pq <= 0:
				return result, &IndefiniteError{result.Iterations, pq / dot(p, p)}
			}
			alpha := rr / pq
			axpy(alpha, p, x)
			axpy(-alpha, q, r)
			result.Residual = norm(r)
			if opt.Observe != nil {
				opt.Observe(result.Iterations, result.Residual)
			}
			if !(result.Residual > want) {
				break
			}
			before := rr
			rr = dot(r, r)
			beta := rr / before
			for i, v := range r {
				p[i] = v + beta*p[i]
			}
		}
		drifted := result.Residual
		if err := residual(); err != nil {
			return result, err
		}
		if result.Residual > want && result.Iterations == most {
			return result, &ConvergenceError{"CG", most, result.Residual, want, fmt.Sprintf("the limit of iterations; the recurrence has %.3g", drifted)}
		}
	}
	return result, nil
}
