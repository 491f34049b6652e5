package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
)

// FactorizeInPlace is [Cholesky.Factorize] in the tiles of a, of kind SymUpper, which
// become the factorization's and must not be used otherwise before c is reset or makes
// another one: no second matrix is needed, and a distributed one (blocked.Distributed) stays
// on the nodes where it is. Its tile size is that of a.
//
// The error is that of Factorize, or a *ShapeError if a is of another kind; then a is as it
// was. After other errors, but for a *NonFiniteError, a is undefined.
func (c *Cholesky[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	c.u, c.spare, c.norm = nil, nil, 0
	if a.Kind() != blocked.SymUpper {
		return &ShapeError{"FactorizeInPlace", fmt.Sprintf("a is %v, want a SymUpper", a.Kind())}
	}
	r, err := measured(ctx, c.engine, a)
	if err != nil {
		return err
	}
	err = c.decompose(ctx, c.engine, r)
	c.spare = nil // it is the caller's
	return err
}

// SolveInPlace overwrites B, Full and in tiles of the size that the factorization has, with
// the solution of A·X = B. With a distributed B the solution stays on the nodes.
//
// The error is that of [Cholesky.SolveTo]; B is then undefined, or after a mat.Condition a
// solution whose digits may all be wrong. It panics as SolveTo does.
func (c *Cholesky[T]) SolveInPlace(ctx context.Context, b *blocked.Matrix[T]) error {
	c.valid()
	if err := solvable(c.u, b); err != nil {
		return err
	}
	if err := c.solve(ctx, c.engine, b); err != nil {
		return err
	}
	return c.conditionError()
}

// FactorizeInPlace is [LU.Factorize] in the tiles of a, of kind Full, as
// [Cholesky.FactorizeInPlace]. There is no falling back to partial pivoting after a
// *BreakdownError: A is not there any more.
func (f *LU[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	f.lu, f.pivots, f.norm, f.top, f.pivoting, f.spare, f.sparePivots = nil, nil, 0, 0, 0, nil, nil
	if a.Kind() != blocked.Full {
		return &ShapeError{"FactorizeInPlace", fmt.Sprintf("a is %v, want a Full one", a.Kind())}
	}
	r, err := measured(ctx, f.engine, a)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	pivots := blocked.NewPivots(m, n, a.NB())
	if err := f.factorize(ctx, r, pivots, f.opt.Pivoting); err != nil {
		return err
	}
	if err := f.broken(a, pivots, f.opt.Pivoting, r.stats.Max); err != nil {
		return err
	}
	f.lu, f.pivots, f.pivoting, f.norm, f.top = a, pivots, f.opt.Pivoting, r.stats.Norm, r.stats.Max
	return f.singular()
}

// SolveInPlace overwrites B, Full and in tiles of the size that the factorization has, with
// the solution of A·X = B, or Aᵀ·X = B if trans, as [Cholesky.SolveInPlace]. If U has a zero
// on its diagonal, B is as it was.
func (f *LU[T]) SolveInPlace(ctx context.Context, trans bool, b *blocked.Matrix[T]) error {
	f.order()
	if err := solvable(f.lu, b); err != nil {
		return err
	}
	if err := f.singular(); err != nil {
		return err
	}
	if err := f.solve(ctx, transpose(trans), b); err != nil {
		return err
	}
	return f.conditionError()
}

// FactorizeInPlace is [QR.Factorize] in the tiles of a, of kind Full, as
// [Cholesky.FactorizeInPlace]. The variant is CompactQR; another one is a *ShapeError.
func (q *QR[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	q.f, q.wide, q.spare = nil, nil, nil
	if a.Kind() != blocked.Full || q.opt.Variant != CompactQR {
		return &ShapeError{"FactorizeInPlace", fmt.Sprintf("a is %v, the variant %v, want a Full one and CompactQR", a.Kind(), q.opt.Variant)}
	}
	r, err := measured(ctx, q.engine, a)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	f := &qrFactors[T]{a: a, rotations: blocked.NewRotations[T](m, n, a.NB(), q.opt.rotations(q.engine))}
	if err := f.factorize(ctx, q.engine, r); err != nil {
		return err
	}
	q.f, q.top = f, r.stats.Max
	return nil
}

// Norm1 returns the 1-norm of a, the largest sum of the magnitudes of a column, computed by
// tasks: of a distributed matrix where its tiles are. It is NaN if there is a NaN in a. The
// error is an *exec.TaskError, or that of the engine.
//
// Reference: LAPACK xLANGE, xLANSY, xLANTR.
func Norm1[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (float64, error) {
	s, err := sums(ctx, e, a)
	if err != nil {
		return 0, err
	}
	return s.Norm1(), nil
}

func sums[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (s *blocked.Sums[T], err error) {
	mt, nt := a.Tiles()
	err = run(ctx, e, mt*nt, func(p *blocked.Program[T]) error {
		s, err = p.Asum(a)
		return err
	})
	return s, err
}

// measured returns a as a matrix that was read: what is to be known of it, its tiles
// tell.
func measured[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (*reading[T], error) {
	s, err := sums(ctx, e, a)
	if err != nil {
		return nil, err
	}
	r := &reading[T]{a: a, stats: blocked.Stats{Norm: s.Norm1(), Max: s.Max()}}
	if norm := r.stats.Norm; norm-norm != 0 {
		r.stats.Row, r.stats.Col, r.stats.NonFinite = s.NonFinite()
	}
	return r, r.refused()
}

// solvable returns a *ShapeError if b is no right-hand side in tiles of those of a.
func solvable[T Element](a, b *blocked.Matrix[T]) error {
	n, _ := a.Dims()
	if m, nrhs := b.Dims(); b.Kind() != blocked.Full || m != n || b.NB() != a.NB() {
		return &ShapeError{"SolveInPlace", fmt.Sprintf("A is %d×%d in tiles of %d, B %v, %d×%d in tiles of %d", n, n, a.NB(), b.Kind(), m, nrhs, b.NB())}
	}
	return nil
}

// distributed returns the tile size of the first of some matrices that is distributed, 0 if
// none is: then tasks work on it as it is.
func distributed[T Element](all ...Source[T]) int {
	for _, a := range all {
		if m, ok := a.(*blocked.Matrix[T]); ok && m.IsDistributed() {
			return m.NB()
		}
	}
	return 0
}
