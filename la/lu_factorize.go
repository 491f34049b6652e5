package la

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
)

// Factorize computes the factorization of a, which does not change. It replaces an earlier
// factorization and uses its memory again.
//
// The options are [WithContext], [InPlace] and a [Checkpoint], as of [Cholesky.Factorize]. In place a is a
// *blocked.Matrix of kind Full; after a *BreakdownError Factorize cannot fall back to partial pivoting then, as A is
// overwritten. Partial and tournament pivoting keep states. If a tournament breaks down, the resumed panels are those of
// the factorization with partial pivoting that replaces it.
//
// The error is a *SingularError with LAPACK's value if U has a zero on its diagonal. The
// factorization is then complete, and the methods that do not divide by the diagonal work. After
// any other error f is empty: a *NonFiniteError; a *BreakdownError if the pivoting breaks down
// and [LUOptions.OnBreakdown] is ReturnError; an *exec.TaskError that names the version that
// failed; exec.ErrClosed; a *ShapeError in place; or a *CheckpointError.
//
// Reference: LAPACK xGETRF.
func (f *LU[T]) Factorize(a Source[T], opts ...CallOption) error {
	o, err := optionsOf("LU.Factorize", takesInPlace|takesCheckpoint, opts)
	switch {
	case err != nil:
		f.Reset()
		return err
	case o.inPlace:
		err := f.factorizeInPlace(o.ctx, a, o.keep)
		f.lent = f.lu != nil
		return err
	case o.keep != nil:
		return f.factorizeBySteps(o.ctx, a, o.keep)
	}
	return f.factorize(o.ctx, a)
}

// factorize is Factorize of a copy.
func (f *LU[T]) factorize(ctx context.Context, a Source[T]) error {
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

// factorizeUnscaled is factorize without scaling. top is the largest magnitude of a, 0 if
// a was not read.
func (f *LU[T]) factorizeUnscaled(ctx context.Context, a Source[T]) (top float64, err error) {
	m, n := a.Dims()
	if f.factorizeDirect(ctx, m, n, a) {
		return 0, f.singular()
	}
	f.Reset()
	if err := f.engine.Ready(ctx); err != nil {
		return 0, err
	}
	nb, one := f.TileSize(m, n)
	factors, pivots := f.spare, f.sparePivots
	if !fits(factors, m, n, nb) {
		factors, pivots = nil, lu.NewPivots(m, n, nb)
	}
	r := newReading(f.engine, factors, a, blocked.Full, nb, readingOptions{alone: one, byColumns: true})
	factors = r.a
	f.spare, f.sparePivots = factors, pivots
	if err := r.nonFinite(); err != nil {
		return 0, err
	}
	pivoting := f.opt.Pivoting
	if one {
		pivoting = PartialPivoting // in one tile all are the same
	}
	err = r.finish(f.decompose(ctx, r, pivots, pivoting))
	if err == nil {
		err = f.broken(ctx, factors, pivots, pivoting, r.stats.Max)
	}
	if _, broken := err.(*BreakdownError); broken && (f.opt.OnBreakdown == FallBack || pivoting == TournamentPivoting) {
		pivoting = PartialPivoting
		f.resident.end()
		factors.CopyFrom(a, copying(f.engine))
		err = f.decompose(ctx, r, pivots, pivoting)
	}
	if err != nil {
		return r.stats.Max, err
	}
	f.lu, f.pivots, f.spare, f.sparePivots = factors, pivots, nil, nil
	f.pivoting, f.norm, f.top = pivoting, newNorms(r.stats.Columns), r.stats.Max
	return f.top, f.singular()
}

// factorizeDirect is factorizeUnscaled of a small square matrix. It may return without having done it; f's memory is then
// undefined.
func (f *LU[T]) factorizeDirect(ctx context.Context, m, n int, a Source[T]) (done bool) {
	if m != n {
		return false
	}
	d := directly[T](ctx, f.engine, n)
	if d == nil {
		return false
	}
	defer d.leave()
	src, ok := memoryOf(a)
	if !ok || src.rows != n || src.cols != n {
		return false
	}
	f.resident.end()
	factors, pivots := f.lu, f.pivots
	if factors == nil || f.lent {
		factors, pivots = f.spare, f.sparePivots
	}
	if !fits(factors, n, n, n) || factors.IsDistributed() {
		factors, pivots = blocked.New[T](blocked.Full, n, n, n), lu.NewPivots(n, n, n)
	}
	t := factors.Tile(0, 0)
	if !d.load(t.Data, t.Stride, src) {
		return false
	}
	panel := pivots.Panel(0)
	panel.Info = d.Getrf(n, t.Data, t.Stride, panel.Rows)
	f.lu, f.pivots, f.spare, f.sparePivots, f.lent = factors, pivots, nil, nil, false
	f.pivoting, f.exp, f.top = PartialPivoting, 0, d.top
	f.norm.reset(d.columns[:n])
	return true
}

// decompose overwrites the matrix that r reads with its factors.
func (f *LU[T]) decompose(ctx context.Context, r *reading[T], pivots *lu.Pivots, pivoting Pivoting) error {
	factors := r.a
	mt, nt := factors.Tiles()
	switch {
	case mt == 0 || nt == 0:
		return nil
	case mt == 1 && nt == 1 && r.src == nil && !factors.IsDistributed():
		getrf := engine.Ops[T](f.engine).Op("getrf")
		return engine.Call(ctx, f.engine, getrf, &op.Getrf{}, factors.Tile(0, 0), pivots.Panel(0))
	}
	f.resident = reside(f.engine, nil, factors)
	err := engine.Run(ctx, f.engine, func(p *blocked.Program[T]) error {
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
	if err != nil {
		f.resident.end()
	}
	return err
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

// factorizeInPlace is Factorize in the tiles of a. keep may be nil.
func (f *LU[T]) factorizeInPlace(ctx context.Context, a Source[T], keep *Checkpoint) error {
	f.clear()
	factors, err := tilesInPlace("Factorize", "a", a, blocked.Full, "a Full one")
	if err != nil {
		return err
	}
	pivoting := f.opt.Pivoting
	done := outcome[T]{state: &file.State[T]{Matrix: factors}}
	if keep != nil {
		if err := f.checkpointable(keep); err != nil {
			return err
		}
		done, err = checkpointedInPlace(ctx, f.engine, keep, getrfSteps[T](pivoting, nil), factors)
	} else {
		var r *reading[T]
		if r, done.exp, err = scaleInPlace(ctx, f.engine, factors); err != nil {
			return err
		}
		m, n := factors.Dims()
		done.state.Pivots, done.stats = lu.NewPivots(m, n, factors.NB()), r.stats
		err = f.decompose(ctx, r, done.state.Pivots, pivoting)
	}
	if err == nil {
		err = f.broken(ctx, factors, done.state.Pivots, pivoting, done.stats.Max)
	}
	return f.adopt(done, pivoting, err)
}

// factorizeBySteps is Factorize of a copy, with a checkpoint.
func (f *LU[T]) factorizeBySteps(ctx context.Context, a Source[T], keep *Checkpoint) error {
	f.clear()
	if err := f.checkpointable(keep); err != nil {
		return err
	}
	pivoting := f.opt.Pivoting
	factor := func() (outcome[T], error) {
		steps := getrfSteps[T](pivoting, func() int { return f.tileSize(a.Dims()) })
		return checkpointed(ctx, f.engine, keep, steps, a)
	}
	done, err := factor()
	if err == nil {
		err = f.broken(ctx, done.state.Matrix, done.state.Pivots, pivoting, done.stats.Max)
	}
	if broken := (*BreakdownError)(nil); errors.As(err, &broken) {
		pivoting = PartialPivoting
		done, err = factor()
	}
	return f.adopt(done, pivoting, err)
}

// adopt makes f the factorization that was done, unless there is an error.
func (f *LU[T]) adopt(done outcome[T], pivoting Pivoting, err error) error {
	if err != nil {
		return err
	}
	f.lu, f.pivots, f.pivoting = done.state.Matrix, done.state.Pivots, pivoting
	f.norm, f.exp, f.top = newNorms(done.stats.Columns), done.exp, done.stats.Max
	return f.singular()
}

// checkpointable returns a *CheckpointError if the pivoting keeps no states.
func (f *LU[T]) checkpointable(keep *Checkpoint) error {
	if f.opt.Pivoting == TilePivoting {
		return &CheckpointError{Path: keep.Dir,
			Reason: fmt.Sprintf("%v pivoting keeps no states, %v and %v pivoting do",
				f.opt.Pivoting, PartialPivoting, TournamentPivoting)}
	}
	return nil
}

// getrfSteps returns the steps of the LU factorization with partial or tournament pivoting. Each
// pivoting has states of its own.
func getrfSteps[T Element](pivoting Pivoting, tileSize func() int) stepwise[T] {
	w := stepwise[T]{algorithm: file.Getrf, kind: blocked.Full, tileSize: tileSize}
	if pivoting == TournamentPivoting {
		w.algorithm = file.Calu
	}
	w.prepare = func(s *file.State[T]) error {
		if m, n := s.Matrix.Dims(); s.Pivots == nil {
			s.Pivots = lu.NewPivots(m, n, s.Matrix.NB())
		}
		return nil
	}
	w.submit = func(p *blocked.Program[T], s *file.State[T], from, to int) error {
		if pivoting == TournamentPivoting {
			return lu.GetrfTournamentSteps(p, s.Matrix, s.Pivots, from, to)
		}
		return lu.GetrfSteps(p, s.Matrix, s.Pivots, from, to)
	}
	return w
}
