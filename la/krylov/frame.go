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

// frame is the part of an iteration that all methods share: the vectors, the powers of two by which scale.go
// scales A, b and x, the limit of iterations, and the errors.
type frame struct {
	Vectors
	method     string
	m, n       int // A is m×n
	x, b       Vector
	solve      func(dst, r Vector) error // dst = M⁻¹·r; nil without a preconditioner
	expA, expB int                       // A and b are scaled by 2^−expA and 2^−expB
	expX       int                       // x is scaled by 2^−expX
	normB      float64                   // ‖b‖
	target     float64                   // the iteration ends when ‖r‖ is at most this; 0 if it ends by another rule
	maxIter    int
	observe    func(int, float64)
	result     *progress
}

// checkOptions returns an *OptionsError if bad has problems, if iterations is negative, or if a value is negative
// or not finite. names lists the options that have the values.
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

// run makes the vectors for an iteration with a, calls iterate, and then overwrites x, scaled back, also if iterate
// has failed. m may be nil.
func (f *frame) run(ctx context.Context, a Operator, m Preconditioner, x, b []float64, iterate func() error) (err error) {
	v, solve, err := vectorsOf(ctx, a, m, x)
	if err != nil {
		return err
	}
	f.Vectors, f.solve, f.x, f.b = v, solve, v.Load(x), v.Load(b)
	defer func() { err = cmp.Or(err, v.Close(f.x)) }()
	err = iterate()
	if f.expX != 0 {
		times(v, f.expX, f.x, f.x)
		if norm, _, e := measure(v, f.x); err == nil && e == nil && !finite(norm) {
			err = f.outOfRange()
		}
	}
	return err
}

// scaleA chooses the scale of A, and computes y = A·x, or Aᵀ·x if trans is set: see probe.
func (f *frame) scaleA(y Vector, trans bool, x Vector) (err error) {
	f.Vectors, f.expA, err = f.probe(f.Vectors, y, trans, x)
	return err
}

// probe chooses the scale of A, or of M⁻¹: see inverse. It computes y = A·x, or Aᵀ·x if trans is set, for an x
// with a norm near 1, and takes exp from the norm of y. It returns vectors whose products are those with 2^−exp·A;
// y is such a product, too. If y is not finite at any scale, the error is a *NonFiniteError.
func (f *frame) probe(s Vectors, y Vector, trans bool, x Vector) (a Vectors, exp int, err error) {
	var t *scaled
	product := func(by int) (norm float64, exp int, err error) {
		if a = s; by != 0 {
			if t == nil {
				t = newScaled(s, f.m, f.n)
			}
			t.exp, a = by, t
		}
		if err = a.MulVecTo(y, trans, x); err != nil {
			return 0, 0, err
		}
		norm, exp, err = measure(a, y)
		norm, more := math.Frexp(norm)
		return norm, by + exp + more, err
	}
	norm, exp, err := product(0)
	switch { // a y that vanishes is in range for a larger A, and one that overflows for a smaller A
	case err != nil:
	case norm == 0:
		norm, exp, err = product(-1000)
	case !finite(norm):
		norm, exp, err = product(1000)
	}
	switch {
	case err != nil:
		return s, 0, err
	case !finite(norm):
		return s, 0, f.outOfRange()
	case norm == 0:
		return s, 0, nil // x is in the null space of A, or of Aᵀ
	}
	if exp = unit(exp); exp == 0 {
		return s, 0, nil
	}
	_, _, err = product(exp)
	return a, exp, err
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
	return &ConvergenceError{f.method, f.result.Iterations, f.result.Residual, math.Ldexp(f.target, f.expB), reason}
}

// checkLimits returns the cause of the end of ctx, or the error that all allowed iterations are done.
func (f *frame) checkLimits(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if f.result.Iterations == f.maxIter {
		return f.unconverged(limitReason)
	}
	return nil
}

// limitReason is the reason of a ConvergenceError after the last allowed iteration.
const limitReason = "the limit of iterations"
