package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// Factorize computes the factorization of a, which does not change. It replaces an earlier
// factorization and uses its memory again. Of a matrix in memory it reads only the stored
// triangle, of a Full *blocked.Matrix the upper one.
//
// The options are [WithContext], [InPlace] and a [Checkpoint].
//
// In place a is a *blocked.Matrix of kind SymUpper and of any tile size. Its tiles become the factorization's; the
// program must not use them before c is reset or makes another factorization. So no second matrix is needed, and a
// distributed one (blocked.Distributed) stays on its nodes. a is unchanged after a *ShapeError or a *NonFiniteError,
// and undefined after any other error.
//
// To resume in place from a checkpoint, a must hold the original matrix again, in the same tile size. If a is
// distributed, each node writes and reads the tiles that it has. The directory must then be on a file system that all
// nodes share, and the nodes' operations must include file.Ops. The state from which the factorization resumed stays
// under another name until a is closed: the tiles of a lost node are read from it again.
//
// The error is a *NonFiniteError, a *NotPositiveDefiniteError with LAPACK's value, an
// *exec.TaskError that names the version that failed, or exec.ErrClosed; in place it may be a
// *ShapeError, and with a checkpoint a *CheckpointError. c is then empty. States stay when the context ends.
//
// Reference: LAPACK xPOTRF.
func (c *Cholesky[T]) Factorize(a SymmetricSource[T], opts ...CallOption) error {
	o, err := optionsOf("Cholesky.Factorize", takesInPlace|takesCheckpoint, opts)
	switch {
	case err != nil:
		c.Reset()
		return err
	case o.inPlace:
		err := c.factorizeInPlace(o.ctx, a, o.keep)
		c.lent = c.u != nil
		return err
	case o.keep != nil:
		return c.factorizeBySteps(o.ctx, a, o.keep)
	}
	return c.factorize(o.ctx, a)
}

// factorize is Factorize of a copy.
func (c *Cholesky[T]) factorize(ctx context.Context, a SymmetricSource[T]) error {
	n := a.SymmetricDim()
	if done, err := c.factorizeDirect(ctx, n, a); done {
		return err
	}
	c.Reset()
	u := c.spare
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	nb, one := engine.TileSize[T](c.engine, engine.OpCholesky, n, n)
	nb = max(1, nb)
	a = c.upper(a)
	if !fits(u, n, n, nb) {
		u = nil
	}
	r := newReading(c.engine, u, Source[T](a), blocked.SymUpper, nb, readingOptions{alone: one})
	c.spare = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	err := c.decompose(ctx, c.engine, r)
	exp := scaleExponent[T](r.stats.Max)
	if _, npd := errors.AsType[*NotPositiveDefiniteError](err); exp == 0 || err != nil && !npd {
		return err
	}
	v, stats := blocked.From(Source[T](a), blocked.SymUpper, nb, measuring(c.engine))
	stats, exp = scaleCopy(c.engine, v, stats)
	if err := c.decompose(ctx, c.engine, &reading[T]{a: v, stats: stats}); err != nil {
		return err
	}
	c.exp = exp
	return nil
}

// factorizeDirect is factorize of a small matrix. It may return without having done it; c's memory is then undefined.
func (c *Cholesky[T]) factorizeDirect(ctx context.Context, n int, a SymmetricSource[T]) (done bool, err error) {
	d := directly[T](ctx, c.engine, n)
	if d == nil {
		return false, nil
	}
	defer d.leave()
	src, upper, ok := symmetricOf(a)
	if !ok || src.rows != n {
		return false, nil
	}
	c.resident.end()
	u := c.u
	if u == nil || c.lent {
		u = c.spare
	}
	if !fits(u, n, n, n) || u.IsDistributed() {
		u = blocked.New[T](blocked.SymUpper, n, n, n)
	}
	t := u.Tile(0, 0)
	if !d.loadUpper(t.Data, t.Stride, src, upper) {
		return false, nil
	}
	if info := d.Potrf(n, t.Data, t.Stride); info != 0 {
		c.Reset()
		return true, &NotPositiveDefiniteError{Minor: info}
	}
	c.u, c.spare, c.lent, c.bound, c.exp = u, nil, false, nil, 0
	c.norm.reset(d.columns[:n])
	return true, nil
}

// decompose factors the matrix that r reads, on e, in r's tiles, which become c's. The matrix
// stores its upper half.
func (c *Cholesky[T]) decompose(ctx context.Context, e *Engine, r *reading[T]) error {
	u := r.a
	c.u, c.spare, c.norm, c.bound, c.exp = nil, u, norms{}, nil, 0
	n := u.Dim()
	var err error
	switch t, _ := u.Tiles(); {
	case n == 0:
	case t == 1 && engine.GoesDirect[T](e, engine.OpCholesky, n) && !u.IsDistributed():
		err = engine.Call(ctx, e, engine.Ops[T](e).Op("potrf"), &op.Potrf{Uplo: blas.Upper}, u.Tile(0, 0))
	default:
		c.resident = reside(e, nil, u)
		err = engine.Run(ctx, e, func(p *blocked.Program[T]) error {
			r.priority = chol.PotrfLoads(t)
			if err := r.submit(p); err != nil {
				return err
			}
			return chol.Potrf(p, u)
		})
	}
	if err = r.finish(err); err != nil {
		c.resident.end()
		return err
	}
	c.u, c.spare, c.norm = u, nil, newNorms(r.stats.Columns)
	return nil
}

// upper returns a, or a symmetric copy of a lower triangle that is read as a symmetric matrix.
func (c *Cholesky[T]) upper(a SymmetricSource[T]) SymmetricSource[T] {
	if m, ok := any(a).(*blocked.Matrix[T]); ok && m.Kind() == blocked.TriLower {
		a, _ = blocked.From[T](m, blocked.SymLower, m.NB(), copying(c.engine))
	}
	return a
}

// factorizeInPlace is Factorize in the tiles of a. keep may be nil.
func (c *Cholesky[T]) factorizeInPlace(ctx context.Context, a SymmetricSource[T], keep *Checkpoint) error {
	c.clear()
	u, err := tilesInPlace("Factorize", "a", Source[T](a), blocked.SymUpper, "a SymUpper")
	if err != nil {
		return err
	}
	if keep != nil {
		return c.adopt(checkpointedInPlace(ctx, c.engine, keep, potrfSteps[T](nil), u))
	}
	r, exp, err := scaleInPlace(ctx, c.engine, u)
	if err != nil {
		return err
	}
	err = c.decompose(ctx, c.engine, r)
	c.spare, c.exp = nil, exp // it is the caller's
	return err
}

// factorizeBySteps is Factorize of a copy, with a checkpoint.
func (c *Cholesky[T]) factorizeBySteps(ctx context.Context, a SymmetricSource[T], keep *Checkpoint) error {
	c.clear()
	steps := potrfSteps[T](func() int { return engine.Cut[T](c.engine, engine.OpCholesky, max(a.SymmetricDim(), 1)) })
	return c.adopt(checkpointed(ctx, c.engine, keep, steps, Source[T](c.upper(a))))
}

// adopt makes c the factorization that was done, unless there is an error.
func (c *Cholesky[T]) adopt(done outcome[T], err error) error {
	if err == nil {
		c.u, c.norm, c.exp = done.state.Matrix, newNorms(done.stats.Columns), done.exp
	}
	return err
}

// potrfSteps returns the steps of the Cholesky factorization.
func potrfSteps[T Element](tileSize func() int) stepwise[T] {
	return stepwise[T]{algorithm: file.Potrf, kind: blocked.SymUpper, tileSize: tileSize,
		prepare: func(*file.State[T]) error { return nil },
		submit: func(p *blocked.Program[T], s *file.State[T], from, to int) error {
			return chol.PotrfSteps(p, s.Matrix, from, to)
		}}
}
