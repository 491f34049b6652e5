package krylov

import (
	"cmp"
	"context"
	"math"
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
	// Preconditioner, if not nil, is a symmetric positive definite M that resembles A.
	Preconditioner Preconditioner
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
// three vectors of n elements besides x and b, four with a preconditioner, and two more if elements of A or b are
// near the ends of the range of float64.
//
// With a preconditioner M each iteration also solves M·z = r. CG then converges as for a matrix with the
// eigenvalues of M⁻¹·A. The rule for its end is the same: it looks at b − A·x.
//
// The recurrence updates the residual, which by rounding drifts away from b − A·x. When the updated residual
// is small enough, CG computes b − A·x. If that is still too large, CG begins anew from the current x.
//
// Powers of two do not change the bits: with 2ʲ·A and 2ᵏ·b, x is the same but for its exponent, as long as
// the elements of all three are in the range of float64. With a preconditioner that holds if M becomes 2ʲ·M to the
// last bit, as those of package la/csr do.
//
// The error is a *[la.ShapeError] or an *[OptionsError]; an *[IndefiniteError] or a *[NonFiniteError]; a
// *[ConvergenceError] after MaxIterations; the cause of the end of ctx; or that of the operator. Except with
// the first two, x is that of the last iteration. If a [Keeper] fails, x may be unchanged. CG panics with
// [ErrOverlap] if x and b begin at the same element.
//
// Reference: Hestenes and Stiefel, Methods of Conjugate Gradients for Solving Linear Systems,
// 1952; Saad, Iterative Methods for Sparse Linear Systems, algorithms 6.18 and 9.1.
func CG(ctx context.Context, a Operator, x, b []float64, opt CGOptions) (CGResult, error) {
	result, err := solveSystem(ctx, "CG", a, x, b, options(opt), nil, func(s *system) error {
		c := cgRun{system: s, p: s.New(s.n), z: s.r}
		if s.solve != nil {
			c.z = s.New(s.n)
		}
		return s.cycles(func(r, rr float64) (float64, error) { return c.cycle(ctx, r, rr) })
	})
	return CGResult(result), err
}

// cgRun is the state of CG: the residual r, z = M⁻¹·r, the direction p and q = A·p. Without a preconditioner z is
// r.
type cgRun struct {
	*system
	p, z Vector
}

// precondition computes z, and returns rᵀ·z for a known rᵀ·r.
func (c *cgRun) precondition(rr float64) (float64, error) {
	if c.solve == nil {
		return rr, nil
	}
	if err := c.solve(c.z, c.r); err != nil {
		return 0, err
	}
	rz, err := c.Dot(c.r, c.z, 1)
	switch {
	case err != nil:
		return 0, err
	case !finite(rz):
		return 0, c.outOfRange()
	case rz <= 0 && rr >= tiny:
		return 0, &IndefiniteError{c.result.Iterations, math.Ldexp(rz/rr, c.expM), true, "CG"}
	}
	return rz, nil
}

// cycle runs the iteration from r = b − A·x until the residual is small enough, or an error.
func (c *cgRun) cycle(ctx context.Context, r, rr float64) (updated float64, err error) {
	rz, err := c.precondition(rr)
	if err != nil {
		return 0, err
	}
	result := c.result
	for c.Axpby(1, c.z, 0, c.p); ; {
		if err := c.checkLimits(ctx); err != nil {
			return 0, err
		}
		pq, err := mulVecDot(c.Vectors, c.q, c.p)
		if err != nil {
			return 0, err
		}
		result.Iterations++
		switch {
		case !finite(pq) || !finite(rr) || rr < tiny:
			return 0, c.outOfRange()
		case pq <= 0:
			pp, err := c.Dot(c.p, c.p, 1)
			return 0, cmp.Or(err, error(&IndefiniteError{result.Iterations, math.Ldexp(pq/pp, c.expA), false, "CG"}))
		}
		alpha, before := rz/pq, rz
		c.Axpby(alpha, c.p, 1, c.x)
		if rr, err = axpbyDot(c.Vectors, -alpha, c.q, 1, c.r, c.r); err != nil {
			return 0, err
		}
		if r, err = root(c.Vectors, c.r, rr); err != nil {
			return 0, err
		}
		c.note(r)
		c.observed()
		if !(r > c.target) {
			return r, nil
		}
		if rz, err = c.precondition(rr); err != nil {
			return 0, err
		}
		c.Axpby(1, c.z, rz/before, c.p)
	}
}
