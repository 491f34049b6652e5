package krylov

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/la"
)

// CGOptions configures [CG]. The zero value means the defaults.
type CGOptions struct {
	// Tolerance ends the iteration when ‖b − A·x‖ ≤ Tolerance·‖b‖; 0 means 1e-10.
	Tolerance float64
	// MaxIterations is the largest number of iterations; 0 means 10·n, but at least 100.
	// Without rounding n iterations would suffice.
	MaxIterations int
	// Observe, if not nil, is called after each iteration with the norm of its residual.
	Observe func(iteration int, residual float64)
}

// CGResult describes a run of [CG].
type CGResult struct {
	Iterations int
	Residual   float64 // ‖b − A·x‖, at the end computed from x; NaN if an error came before the first residual
}

// CG solves
//
//	A·x = b
//
// for an n×n symmetric positive definite A by the method of conjugate gradients. b and x have n elements. CG
// begins with the given x, usually zeros, and overwrites it. It needs only products A·x, not Aᵀ·x. It uses
// three vectors of n elements besides x and b, or five if elements of A or b are near the ends of the range of
// float64.
//
// The recurrence updates the residual, which by rounding drifts away from b − A·x. When the updated residual
// is small enough, CG computes b − A·x. If that is still too large, CG begins anew from the current x.
//
// Powers of two do not change the bits: with 2ʲ·A and 2ᵏ·b, x is the same but for its exponent, as long as
// the elements of all three are in the range of float64.
//
// The error is a *[la.ShapeError] or an *[OptionsError]; an *[IndefiniteError] or a *[NonFiniteError]; a
// *[ConvergenceError] after MaxIterations; the cause of the end of ctx; or that of the operator. Except with
// the first two, x is that of the last iteration. If a [Keeper] fails, x may be unchanged. CG panics with
// [ErrOverlap] if x and b begin at the same element.
//
// Reference: Hestenes and Stiefel, Methods of Conjugate Gradients for Solving Linear Systems,
// 1952; Saad, Iterative Methods for Sparse Linear Systems, algorithm 6.18.
func CG(ctx context.Context, a Operator, x, b []float64, opt CGOptions) (result CGResult, err error) {
	result.Residual = math.NaN()
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
	normB, expB := magnitude(b)
	normX, expX := magnitude(x)
	switch {
	case !finite(normB) || !finite(normX):
		return result, &NonFiniteError{"CG", 0}
	case normB == 0:
		clear(x)
		return CGResult{}, nil
	}
	s, err := vectorsOf(ctx, a)
	if err != nil {
		return result, err
	}
	c := cgRun{Vectors: s, x: s.Load(x), b: s.Load(b), r: s.New(n), p: s.New(n), q: s.New(n), most: most, observe: opt.Observe, result: &result}
	defer func() { err = cmp.Or(err, s.Close(c.x)) }()

	// A product with b, scaled to a norm near 1, shows how large A is. The scale of b is that of the larger of
	// b and A·x, and so of the first residual.
	times(s, -unit(expB), c.b, c.p)
	var ok bool
	if c.Vectors, c.expA, ok, err = probe(s, c.q, false, c.p, n, n); err != nil {
		return result, err
	} else if !ok {
		return result, &NonFiniteError{"CG", 0}
	}
	if c.expB = expB; normX != 0 {
		c.expB = max(expB, expX+c.expA)
		c.begun = true
	}
	c.expB = unit(c.expB)
	if c.expB != 0 {
		b := s.New(n)
		times(s, -c.expB, c.b, b)
		c.b = b
	}
	c.want = math.Ldexp(tolerance*normB, expB-c.expB)
	if back := c.expB - c.expA; back != 0 {
		times(s, -back, c.x, c.x)
		defer func() {
			times(s, back, c.x, c.x)
			if norm, _, _, e := measure(s, c.x); err == nil && e == nil && !finite(norm) {
				err = &NonFiniteError{"CG", result.Iterations}
			}
		}()
	}
	err = c.iterate(ctx)
	return result, err
}

// cgRun is the state of CG: the residual r, the direction p, q = A·p, and numbers. A, b and x are scaled.
type cgRun struct {
	Vectors
	x, b, r, p, q Vector
	expA, expB    int     // A and b are scaled by 2^−expA and 2^−expB
	want          float64 // the norm of r at which the iteration ends
	begun         bool    // x may differ from zero
	most          int
	observe       func(int, float64)
	result        *CGResult
}

// norm returns ‖r‖ and its square, and stores the norm in the result.
func (c *cgRun) norm() (r, rr float64, err error) {
	r, rr, err = norm(c, c.r)
	c.result.Residual = math.Ldexp(r, c.expB)
	return r, rr, err
}

// residual computes r = b − A·x, and returns ‖r‖ and its square.
func (c *cgRun) residual() (r, rr float64, err error) {
	c.Axpby(1, c.b, 0, c.r)
	if c.begun {
		if err := c.MulVecTo(c.q, false, c.x); err != nil {
			return 0, 0, err
		}
		c.Axpby(-1, c.q, 1, c.r)
	}
	c.begun = true
	if r, rr, err = c.norm(); err == nil && !finite(r) {
		err = &NonFiniteError{"CG", c.result.Iterations}
	}
	return r, rr, err
}

// unconverged returns the error for a residual that is still too large.
func (c *cgRun) unconverged(reason string) error {
	return &ConvergenceError{"CG", c.most, c.result.Residual, math.Ldexp(c.want, c.expB), reason}
}

// tiny bounds the square of the residual from below: with a smaller residual pᵀ·A·p may vanish.
const tiny = 0x1p-700

// iterate runs the iteration until the residual is small enough, or an error.
func (c *cgRun) iterate(ctx context.Context) error {
	r, rr, err := c.residual() // ‖r‖ and rᵀ·r
	if err != nil {
		return err
	}
	for result := c.result; r > c.want; {
		for c.Axpby(1, c.r, 0, c.p); ; {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if result.Iterations == c.most {
				return c.unconverged("the limit of iterations")
			}
			if err := c.MulVecTo(c.q, false, c.p); err != nil {
				return err
			}
			pq, err := c.Dot(c.p, c.q, 1)
			if err != nil {
				return err
			}
			result.Iterations++
			switch {
			case !finite(pq) || !finite(rr) || rr < tiny:
				return &NonFiniteError{"CG", result.Iterations}
			case pq <= 0:
				pp, err := c.Dot(c.p, c.p, 1)
				return cmp.Or(err, error(&IndefiniteError{result.Iterations, math.Ldexp(pq/pp, c.expA)}))
			}
			alpha, before := rr/pq, rr
			c.Axpby(alpha, c.p, 1, c.x)
			c.Axpby(-alpha, c.q, 1, c.r)
			if r, rr, err = c.norm(); err != nil {
				return err
			}
			if c.observe != nil {
				c.observe(result.Iterations, result.Residual)
			}
			if !(r > c.want) {
				break
			}
			c.Axpby(1, c.r, rr/before, c.p)
		}
		drifted := result.Residual
		if r, rr, err = c.residual(); err != nil {
			return err
		}
		if r > c.want && result.Iterations == c.most {
			return c.unconverged(fmt.Sprintf("the limit of iterations; the recurrence has %.3g", drifted))
		}
	}
	return nil
}
