package krylov

import (
	"context"
	"fmt"
	"math"
	"strings"

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

// Keeper is an [Operator] that keeps the vectors of an iteration itself, as a csr.Distributed does on
// its nodes: [CG] and [LSQR] then hand it b and x at the beginning, take x at the end, and exchange
// only numbers with it meanwhile. If it fails, x may be as it was, or, after LSQR, zeros.
type Keeper interface {
	Operator
	// Vectors makes room for the vectors of an iteration with a: nil if a is not this operator, but
	// one that embeds it, whose products are others. After the context's end they can be used for as
	// long as it takes to bring x back.
	Vectors(ctx context.Context, a Operator) (Vectors, error)
}

// Vector is a vector of [Vectors], by its number.
type Vector int

// Vectors is vectors that a [Keeper] keeps, of as many elements as it has rows or columns. Methods
// without an error report theirs at the next call that has one.
//
// The bits of [CG] are those of vectors in memory if those of the products are: what else is done
// to vectors is done by internal/vector.
type Vectors interface {
	// New makes a vector of n elements, as many as there are rows or columns. It is written before it is
	// read.
	New(n int) Vector
	// Load makes a copy of x, which is not written before Close.
	Load(x []float64) Vector
	// MulVecTo computes dst = A·x, or dst = Aᵀ·x if trans is set.
	MulVecTo(dst Vector, trans bool, x Vector) error
	// Axpby computes y = αx + βy. If β is 0 y is not read. It may be x.
	Axpby(alpha float64, x Vector, beta float64, y Vector)
	// Dot returns the sum of the products of the elements of scale·x and scale·y.
	Dot(x, y Vector, scale float64) (float64, error)
	// Close copies x to the slice that it was loaded from, and forgets all vectors.
	Close(x Vector) error
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
// (Iteration 0), or in what the operator has made of finite vectors; squares that overflow or
// vanish; a solution with elements that overflow.
type NonFiniteError struct {
	Method    string
	Iteration int
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("krylov: %s: iteration %d has met an infinity, a NaN, or squares out of range", e.Method, e.Iteration)
}

// OptionsError lists the options that make no sense.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string {
	return "krylov: invalid options: " + strings.Join(e.Problems, "; ")
}

// checkOptions returns what is wrong with options: tolerances are finite and not negative.
func checkOptions(iterations int, names string, values ...float64) error {
	var bad []string
	if iterations < 0 {
		bad = append(bad, fmt.Sprintf("MaxIterations is %d, want at least 0", iterations))
	}
	for _, v := range values {
		if !(v >= 0) || math.IsInf(v, 1) {
			bad = append(bad, fmt.Sprintf("one of %s is %v, want at least 0, and finite", names, v))
		}
	}
	if bad != nil {
		return &OptionsError{bad}
	}
	return nil
}

// Error is the type of the constant that misuse panics with.
type Error string

func (e Error) Error() string { return string(e) }

// ErrOverlap is the panic of [CG] and [LSQR] if x and b begin at the same element.
const ErrOverlap Error = "krylov: x and b are the same vector"

// checkShapes returns a *la.ShapeError unless b and x fit the operator. It panics with [ErrOverlap].
func checkShapes(method string, a Operator, x, b []float64) error {
	if m, n := a.Dims(); len(x) != n || len(b) != m {
		return &la.ShapeError{Op: method, Detail: fmt.Sprintf("A is %d×%d, x has %d elements and b %d", m, n, len(x), len(b))}
	}
	if len(x) > 0 && len(b) > 0 && &x[0] == &b[0] {
		panic(ErrOverlap)
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
