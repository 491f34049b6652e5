package krylov

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/la"
)

// Operator is a linear map from vectors of n elements to vectors of m.
type Operator interface {
	// Dims returns m and n.
	Dims() (m, n int)
	// MulVecTo overwrites dst with A·x, or with Aᵀ·x if trans is set. The two do not
	// share memory. An error ends the iteration, which returns it.
	MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error
}

// ConvergenceError reports an iteration that has ended without a solution. Its x is the best
// that there is.
type ConvergenceError struct {
	Method     string
	Iterations int
	Residual   float64 // ‖b − A·x‖, of LSQR with damping that of the extended system
	Want       float64 // what the residual was to be at most; 0 if something else ended it
	Reason     string
}

func (e *ConvergenceError) Error() string {
	if e.Want > 0 {
		return fmt.Sprintf("krylov: %s has not converged after %d iterations: %s; the residual is %.3g, want %.3g", e.Method, e.Iterations, e.Reason, e.Residual, e.Want)
	}
	return fmt.Sprintf("krylov: %s has not converged after %d iterations: %s; the residual is %.3g", e.Method, e.Iterations, e.Reason, e.Residual)
}

// IndefiniteError reports a matrix that CG has found not to be positive definite: for a
// direction p that is not zero pᵀ·A·p is not positive.
type IndefiniteError struct {
	Iteration int
	Curvature float64 // pᵀ·A·p / ‖p‖²
}

func (e *IndefiniteError) Error() string {
	return fmt.Sprintf("krylov: CG: the matrix is not positive definite: iteration %d has found a curvature of %.3g", e.Iteration, e.Curvature)
}

// NonFiniteError reports a number out of range: an infinity or a NaN in b or the first x
// (Iteration 0), or in what the operator has made of finite vectors, or squares that overflow or
// vanish.
type NonFiniteError struct {
	Method    string
	Iteration int
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("krylov: %s: iteration %d has met an infinity, a NaN, or squares out of range", e.Method, e.Iteration)
}

// OptionsError reports an option that makes no sense.
type OptionsError struct{ Problem string }

func (e *OptionsError) Error() string { return "krylov: invalid options: " + e.Problem }

// checkOptions returns what is wrong with options: tolerances are finite and not negative.
func checkOptions(iterations int, names string, values ...float64) error {
	if iterations < 0 {
		return &OptionsError{fmt.Sprintf("MaxIterations is %d, want at least 0", iterations)}
	}
	for _, v := range values {
		if !(v >= 0) || math.IsInf(v, 1) {
			return &OptionsError{fmt.Sprintf("one of %s is %v, want at least 0, and finite", names, v)}
		}
	}
	return nil
}

// checkShapes returns a *la.ShapeError unless b and x fit the operator.
func checkShapes(method string, a Operator, x, b []float64) error {
	if m, n := a.Dims(); len(x) != n || len(b) != m {
		return &la.ShapeError{Op: method, Detail: fmt.Sprintf("A is %d×%d, x has %d elements and b %d", m, n, len(x), len(b))}
	}
	return nil
}

// dot returns xᵀ·y.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s0 += x[i] * y[i]
		s1 += x[i+1] * y[i+1]
		s2 += x[i+2] * y[i+2]
		s3 += x[i+3] * y[i+3]
	}
	for ; i < len(x); i++ {
		s0 += x[i] * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// norm returns ‖x‖, scaled where the sum of squares overflows or nearly vanishes.
func norm(x []float64) float64 {
	if s := dot(x, x); s > 0x1p-900 && s < 0x1p1000 {
		return math.Sqrt(s)
	}
	top := 0.0
	for _, v := range x {
		if math.IsNaN(v) {
			return v
		}
		top = max(top, math.Abs(v))
	}
	if top == 0 || math.IsInf(top, 1) {
		return top
	}
	s := 0.0
	for _, v := range x {
		s += v / top * (v / top)
	}
	return top * math.Sqrt(s)
}

// axpy adds alpha·x to y.
func axpy(alpha float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

// scale multiplies x by alpha.
func scale(alpha float64, x []float64) {
	for i := range x {
		x[i] *= alpha
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
