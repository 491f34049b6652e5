package krylov

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la"
)

// options are those of all methods for a square A: see [CGOptions].
type options struct {
	Tolerance      float64
	MaxIterations  int
	Observe        func(iteration int, residual float64)
	Preconditioner Preconditioner
}

// system is A·x = b for a square A as an iteration sees it. r and q are two vectors of n elements for the
// iteration; at its begin they have no meaning.
type system struct {
	frame
	r, q  Vector
	expM  int  // M⁻¹ is scaled by 2^−expM
	begun bool // x may differ from zero
}

// solveSystem is the frame of the methods for a square A: it checks the arguments, scales A, b, x and M, calls
// iterate, and scales x back. bad is what is wrong with other options.
func solveSystem(ctx context.Context, method string, a Operator, x, b []float64, opt options, bad problems.List, iterate func(*system) error) (result progress, err error) {
	result.Residual = math.NaN()
	if err := checkOptions(bad, opt.MaxIterations, "Tolerance", opt.Tolerance); err != nil {
		return result, err
	}
	n, columns := a.Dims()
	if n != columns {
		return result, &la.ShapeError{Op: method, Detail: fmt.Sprintf("A is %d×%d, not square", n, columns)}
	}
	if err := cmp.Or(checkShapes(method, a, x, b), checkPreconditioner(method, opt.Preconditioner, n)); err != nil {
		return result, err
	}
	s := &system{frame: frame{method: method, m: n, n: n, maxIter: cmp.Or(opt.MaxIterations, max(100, 10*n)), observe: opt.Observe, result: &result}}
	normB, expB := magnitude(b)
	normX, expX := magnitude(x)
	switch {
	case !finite(normB) || !finite(normX):
		return result, s.outOfRange()
	case normB == 0:
		clear(x)
		return progress{}, nil
	}
	err = s.run(ctx, a, opt.Preconditioner, x, b, func() error {
		// Products with b, scaled to a norm near 1, show how large A and M are. The scale of b is that of the
		// larger of b and A·x, and so of the first residual.
		v := s.Vectors
		s.r, s.q = v.New(n), v.New(n)
		times(v, -unit(expB), s.b, s.r)
		if err := s.scaleA(s.q, false, s.r); err != nil {
			return err
		}
		if s.solve != nil {
			m, exp, err := s.probe(inverse{v, s.solve}, s.q, false, s.r)
			if err != nil {
				return err
			}
			s.expM, s.solve = exp, func(dst, r Vector) error { return m.MulVecTo(dst, false, r) }
		}
		if s.expB = expB; normX != 0 {
			s.expB = max(expB, expX+s.expA)
			s.begun = true
		}
		if s.expB = unit(s.expB); s.expB != 0 {
			b := v.New(n)
			times(v, -s.expB, s.b, b)
			s.b = b
		}
		s.normB = math.Ldexp(normB, expB-s.expB)
		s.target = math.Ldexp(cmp.Or(opt.Tolerance, 1e-10)*normB, expB-s.expB)
		if s.expX = s.expB - s.expA; s.expX != 0 {
			times(v, -s.expX, s.x, s.x)
		}
		return iterate(s)
	})
	return result, err
}

// cycles calls cycle until b − A·x is small enough, or until an error. cycle improves x; it gets ‖r‖ and rᵀ·r for r = b
// − A·x, and returns the norm of the residual that it has updated.
func (s *system) cycles(cycle func(r, rr float64) (updated float64, err error)) error {
	r, rr, err := s.residual()
	for err == nil && r > s.target {
		if rr < tiny {
			return s.outOfRange()
		}
		var updated float64
		if updated, err = cycle(r, rr); err != nil {
			return s.measured(err)
		}
		if r, rr, err = s.residual(); err == nil && r > s.target && s.result.Iterations == s.maxIter {
			reason := limitReason
			if updated <= s.target {
				reason = fmt.Sprintf("%s; the recurrence has %.3g", limitReason, math.Ldexp(updated, s.expB))
			}
			return s.unconverged(reason)
		}
	}
	return err
}

// measured returns err, a cycle's, with ‖b − A·x‖ as its residual: where an iteration fails, what it updates may be far from
// that. It returns nil if the residual is small enough after all.
func (s *system) measured(err error) error {
	var said *float64
	switch e := err.(type) {
	case *ConvergenceError:
		said = &e.Residual
	case *BreakdownError:
		said = &e.Residual
	default:
		return err
	}
	switch r, _, failed := s.residual(); {
	case failed != nil:
		return failed
	case r <= s.target:
		return nil
	}
	*said = s.result.Residual
	return err
}

// tiny bounds the square of the residual from below: with a smaller residual squares may vanish.
const tiny = 0x1p-700

// cancelled is what rounding leaves, at most, of numbers that cancel to zero, relative to these.
const cancelled = 0x1p-44

// broken returns the error for an iteration that cannot go on.
func (s *system) broken(reason string) error {
	return &BreakdownError{s.method, s.result.Iterations, s.result.Residual, reason}
}

// residual computes r = b − A·x with q for A·x, and returns ‖r‖ and its square. It stores the norm in the
// result.
func (s *system) residual() (r, rr float64, err error) {
	s.Axpby(1, s.b, 0, s.r)
	if s.begun {
		if err := s.MulVecTo(s.q, false, s.x); err != nil {
			return 0, 0, err
		}
		s.Axpby(-1, s.q, 1, s.r)
	}
	s.begun = true
	if r, rr, err = norm(s, s.r); err == nil && !finite(r) {
		err = s.outOfRange()
	}
	s.note(r)
	return r, rr, err
}
