package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Factorize computes the factorization of a, which does not change. It replaces an earlier
// factorization and uses its memory again.
//
// The error is a *SingularError with LAPACK's value if U has a zero on its diagonal. The
// factorization is then complete, and the methods that do not divide by the diagonal work. After
// any other error f is empty: a *NonFiniteError; a *BreakdownError if the pivoting breaks down
// and [LUOptions.OnBreakdown] is ReturnError; an *exec.TaskError that names the version that
// failed; or exec.ErrClosed.
//
// Reference: LAPACK xGETRF.
func (f *LU[T]) Factorize(a Source[T]) error {
	return f.FactorizeContext(context.Background(), a)
}

// FactorizeContext is Factorize in a context. When ctx ends it returns the cause as soon as the
// running kernels have returned; f is then empty.
func (f *LU[T]) FactorizeContext(ctx context.Context, a Source[T]) error {
	top, err := f.factorizeUnscaled(ctx, a)
	exp := scaleExponent[T](top)
	if _, broken := errors.AsType[*BreakdownError](err); exp == 0 || f.lu == nil && !broken {
		return err
	}
	if _, err = f.factorizeUnscaled(ctx, scaledCopy(f.engine, a, -exp)); f.lu != nil {
		f.exp = exp
	}
	return err
}

// factorizeUnscaled is FactorizeContext without scaling. top is the largest magnitude of a, 0 if
// a was not read.
func (f *LU[T]) factorizeUnscaled(ctx context.Context, a Source[T]) (top float64, err error) {
	m, n := a.Dims()
	f.Reset()
	if err := f.engine.ready(ctx); err != nil {
		return 0, err
	}
	nb, one := f.TileSize(m, n)
	factors, pivots := f.spare, f.sparePivots
	if !fits(factors, m, n, nb) {
		factors, pivots = nil, lu.NewPivots(m, n, nb)
	}
	r := newReading(f.engine, factors, a, blocked.Full, nb, one, true)
	factors = r.a
	f.spare, f.sparePivots = factors, pivots
	if err := r.nonFinite(); err != nil {
		return 0, err
	}
	pivoting := f.opt.Pivoting
	if one {
		pivoting = PartialPivoting // in one tile all are the same
	}
	err = r.finish(f.factorize(ctx, r, pivots, pivoting))
	if err == nil {
		err = f.broken(ctx, factors, pivots, pivoting, r.stats.Max)
	}
	if _, broken := err.(*BreakdownError); broken && (f.opt.OnBreakdown == FallBack || pivoting == TournamentPivoting) {
		pivoting = PartialPivoting
		factors.CopyFrom(a, f.engine.copying(false))
		err = f.factorize(ctx, r, pivots, pivoting)
	}
	if err != nil {
		return r.stats.Max, err
	}
	f.lu, f.pivots, f.spare, f.sparePivots = factors, pivots, nil, nil
	f.pivoting, f.norm, f.top = pivoting, newNorms(r.stats.Columns), r.stats.Max
	return f.top, f.singular()
}

// factorize overwrites the matrix that r reads with its factors.
func (f *LU[T]) factorize(ctx context.Context, r *reading[T], pivots *lu.Pivots, pivoting Pivoting) error {
	factors := r.a
	mt, nt := factors.Tiles()
	switch {
	case mt == 0 || nt == 0:
		return nil
	case mt == 1 && nt == 1 && r.src == nil && !factors.IsDistributed():
		getrf := kernels.For[T](f.engine.ops()).Op("getrf")
		return Call(ctx, f.engine, getrf, &op.Getrf{}, factors.Tile(0, 0), pivots.Panel(0))
	}
	return Run(ctx, f.engine, func(p *blocked.Program[T]) error {
		if err := r.submit(p); err != nil {
			return err
		}
		switch pivoting {
		case TournamentPivoting:
			return lu.GetrfTournament(p, factors, pivots)
		case TilePivoting:
			return lu.GetrfTile(p, factors, pivots)
		}
		return lu.Getrf(p, factors, pivots)
	})
}

// broken returns a *BreakdownError if factors without partial pivoting are useless: a column has
// no pivot, or the elements grew beyond the limit. top is the largest magnitude of the matrix.
// For distributed factors the error may be one of tasks.
func (f *LU[T]) broken(ctx context.Context, factors *blocked.Matrix[T], pivots *lu.Pivots, pivoting Pivoting,
	top float64) error {
	m, n := factors.Dims()
	if mt, nt := factors.Tiles(); pivoting == PartialPivoting || mt == 0 || nt == 0 {
		return nil
	}
	limit := f.opt.GrowthLimit
	if limit == 0 {
		limit = 100 * float64(max(m, n))
	}
	if info := pivots.Info(); info != 0 {
		// In the last tile row there are no other rows that could have it.
		if pivoting == TournamentPivoting || (info-1)/factors.NB() < tiles.Count(m, factors.NB())-1 {
			return &BreakdownError{Column: info, Growth: math.Inf(1), Limit: limit}
		}
	}
	if top == 0 {
		return nil
	}
	growth := 0.0
	l, u, err := f.maxima(ctx, factors)
	if err != nil {
		return err
	}
	for k := range l {
		growth = max(growth, l[k]*(u[k]/top))
	}
	if !(growth <= limit) {
		return &BreakdownError{Growth: growth, Limit: limit}
	}
	return nil
}
