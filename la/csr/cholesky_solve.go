package csr

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// SolveVecTo solves A·x = b, dst = x, where dst and b have n elements. dst may be b.
//
// The error is an *[la.ShapeError]; an *[la.OverflowError] if b is finite and the solution is not; the cause of the
// context's end; or [exec.ErrClosed] for a large factor whose runtime has ended. dst is then unchanged. SolveVecTo panics
// with [ErrNotFactorized] if there is no factorization.
func (f *Cholesky[T]) SolveVecTo(ctx context.Context, dst, b []T) error {
	f.check()
	n := f.pattern.N()
	if len(dst) != n || len(b) != n {
		return &la.ShapeError{Op: "SolveVecTo", Detail: fmt.Sprintf("A is %d×%d, b has %d elements and dst %d", n, n, len(b), len(dst))}
	}
	return f.solveTo(ctx, la.General[T]{Rows: n, Cols: 1, Stride: 1, Data: dst}, la.General[T]{Rows: n, Cols: 1, Stride: 1, Data: b})
}

// SolveTo solves A·X = B, dst = X, where B is n×nrhs. dst may be b; an empty *mat.Dense takes the shape of b.
//
// The error is that of SolveVecTo. It leaves dst unchanged, except for its shape.
func (f *Cholesky[T]) SolveTo(ctx context.Context, dst la.Sink[T], b la.Source[T]) error {
	f.check()
	n := f.pattern.N()
	rows, nrhs := b.Dims()
	if rows != n {
		return &la.ShapeError{Op: "SolveTo", Detail: fmt.Sprintf("A is %d×%d and b %d×%d", n, n, rows, nrhs)}
	}
	if d, ok := any(dst).(*mat.Dense); ok && d.IsEmpty() && n > 0 && nrhs > 0 {
		d.ReuseAs(n, nrhs)
	}
	if r, c := dst.Dims(); r != n || c != nrhs {
		return &la.ShapeError{Op: "SolveTo", Detail: fmt.Sprintf("the solution is %d×%d and dst %d×%d", n, nrhs, r, c)}
	}
	return f.solveTo(ctx, dst, b)
}

// solveTo is SolveTo for operands whose shapes fit.
func (f *Cholesky[T]) solveTo(ctx context.Context, dst la.Sink[T], b la.Source[T]) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	n, nrhs := b.Dims()
	order, inverse := f.factor.permutation()
	x, scale := make([]T, n*nrhs), math.Ldexp(1, -f.exp)
	finite := true
	for k, i := range order {
		for j := range nrhs {
			v := b.At(int(i), j)
			finite = finite && v-v == 0
			x[k*nrhs+j] = v
		}
	}
	if err := f.factor.solve(ctx, f.rt, x, nrhs); err != nil {
		return err
	}
	for k, v := range x {
		if f.exp != 0 {
			v = T(float64(v) * scale)
			x[k] = v
		}
	}
	if finite {
		for i, k := range inverse {
			for j := range nrhs {
				if v := x[int(k)*nrhs+j]; v-v != 0 {
					return &la.OverflowError{Row: i, Col: j}
				}
			}
		}
	}
	for k, i := range order {
		for j := range nrhs {
			dst.Set(int(i), j, x[k*nrhs+j])
		}
	}
	return nil
}
