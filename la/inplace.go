package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// FactorizeInPlace is [Cholesky.Factorize] in the tiles of a, of kind SymUpper, which
// become the factorization's and must not be used otherwise before c is reset or makes
// another one: no second matrix is needed, and a distributed one (blocked.Distributed) stays
// on the nodes where it is. Its tile size is that of a.
//
// The error is that of Factorize, or a *ShapeError if a is of another kind; then a is as it
// was. After other errors, but for a *NonFiniteError, a is undefined.
func (c *Cholesky[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	c.u, c.spare, c.norm, c.exp = nil, nil, norms{}, 0
	if a.Kind() != blocked.SymUpper {
		return &ShapeError{"FactorizeInPlace", fmt.Sprintf("a is %v, want a SymUpper", a.Kind())}
	}
	r, err := measured(ctx, c.engine, a)
	if err != nil {
		return err
	}
	exp, r, err := moderateInPlace(ctx, c.engine, a, r)
	if err != nil {
		return err
	}
	err = c.decompose(ctx, c.engine, r)
	c.spare, c.exp = nil, exp // it is the caller's
	return err
}

// SolveInPlace overwrites B, Full and in tiles of the size that the factorization has, with
// the solution of A·X = B. With a distributed B the solution stays on the nodes.
//
// The error is that of [Cholesky.SolveTo], but that nobody looks for a solution that
// overflows; B is then undefined, or after a mat.Condition a
// solution whose digits may all be wrong. It panics as SolveTo does.
func (c *Cholesky[T]) SolveInPlace(ctx context.Context, b *blocked.Matrix[T]) error {
	c.valid()
	if err := solvable("SolveInPlace", c.u, b); err != nil {
		return err
	}
	if err := moderately(ctx, c.engine, b, c.exp, func() error { return c.solve(ctx, c.engine, b) }); err != nil {
		return err
	}
	return c.conditionError(ctx)
}

// FactorizeInPlace is [LU.Factorize] in the tiles of a, of kind Full, as
// [Cholesky.FactorizeInPlace]. There is no falling back to partial pivoting after a
// *BreakdownError: A is not there any more.
func (f *LU[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	f.lu, f.pivots, f.norm, f.exp, f.top, f.pivoting, f.spare, f.sparePivots = nil, nil, norms{}, 0, 0, 0, nil, nil
	if a.Kind() != blocked.Full {
		return &ShapeError{"FactorizeInPlace", fmt.Sprintf("a is %v, want a Full one", a.Kind())}
	}
	r, err := measured(ctx, f.engine, a)
	if err != nil {
		return err
	}
	exp, r, err := moderateInPlace(ctx, f.engine, a, r)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	pivots := blocked.NewPivots(m, n, a.NB())
	if err := f.factorize(ctx, r, pivots, f.opt.Pivoting); err != nil {
		return err
	}
	if err := f.broken(ctx, a, pivots, f.opt.Pivoting, r.stats.Max); err != nil {
		return err
	}
	f.lu, f.pivots, f.pivoting, f.norm, f.exp, f.top = a, pivots, f.opt.Pivoting, newNorms(r.stats.Columns), exp, r.stats.Max
	return f.singular()
}

// SolveInPlace overwrites B, Full and in tiles of the size that the factorization has, with
// the solution of A·X = B, or Aᵀ·X = B if trans, as [Cholesky.SolveInPlace]. If U has a zero
// on its diagonal, B is as it was.
func (f *LU[T]) SolveInPlace(ctx context.Context, trans bool, b *blocked.Matrix[T]) error {
	f.order()
	if err := solvable("SolveInPlace", f.lu, b); err != nil {
		return err
	}
	if err := f.singular(); err != nil {
		return err
	}
	if err := moderately(ctx, f.engine, b, f.exp, func() error { return f.solve(ctx, transpose(trans), b) }); err != nil {
		return err
	}
	return f.conditionError(ctx)
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
	exp, r, err := moderateInPlace(ctx, q.engine, a, r)
	if err != nil {
		return err
	}
	rotations, err := blocked.RotationsFor(a, q.opt.rotations(q.engine))
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

// SolveInPlace solves A·X = B, or min ‖B − A·X‖₂ by columns if A is higher than wide, with B
// and X Full and in tiles of the size that the factorization has. B, m×nrhs, is overwritten
// with Qᵀ·B, of which what lies below row n is as long as the residual; X is n×nrhs, and may
// be B if A is square. With distributed matrices all stays on the nodes.
//
// The error is that of [QR.SolveTo], or a *ShapeError if A is wider than high; B and X are
// then undefined, or after a mat.Condition X is a solution whose digits may all be wrong. It
// panics as SolveTo does.
//
// Reference: LAPACK xGELS.
func (q *QR[T]) SolveInPlace(ctx context.Context, b, x *blocked.Matrix[T]) error {
	q.valid()
	f := q.f
	m, n := f.a.Dims()
	nb := f.a.NB()
	rows, nrhs := b.Dims()
	height, width := x.Dims()
	if b.Kind() != blocked.Full || x.Kind() != blocked.Full || rows != m || height != n || width != nrhs || b.NB() != nb || x.NB() != nb || m < n {
		return &ShapeError{"SolveInPlace", fmt.Sprintf("A is %d×%d in tiles of %d, B %v, %d×%d in tiles of %d, X %v, %d×%d in tiles of %d", m, n, nb, b.Kind(), rows, nrhs, b.NB(), x.Kind(), height, width, x.NB())}
	}
	if n == 0 || nrhs == 0 {
		return q.engine.ready(ctx)
	}
	if err := undivided(f.a, f.order()); err != nil {
		return err
	}
	r, end, err := f.triangle(ctx, q.engine)
	if err != nil {
		return err
	}
	defer end()
	power, err := balance(ctx, q.engine, b, f.exp)
	if err != nil {
		return err
	}
	err = run(ctx, q.engine, func(p *blocked.Program[T]) error {
		err := p.Ormqr(blas.Left, blas.Trans, f.a, f.rotations, b)
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

// NormInPlace returns a norm of a as [Norm] does, computed by tasks: of a distributed matrix
// where its tiles are. Sums of columns and rows are of a tile's in T, and of those in float64.
// The error is an *exec.TaskError, or that of the engine. It panics as Norm does.
//
// Reference: LAPACK xLANGE, xLANSY, xLANTR.
func NormInPlace[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T], norm lapack.MatrixNorm) (float64, error) {
	switch norm {
	case lapack.Frobenius:
		var squares *blocked.Magnitudes[T]
		err := run(ctx, e, func(p *blocked.Program[T]) (err error) {
			squares, err = p.Lassq(a)
			return err
		})
		if err != nil {
			return 0, err
		}
		return squares.Frobenius(), nil
	case lapack.MaxColumnSum, lapack.MaxRowSum, lapack.MaxAbs:
	default:
		panic(mat.ErrNormOrder)
	}
	s, err := sums(ctx, e, a)
	switch {
	case err != nil:
		return 0, err
	case norm == lapack.MaxColumnSum:
		return s.Norm1(), nil
	case norm == lapack.MaxRowSum:
		return s.NormInf(), nil
	}
	if x := s.Norm1(); x != x {
		return x, nil
	}
	return s.Max(), nil
}

func sums[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (s *blocked.Sums[T], err error) {
	err = run(ctx, e, func(p *blocked.Program[T]) error {
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
	r := &reading[T]{a: a, stats: blocked.Stats{Norm: s.Norm1(), Columns: s.Columns(), Max: s.Max()}}
	if norm := r.stats.Norm; norm-norm != 0 {
		r.stats.Row, r.stats.Col, r.stats.NonFinite = s.NonFinite()
	}
	return r, r.refused()
}

// solvable returns a *ShapeError of op if b is no right-hand side in tiles of those of a.
func solvable[T Element](op string, a, b *blocked.Matrix[T]) error {
	n, _ := a.Dims()
	if m, nrhs := b.Dims(); b.Kind() != blocked.Full || m != n || b.NB() != a.NB() {
		return &ShapeError{op, fmt.Sprintf("A is %d×%d in tiles of %d, B %v, %d×%d in tiles of %d", n, n, a.NB(), b.Kind(), m, nrhs, b.NB())}
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
