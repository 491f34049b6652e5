package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"gonum.org/v1/gonum/blas"
)

// FactorizeInPlace is [Cholesky.Factorize] in the tiles of a, of kind SymUpper and of any tile
// size. The tiles become the factorization's; the program must not use them before c is reset or
// makes another factorization. So no second matrix is needed, and a distributed one
// (blocked.Distributed) stays on its nodes.
//
// The error is that of Factorize, or a *ShapeError if a is of another kind. a is unchanged after
// a *ShapeError or a *NonFiniteError, and undefined after any other error.
func (c *Cholesky[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	c.clear()
	if a.Kind() != blocked.SymUpper {
		return &ShapeError{"FactorizeInPlace", fmt.Sprintf("a is %v, want a SymUpper", a.Kind())}
	}
	r, err := measured(ctx, c.engine, a)
	if err != nil {
		return err
	}
	exp, r, err := scaleInPlace(ctx, c.engine, a, r)
	if err != nil {
		return err
	}
	err = c.decompose(ctx, c.engine, r)
	c.spare, c.exp = nil, exp // it is the caller's
	return err
}

// SolveInPlace overwrites B, Full and in the tile size of the factorization, with the solution of
// A·X = B. A distributed B stays on its nodes.
//
// The error is that of [Cholesky.SolveTo] without the *OverflowError. B is then undefined, or
// after a mat.Condition a solution whose digits may all be wrong. It panics as SolveTo does.
func (c *Cholesky[T]) SolveInPlace(ctx context.Context, b *blocked.Matrix[T]) error {
	c.valid()
	if err := solvable("SolveInPlace", c.u, b); err != nil {
		return err
	}
	if err := withScaledColumns(ctx, c.engine, b, c.exp, func() error {
		return c.solve(ctx, c.engine, b)
	}); err != nil {
		return err
	}
	return c.conditionError(ctx)
}

// FactorizeInPlace is [LU.Factorize] in the tiles of a, of kind Full, as
// [Cholesky.FactorizeInPlace]. After a *BreakdownError it cannot fall back to partial pivoting,
// as A is overwritten.
func (f *LU[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	f.clear()
	if a.Kind() != blocked.Full {
		return &ShapeError{"FactorizeInPlace", fmt.Sprintf("a is %v, want a Full one", a.Kind())}
	}
	r, err := measured(ctx, f.engine, a)
	if err != nil {
		return err
	}
	exp, r, err := scaleInPlace(ctx, f.engine, a, r)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	pivots := lu.NewPivots(m, n, a.NB())
	if err := f.factorize(ctx, r, pivots, f.opt.Pivoting); err != nil {
		return err
	}
	if err := f.broken(ctx, a, pivots, f.opt.Pivoting, r.stats.Max); err != nil {
		return err
	}
	f.lu, f.pivots, f.pivoting, f.norm, f.exp, f.top = a, pivots, f.opt.Pivoting, newNorms(r.stats.Columns), exp,
		r.stats.Max
	return f.singular()
}

// SolveInPlace overwrites B, Full and in the tile size of the factorization, with the solution of
// A·X = B, or of Aᵀ·X = B if trans, as [Cholesky.SolveInPlace]. A *SingularError leaves B
// unchanged.
func (f *LU[T]) SolveInPlace(ctx context.Context, trans bool, b *blocked.Matrix[T]) error {
	f.order()
	if err := solvable("SolveInPlace", f.lu, b); err != nil {
		return err
	}
	if err := f.singular(); err != nil {
		return err
	}
	if err := withScaledColumns(ctx, f.engine, b, f.exp, func() error {
		return f.solve(ctx, transposition(trans), b)
	}); err != nil {
		return err
	}
	return f.conditionError(ctx)
}

// FactorizeInPlace is [QR.Factorize] in the tiles of a, of kind Full, as
// [Cholesky.FactorizeInPlace]. For a variant other than CompactQR the error is a *ShapeError.
func (q *QR[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	q.clear()
	if a.Kind() != blocked.Full || q.opt.Variant != CompactQR {
		return &ShapeError{"FactorizeInPlace",
			fmt.Sprintf("a is %v, the variant %v, want a Full one and CompactQR", a.Kind(), q.opt.Variant)}
	}
	r, err := measured(ctx, q.engine, a)
	if err != nil {
		return err
	}
	exp, r, err := scaleInPlace(ctx, q.engine, a, r)
	if err != nil {
		return err
	}
	rotations, err := qr.RotationsFor(a, q.opt.rotations(q.engine))
	if err != nil {
		return err
	}
	f := &qrFactors[T]{a: a, rotations: rotations}
	if err := f.factorize(ctx, q.engine, r); err != nil {
		return err
	}
	f.exp, q.f = exp, f
	return nil
}

// SolveInPlace solves A·X = B, or min ‖B − A·X‖₂ by columns if A is higher than wide. B and X are
// Full and in the tile size of the factorization. It overwrites B, m×nrhs, with Qᵀ·B, whose rows
// below row n have the norms of the residuals. X is n×nrhs, and may be B if A is square.
// Distributed matrices stay on their nodes.
//
// The error is that of [QR.SolveTo], or a *ShapeError if A is wider than high. B and X are then
// undefined, or after a mat.Condition X is a solution whose digits may all be wrong. It panics as
// SolveTo does.
//
// Reference: LAPACK xGELS.
func (q *QR[T]) SolveInPlace(ctx context.Context, b, x *blocked.Matrix[T]) error {
	q.valid()
	f := q.f
	m, n := f.a.Dims()
	nb := f.a.NB()
	rows, nrhs := b.Dims()
	height, width := x.Dims()
	if b.Kind() != blocked.Full || x.Kind() != blocked.Full || rows != m || height != n || width != nrhs ||
		b.NB() != nb || x.NB() != nb || m < n {
		return &ShapeError{"SolveInPlace",
			fmt.Sprintf("A is %d×%d in tiles of %d, B %v, %d×%d in tiles of %d, X %v, %d×%d in tiles of %d", m, n,
				nb, b.Kind(), rows, nrhs, b.NB(), x.Kind(), height, width, x.NB())}
	}
	if n == 0 || nrhs == 0 {
		return q.engine.ready(ctx)
	}
	if err := triangleError(f.a, f.order()); err != nil {
		return err
	}
	r, end, err := f.triangle(ctx, q.engine)
	if err != nil {
		return err
	}
	defer end()
	power, err := scaleRightSide(ctx, q.engine, b, f.exp)
	if err != nil {
		return err
	}
	err = Run(ctx, q.engine, func(p *blocked.Program[T]) error {
		err := qr.Ormqr(p, blas.Left, blas.Trans, f.a, f.rotations, b)
		if err == nil && x != b {
			err = p.CopyLeading(b, x)
		}
		if err == nil {
			err = p.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 1, r, x)
		}
		return err
	})
	if x != b {
		err = rescale(ctx, q.engine, b, -power, err)
	}
	if err = rescale(ctx, q.engine, x, -power-f.exp, err); err != nil {
		return err
	}
	return f.conditionError(ctx, q.engine)
}

// solvable returns a *ShapeError of op unless b is a right-hand side for a in the same tile size.
func solvable[T Element](op string, a, b *blocked.Matrix[T]) error {
	n, _ := a.Dims()
	if m, nrhs := b.Dims(); b.Kind() != blocked.Full || m != n || b.NB() != a.NB() {
		return &ShapeError{op, fmt.Sprintf("A is %d×%d in tiles of %d, B %v, %d×%d in tiles of %d", n, n, a.NB(),
			b.Kind(), m, nrhs, b.NB())}
	}
	return nil
}
