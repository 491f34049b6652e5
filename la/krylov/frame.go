package krylov

import (
	"cmp"
	"context"
	"math"

	"github.com/tessera-la/tessera/internal/problems"
)

// progress is what all methods report: see [CGResult].
type progress struct {
	Iterations int
	Residual   float64
}

// frame is what all methods begin and end with: vectors, A, b and x scaled as scale.go says, a limit of
// iterations, and errors.
type frame struct {
	Vectors
	method     string
	m, n       int // A is m×n
	x, b       Vector
	solve      func(dst, r Vector) error // dst = M⁻¹·r; nil without a preconditioner
	expA, expB int                       // A and b are scaled by 2^−expA and 2^−expB
	expX       int                       // x is scaled by 2^−expX
	normB      float64                   // ‖b‖
	want       float64                   // the norm of the residual at which the iteration ends; 0 if it is not the criterion
	most       int
	observe    func(int, float64)
	result     *progress
}

// checkOptions returns an *OptionsError if iterations is negative, or a value is negative or not finite.
// names names the values. bad is what was wrong before.
func checkOptions(bad problems.List, iterations int, names string, values ...float64) error {
	bad.Check(iterations >= 0, "MaxIterations is %d, want at least 0", iterations)
	for _, v := range values {
		bad.Check(v >= 0 && !math.IsInf(v, 1), "one of %s is %v, want at least 0, and finite", names, v)
	}
	if bad != nil {
		return &OptionsError{bad}
	}
	return nil
}

// within calls do with vectors for an iteration with a, and then brings x back. m may be nil.
func (f *frame) within(ctx context.Context, a Operator, m Preconditioner, x, b []float64, do func() error) (err error) {
	v, solve, err := vectorsOf(ctx, a, m, x)
	if err != nil {
		return err
	}
	f.Vectors, f.solve, f.x, f.b = v, solve, v.Load(x), v.Load(b)
	defer func() { err = cmp.Or(err, v.Close(f.x)) }()
	err = do()
	if f.expX != 0 {
		times(v, f.expX, f.x, f.x)
		if norm, _, e := measure(v, f.x); err == nil && e == nil && !finite(norm) {
			err = f.outOfRange()
		}
	}
	return err
}

// size chooses the scale of A by y = A·x, or Aᵀ·x if trans is set: see probe.
func (f *frame) size(y Vector, trans bool, x Vector) (err error) {
	f.Vectors, f.expA, err = f.probe(f.Vectors, y, trans, x, f.m, f.n)
	return err
}

// probe is the function probe, with an error if there is no scale.
func (f *frame) probe(s Vectors, y Vector, trans bool, x Vector, m, n int) (a Vectors, exp int, err error) {
	a, exp, ok, err := probe(s, y, trans, x, m, n)
	if err == nil && !ok {
		err = f.outOfRange()
	}
	if err != nil {
		return s, 0, err
	}
	return a, exp, nil
}

// note stores the norm of the residual in the result.
func (f *frame) note(r float64) { f.result.Residual = math.Ldexp(r, f.expB) }

// observed calls Observe after an iteration.
func (f *frame) observed() {
	if f.observe != nil {
		f.observe(f.result.Iterations, f.result.Residual)
	}
}

// outOfRange returns the error for numbers that are not finite.
func (f *frame) outOfRange() error { return &NonFiniteError{f.method, f.result.Iterations} }

// unconverged returns the error for a residual that is still too large.
func (f *frame) unconverged(reason string) error {
	return &ConvergenceError{f.method, f.result.Iterations, f.result.Residual, math.Ldexp(f.want, f.expB), reason}
}

// may returns the error of an iteration that must not begin: the end of ctx, or the limit of iterations.
func (f *frame) may(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if f.result.Iterations == f.most {
		return f.unconverged(limit)
	}
	return nil
}

const limit = "the limit of iterations"
