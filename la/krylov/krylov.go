package krylov

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la"
)

// Operator is a linear map A from vectors of n elements to vectors of m elements.
type Operator interface {
	// Dims returns m and n.
	Dims() (m, n int)
	// MulVecTo overwrites dst with A·x, or with Aᵀ·x if trans is set. dst and x do
	// not share memory. An error ends the iteration, which returns it.
	MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error
}

// Keeper is an [Operator] that itself stores the vectors of an iteration. A csr.Distributed stores them on
// its nodes. The methods give it b and x at the beginning, get x at the end, and meanwhile exchange only
// numbers with it. If the Keeper fails, x may be unchanged, or zeros after LSQR.
type Keeper interface {
	Operator
	// Vectors returns room for the vectors of an iteration with a. It returns nil if a is not this
	// operator but one that embeds it, since the products of a may be others. After the end of ctx the
	// vectors can be used until x has been brought back.
	Vectors(ctx context.Context, a Operator) (Vectors, error)
}

// Vector is the number of a vector in [Vectors].
type Vector int

// Vectors is the vectors of an iteration, which a [Keeper] stores. They have as many elements as the
// operator has rows or columns. If a method without an error result fails, the next call of a method with
// one returns the error.
//
// If the products have the same bits as in memory, so has the result of a method: package internal/vector does
// all other operations on vectors.
type Vectors interface {
	// New makes a vector of n elements; n is the number of rows or of columns. The caller writes the
	// vector before it reads it.
	New(n int) Vector
	// Load makes a copy of x. The caller does not write x before Close.
	Load(x []float64) Vector
	// MulVecTo computes dst = A·x, or dst = Aᵀ·x if trans is set.
	MulVecTo(dst Vector, trans bool, x Vector) error
	// Axpby computes y = αx + βy. It does not read y if β is 0. y may be x.
	Axpby(alpha float64, x Vector, beta float64, y Vector)
	// Dot returns (scale·x)ᵀ·(scale·y).
	Dot(x, y Vector, scale float64) (float64, error)
	// Close copies x to the slice that it was loaded from, and forgets all vectors.
	Close(x Vector) error
}

// FusedVectors is [Vectors] that do two operations in one pass over memory. The results have the bits of the
// two operations one after the other.
type FusedVectors interface {
	Vectors
	// MulVecDot computes dst = A·x and returns xᵀ·dst.
	MulVecDot(dst, x Vector) (float64, error)
	// AxpbyDot computes y = αx + βy and returns yᵀ·z. z may be y.
	AxpbyDot(alpha float64, x Vector, beta float64, y, z Vector) (float64, error)
}

// ConvergenceError reports an iteration that has ended without a solution. x is that of the last iteration.
type ConvergenceError struct {
	Method     string
	Iterations int
	Residual   float64 // ‖b − A·x‖; after LSQR with damping, that of the extended system
	Want       float64 // the residual at which the iteration would have ended; 0 if it is not the criterion
	Reason     string
}

func (e *ConvergenceError) Error() string {
	if e.Want > 0 {
		return fmt.Sprintf("krylov: %s has not converged after %d iterations: %s; the residual is %.3g, want %.3g", e.Method, e.Iterations, e.Reason, e.Residual, e.Want)
	}
	return fmt.Sprintf("krylov: %s has not converged after %d iterations: %s; the residual is %.3g", e.Method, e.Iterations, e.Reason, e.Residual)
}

// IndefiniteError reports that the matrix of CG is not positive definite: CG has found a direction p ≠ 0
// for which pᵀ·A·p ≤ 0. If Preconditioner is set, CG or MINRES has found the same of M⁻¹ for a residual.
type IndefiniteError struct {
	Iteration      int
	Curvature      float64 // pᵀ·A·p / ‖p‖², or rᵀ·M⁻¹·r / ‖r‖²
	Preconditioner bool
	Method         string
}

func (e *IndefiniteError) Error() string {
	what := "matrix"
	if e.Preconditioner {
		what = "preconditioner"
	}
	return fmt.Sprintf("krylov: %s: the %s is not positive definite: iteration %d has found a curvature of %.3g", e.Method, what, e.Iteration, e.Curvature)
}

// BreakdownError reports an iteration that has found no way on from its x, with any larger number of iterations.
type BreakdownError struct {
	Method    string
	Iteration int
	Residual  float64 // ‖b − A·x‖
	Reason    string
}

func (e *BreakdownError) Error() string {
	return fmt.Sprintf("krylov: %s: breakdown in iteration %d, with a residual of %.3g: %s", e.Method, e.Iteration, e.Residual, e.Reason)
}

// NonFiniteError reports a number out of range: an infinity or a NaN in b or the initial x (Iteration 0), or in a
// product with a finite vector, or in one with the preconditioner; squares that overflow or vanish; or a solution with
// elements that overflow.
type NonFiniteError struct {
	Method    string
	Iteration int
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("krylov: %s: iteration %d has met an infinity, a NaN, or squares out of range", e.Method, e.Iteration)
}

// OptionsError lists the options with values out of range.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string { return problems.InvalidOptions("krylov", e.Problems) }

// Error is the type of the constant [ErrOverlap].
type Error string

func (e Error) Error() string { return string(e) }

// ErrOverlap is the panic of the methods if x and b begin at the same element.
const ErrOverlap Error = "krylov: x and b are the same vector"

// checkShapes returns a *la.ShapeError if b or x does not fit the operator. It panics with [ErrOverlap] if
// they begin at the same element.
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
