package krylov

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/la"
)

// Preconditioner is a matrix M that resembles A and is easily solved with. An iteration with M⁻¹·A needs fewer
// steps than one with A. Package la/csr has preconditioners for its matrices.
type Preconditioner interface {
	// Dims returns the order of M, twice.
	Dims() (m, n int)
	// SolveVecTo overwrites dst with M⁻¹·r. dst and r do not share memory. An error ends the iteration, which
	// returns it. M must be the same linear map in all calls of an iteration.
	SolveVecTo(ctx context.Context, dst, r []float64) error
}

// KeeperPreconditioner is a [Preconditioner] that also solves with the vectors of a [Keeper], where these are.
type KeeperPreconditioner interface {
	Preconditioner
	// On returns the function that computes dst = M⁻¹·r for vectors of v, or nil if M does not know v.
	On(v Vectors) func(dst, r Vector) error
}

// MemoryVectors is [Vectors] in the memory of this process. Every [Preconditioner] works with them.
type MemoryVectors interface {
	Vectors
	// Slice returns the elements of x.
	Slice(x Vector) []float64
}

// vectorsOf returns the vectors for an iteration with a: those of a if it is a Keeper, or else memory. m may
// be nil. Otherwise solve computes M⁻¹·r. If M does not work with the vectors of the Keeper, the iteration
// works in memory, with products of a as an [Operator].
func vectorsOf(ctx context.Context, a Operator, m Preconditioner, x []float64) (v Vectors, solve func(dst, r Vector) error, err error) {
	if k, ok := a.(Keeper); ok {
		if v, err = k.Vectors(ctx, a); err != nil {
			return nil, nil, err
		}
		if v != nil && m == nil {
			return v, nil, nil
		}
		if v != nil {
			if solve = on(ctx, v, m); solve != nil {
				return v, solve, nil
			}
			if err = v.Close(v.Load(x)); err != nil {
				return nil, nil, err
			}
		}
	}
	v = &memory{ctx: ctx, a: a}
	if m != nil {
		solve = on(ctx, v, m)
	}
	return v, solve, nil
}

// on returns the function that computes M⁻¹·r for vectors of v, or nil if M does not know v.
func on(ctx context.Context, v Vectors, m Preconditioner) func(dst, r Vector) error {
	if k, ok := m.(KeeperPreconditioner); ok {
		if solve := k.On(v); solve != nil {
			return solve
		}
	}
	if s, ok := v.(MemoryVectors); ok {
		return func(dst, r Vector) error { return m.SolveVecTo(ctx, s.Slice(dst), s.Slice(r)) }
	}
	return nil
}

// checkPreconditioner returns a *la.ShapeError if m is not of order n. m may be nil.
func checkPreconditioner(method string, m Preconditioner, n int) error {
	if m == nil {
		return nil
	}
	if rows, cols := m.Dims(); rows != n || cols != n {
		return &la.ShapeError{Op: method, Detail: fmt.Sprintf("A is %d×%d, and the preconditioner %d×%d", n, n, rows, cols)}
	}
	return nil
}

// inverse is [Vectors] whose products are those with M⁻¹.
type inverse struct {
	Vectors
	solve func(dst, r Vector) error
}

// MulVecTo implements [Vectors].
func (v inverse) MulVecTo(dst Vector, _ bool, r Vector) error { return v.solve(dst, r) }
