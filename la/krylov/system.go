package krylov

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/la"
)

// options are those of all methods for a square A: see [CGOptions].
type options struct {
	Tolerance      float64
	MaxIterations  int
	Observe        func(iteration int, residual float64)
	Preconditioner Preconditioner
}

// progress is what these methods report: see [CGResult].
type progress struct {
	Iterations int
	Residual   float64
}

// system is A·x = b for a square A as an iteration sees it: with vectors, and A, b, x and M scaled as scale.go
// says. r and q are two vectors of n elements for the iteration; at its begin they have no meaning.
type system struct {
	Vectors
	method     string
	n          int
	x, b, r, q Vector
	solve      func(dst, r Vector) error // dst = M⁻¹·r; nil without a preconditioner
	expA, expB int                       // A and b are scaled by 2^−expA and 2^−expB
	expM       int                       // M⁻¹ is scaled by 2^−expM
	normB      float64                   // ‖b‖
	want       float64                   // the norm of the residual at which the iteration ends
	begun      bool                      // x may differ from zero
	most       int
	observe    func(int, float64)
	result     *progress
}

// solveSystem is the frame of the methods for a square A: it checks the arguments, scales A, b and x, calls
// iterate, and scales x back.
func solveSystem(ctx context.Context, method string, a Operator, x, b []float64, opt options, iterate func(*system) error) (result progress, err error) {
	result.Residual = math.NaN()
	if err := checkOptions(opt.MaxIterations, "Tolerance", opt.Tolerance); err != nil {
		return result, err
	}
	n, columns := a.Dims()
	if n != columns {
		return result, &la.ShapeError{Op: method, Detail: fmt.Sprintf("A is %d×%d, not square", n, columns)}
	}
	if err := cmp.Or(checkShapes(method, a, x, b), checkPreconditioner(method, opt.Preconditioner, n)); err != nil {
		return result, err
	}
	tolerance, most := cmp.Or(opt.Tolerance, 1e-10), cmp.Or(opt.MaxIterations, max(100, 10*n))
	normB, expB := magnitude(b)
	normX, expX := magnitude(x)
	switch {
	case !finite(normB) || !finite(normX):
		return result, &NonFiniteError{method, 0}
	case normB == 0:
		clear(x)
		return progress{}, nil
	}
	v, solve, err := vectorsOf(ctx, a, opt.Preconditioner, x)
	if err != nil {
		return result, err
	}
	s := &system{Vectors: v, method: method, n: n, x: v.Load(x), b: v.Load(b), r: v.New(n), q: v.New(n), solve: solve, most: most, observe: opt.Observe, result: &result}
	defer func() { err = cmp.Or(err, v.Close(s.x)) }()

	// Products with b, scaled to a norm near 1, show how large A and M are. The scale of b is that of the
	// larger of b and A·x, and so of the first residual.
	times(v, -unit(expB), s.b, s.r)
	var ok bool
	if s.Vectors, s.expA, ok, err = probe(v, s.q, false, s.r, n, n); err != nil {
		return result, err
	} else if !ok {
		return result, &NonFiniteError{method, 0}
	}
	if solve != nil {
		var m Vectors
		if m, s.expM, ok, err = probe(inverse{v, solve}, s.q, false, s.r, n, n); err != nil {
			return result, err
		} else if !ok {
			return result, &NonFiniteError{method, 0}
		}
		s.solve = func(dst, r Vector) error { return m.MulVecTo(dst, false, r) }
	}
	if s.expB = expB; normX != 0 {
		s.expB = max(expB, expX+s.expA)
		s.begun = true
	}
	s.expB = unit(s.expB)
	if s.expB != 0 {
		b := v.New(n)
		times(v, -s.expB, s.b, b)
		s.b = b
	}
	s.normB = math.Ldexp(normB, expB-s.expB)
	s.want = math.Ldexp(tolerance*normB, expB-s.expB)
	if back := s.expB - s.expA; back != 0 {
		times(v, -back, s.x, s.x)
		defer func() {
			times(v, back, s.x, s.x)
			if norm, _, e := measure(v, s.x); err == nil && e == nil && !finite(norm) {
				err = &NonFiniteError{method, result.Iterations}
			}
		}()
	}
	err = iterate(s)
	return result, err
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

// note stores the norm of the residual in the result.
func (s *system) note(r float64) { s.result.Residual = math.Ldexp(r, s.expB) }

// observed calls Observe after an iteration.
func (s *system) observed() {
	if s.observe != nil {
		s.observe(s.result.Iterations, s.result.Residual)
	}
}

// outOfRange returns the error for numbers that are not finite.
func (s *system) outOfRange() error { return &NonFiniteError{s.method, s.result.Iterations} }

// unconverged returns the error for a residual that is still too large.
func (s *system) unconverged(reason string) error {
	return &ConvergenceError{s.method, s.result.Iterations, s.result.Residual, math.Ldexp(s.want, s.expB), reason}
}

// may returns the error of an iteration that must not begin: the end of ctx, or the limit of iterations.
func (s *system) may(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if s.result.Iterations == s.most {
		return s.unconverged("the limit of iterations")
	}
	return nil
}

// drifted returns the error after the last iteration if the residual that was updated is small enough, and
// the one that was computed from x is not.
func (s *system) drifted(updated float64) error {
	return s.unconverged(fmt.Sprintf("the limit of iterations; the recurrence has %.3g", math.Ldexp(updated, s.expB)))
}
