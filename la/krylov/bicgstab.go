package krylov

import (
	"context"
	"math"
)

// BiCGSTABOptions configures [BiCGSTAB]. The zero value means the defaults.
type BiCGSTABOptions struct {
	// Tolerance ends the iteration when ‖b − A·x‖ ≤ Tolerance·‖b‖; 0 means 1e-10.
	Tolerance float64
	// MaxIterations is the largest number of iterations, each of two products; 0 means 10·n, but at least 100.
	MaxIterations int
	// Observe, if not nil, is called after each iteration with the norm of its residual.
	Observe func(iteration int, residual float64)
	// Preconditioner, if not nil, is an M that resembles A.
	Preconditioner Preconditioner
}

// BiCGSTABResult describes a run of [BiCGSTAB].
type BiCGSTABResult struct {
	Iterations int
	Residual   float64 // ‖b − A·x‖, at the end computed from x; NaN if an error came before the first residual
}

// BiCGSTAB solves
//
//	A·x = b
//
// for any n×n A that is not singular, by the stabilized method of biconjugate gradients. b and x have n
// elements. BiCGSTAB begins with the given x, usually zeros, and overwrites it. It needs only products A·x, not
// Aᵀ·x, two in each iteration. It uses five vectors of n elements besides x and b, six with a preconditioner,
// and two more if elements of A or b are near the ends of the range of float64.
//
// The residual may grow meanwhile. If a number by which the method divides vanishes, it begins anew from its x.
// If that happens in the first iteration from there, it is a breakdown; so it is with a skew-symmetric A. [GMRES]
// has no breakdowns. M stands on the right, A·M⁻¹·(M·x) = b, so that the rule for the end looks at b − A·x. As
// in [CG], BiCGSTAB computes b − A·x at the end, and powers of two do not change the bits.
//
// The error is a *[la.ShapeError] or an *[OptionsError]; a *[NonFiniteError]; a *[BreakdownError]; a
// *[ConvergenceError] after MaxIterations; the cause of the end of ctx; or that of the operator. Except with
// the first two, x is that of the last iteration. If a [Keeper] fails, x may be unchanged. BiCGSTAB panics
// with [ErrOverlap] if x and b begin at the same element.
//
// Reference: van der Vorst, Bi-CGSTAB: A Fast and Smoothly Converging Variant of Bi-CG for the Solution of
// Nonsymmetric Linear Systems, SIAM J. Sci. Stat. Comput. 13, 1992.
func BiCGSTAB(ctx context.Context, a Operator, x, b []float64, opt BiCGSTABOptions) (BiCGSTABResult, error) {
	result, err := solveSystem(ctx, "BiCGSTAB", a, x, b, options(opt), nil, func(s *system) error {
		c := bicgstabRun{system: s, shadow: s.New(s.n), p: s.New(s.n), t: s.New(s.n)}
		if s.solve != nil {
			c.y = s.New(s.n)
		}
		return s.cycles(func(r, rr float64) (float64, error) { return c.cycle(ctx, r, rr) })
	})
	return BiCGSTABResult(result), err
}

// bicgstabRun is the state of BiCGSTAB: the residual r, its shadow, which is the first residual, the direction p, q =
// A·M⁻¹·p, and t = A·M⁻¹·r.
type bicgstabRun struct {
	*system
	shadow, p, t Vector
	y            Vector // M⁻¹·p or M⁻¹·r
}

// product computes dst = A·M⁻¹·x. It returns M⁻¹·x.
func (c *bicgstabRun) product(dst, x Vector) (y Vector, err error) {
	if y = x; c.solve != nil {
		y = c.y
		if err := c.solve(y, x); err != nil {
			return y, err
		}
	}
	return y, c.MulVecTo(dst, false, y)
}

// against returns xᵀ·y, the norm of x, and whether the product is nothing but rounding, for a known ‖y‖.
func (c *bicgstabRun) against(x, y Vector, normY float64) (d, normX float64, nothing bool, err error) {
	if d, err = c.Dot(x, y, 1); err != nil {
		return 0, 0, false, err
	}
	if normX, _, err = norm(c, x); err == nil && (!finite(d) || !finite(normX)) {
		err = c.outOfRange()
	}
	return d, normX, math.Abs(d) <= cancelled*normX*normY, err
}

// cycle runs the iteration from r = b − A·x until the residual is small enough, or the method has to begin anew,
// or an error.
func (c *bicgstabRun) cycle(ctx context.Context, r, rr float64) (updated float64, err error) {
	c.Axpby(1, c.r, 0, c.shadow)
	c.Axpby(1, c.r, 0, c.p)
	shadow, rho := r, rr
	for first := true; ; first = false {
		if err := c.checkLimits(ctx); err != nil {
			return 0, err
		}
		y, err := c.product(c.q, c.p)
		if err != nil {
			return 0, err
		}
		c.result.Iterations++
		sigma, _, nothing, err := c.against(c.q, c.shadow, shadow)
		switch {
		case err != nil:
			return 0, err
		case nothing && first:
			return 0, c.broken("A·M⁻¹·r is orthogonal to r")
		case nothing:
			return r, nil
		}
		alpha := rho / sigma
		c.Axpby(alpha, y, 1, c.x)
		if r, rr, err = c.update(-alpha, c.q); err != nil {
			return 0, err
		}
		if !(r > c.target) {
			c.observed()
			return r, nil
		}
		if y, err = c.product(c.t, c.r); err != nil {
			return 0, err
		}
		ts, t, nothing, err := c.against(c.t, c.r, r)
		switch {
		case err != nil:
			return 0, err
		case nothing && first:
			return 0, c.broken("A·M⁻¹·s is orthogonal to s, the residual of half an iteration")
		case nothing:
			c.observed()
			return r, nil
		}
		omega := ts / t / t
		c.Axpby(omega, y, 1, c.x)
		if r, rr, err = c.update(-omega, c.t); err != nil {
			return 0, err
		}
		c.observed()
		if !(r > c.target) {
			return r, nil
		}
		before := rho
		if rho, err = c.Dot(c.shadow, c.r, 1); err != nil {
			return 0, err
		}
		switch {
		case rr < tiny || !finite(rho):
			return 0, c.outOfRange()
		case math.Abs(rho) <= cancelled*shadow*r:
			return r, nil
		}
		c.Axpby(-omega, c.q, 1, c.p)
		c.Axpby(1, c.r, rho/before*(alpha/omega), c.p)
	}
}

// update adds alpha·x to the residual. It returns its norm and the square.
func (c *bicgstabRun) update(alpha float64, x Vector) (r, rr float64, err error) {
	if rr, err = axpbyDot(c.Vectors, alpha, x, 1, c.r, c.r); err != nil {
		return 0, 0, err
	}
	if r, err = root(c.Vectors, c.r, rr); err == nil && !finite(r) {
		err = c.outOfRange()
	}
	c.note(r)
	return r, rr, err
}
