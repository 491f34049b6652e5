package krylov

import (
	"cmp"
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
// returns. With these, but for the first two, x is that of the last iteration. If a [Keeper] fails, x may be
// as it was. CG panics with [ErrOverlap] if x and b begin at the same element.
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
	normB, _, err := norm(&memory{all: [][]float64{b}}, 0)
	want := tolerance * normB
	switch {
	case err != nil:
		return result, err
	case !finite(want):
		return result, &NonFiniteError{"CG", 0}
	case normB == 0:
		clear(x)
		return result, nil
	}
	s, err := vectorsOf(ctx, a)
	if err != nil {
		return result, err
	}
	v := cgVectors{s.Load(x), s.Load(b), s.New(n), s.New(n), s.New(n)}
	defer func() { err = cmp.Or(err, s.Close(v.x)) }()
	err = cg(ctx, s, v, want, most, opt.Observe, &result)
	return result, err
}

// cgVectors is the vectors of CG: the residual r, the direction p, and q = A·p.
type cgVectors struct{ x, b, r, p, q Vector }

// cg is the iteration.
func cg(ctx context.Context, s Vectors, v cgVectors, want float64, most int, observe func(int, float64), result *CGResult) (err error) {
	var rr float64 // rᵀ·r
	// residual computes r = b − A·x and its norm.
	residual := func() error {
		if err := s.MulVecTo(v.q, false, v.x); err != nil {
			return err
		}
		s.Axpby(1, v.b, 0, v.r)
		s.Axpby(-1, v.q, 1, v.r)
		if result.Residual, rr, err = norm(s, v.r); err != nil {
			return err
		}
		if !finite(result.Residual) {
			return &NonFiniteError{"CG", result.Iterations}
		}
		return nil
	}
	if err := residual(); err != nil {
		return err
	}
	for result.Residual > want {
		for s.Axpby(1, v.r, 0, v.p); ; {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if result.Iterations == most {
				return &ConvergenceError{"CG", most, result.Residual, want, "the limit of iterations"}
			}
			if err := s.MulVecTo(v.q, false, v.p); err != nil {
				return err
			}
			pq, err := s.Dot(v.p, v.q, 1)
			if err != nil {
				return err
			}
			result.Iterations++
			switch {
			case !finite(pq) || !finite(rr) || rr == 0:
				return &NonFiniteError{"CG", result.Iterations}
			case pq <= 0:
				pp, err := s.Dot(v.p, v.p, 1)
				return cmp.Or(err, error(&IndefiniteError{result.Iterations, pq / pp}))
			}
			alpha, before := rr/pq, rr
			s.Axpby(alpha, v.p, 1, v.x)
			s.Axpby(-alpha, v.q, 1, v.r)
			if result.Residual, rr, err = norm(s, v.r); err != nil {
				return err
			}
			if observe != nil {
				observe(result.Iterations, result.Residual)
			}
			if !(result.Residual > want) {
				break
			}
			s.Axpby(1, v.r, rr/before, v.p)
		}
		drifted := result.Residual
		if err := residual(); err != nil {
			return err
		}
		if result.Residual > want && result.Iterations == most {
			return &ConvergenceError{"CG", most, result.Residual, want, fmt.Sprintf("the limit of iterations; the recurrence has %.3g", drifted)}
		}
	}
	return nil
}
