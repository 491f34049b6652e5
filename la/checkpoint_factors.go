package la

import (
	"context"
	"errors"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
)

// potrfSteps returns the steps of the Cholesky factorization.
func potrfSteps[T Element](tileSize func() int) stepwise[T] {
	return stepwise[T]{op: "potrf", kind: blocked.SymUpper, tileSize: tileSize,
		prepare: func(*file.State[T]) error { return nil },
		submit: func(p *blocked.Program[T], s *file.State[T], from, to int) error {
			return chol.PotrfSteps(p, s.Matrix, from, to)
		}}
}

// getrfSteps returns the steps of the LU factorization with partial or tournament pivoting. Each
// pivoting has states of its own.
func getrfSteps[T Element](pivoting Pivoting, tileSize func() int) stepwise[T] {
	w := stepwise[T]{op: "getrf", kind: blocked.Full, tileSize: tileSize}
	if pivoting == TournamentPivoting {
		w.op = "calu"
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

// geqrfSteps returns the steps of the QR factorization. A resumed factorization uses the
// rotations of its state: they depend on the number of cores of the call that began it.
func geqrfSteps[T Element](opt qr.RotationOptions, tileSize func() int) stepwise[T] {
	w := stepwise[T]{op: "geqrf", kind: blocked.Full, tileSize: tileSize}
	w.prepare = func(s *file.State[T]) (err error) {
		if s.Rotations == nil {
			s.Rotations, err = qr.RotationsFor(s.Matrix, opt)
			return err
		}
		m, n := s.Matrix.Dims()
		want, has := qr.OutlineRotations[T](m, n, s.Matrix.NB(), opt).Options(), s.Rotations.Options()
		if want.Tree != has.Tree || want.Domain != has.Domain || want.IB != has.IB {
			return fmt.Errorf("its tree is %v, its domain %d and its block %d, and %v, %d and %d are wanted",
				has.Tree, has.Domain, has.IB, want.Tree, want.Domain, want.IB)
		}
		return nil
	}
	w.submit = func(p *blocked.Program[T], s *file.State[T], from, to int) error {
		return qr.GeqrfSteps(p, s.Matrix, s.Rotations, from, to)
	}
	return w
}

// FactorizeCheckpoint is [Cholesky.FactorizeContext] with a checkpoint. It returns the number of
// panels that an earlier call did, 0 if there was no state to resume from.
//
// The errors are those of FactorizeContext and a *CheckpointError. When ctx ends, the states stay.
func (c *Cholesky[T]) FactorizeCheckpoint(ctx context.Context, a SymmetricSource[T], keep Checkpoint,
) (resumed int, err error) {
	c.clear()
	steps := potrfSteps[T](func() int { return tileSize[T](c.engine, OpCholesky, max(a.SymmetricDim(), 1)) })
	f, err := checkpointed(ctx, c.engine, &keep, steps, Source[T](c.upper(a)))
	if err == nil {
		c.u, c.norm, c.exp = f.state.Matrix, newNorms(f.stats.Columns), f.exp
	}
	return f.resumed, err
}

// FactorizeInPlaceCheckpoint is [Cholesky.FactorizeInPlace] with a checkpoint. To resume, a must
// hold the original matrix again, in the same tile size.
//
// If a is distributed, each node writes and reads the tiles that it has. The directory must be on
// a file system that all nodes share, and the nodes' operations must include file.Ops. The state
// from which the factorization resumed stays under another name until a is closed: the tiles of a
// lost node are read from it again.
//
// It returns the number of panels that an earlier call did, 0 if there was no state to resume
// from. The errors are those of FactorizeInPlace and a *CheckpointError. When ctx ends, the states
// stay.
func (c *Cholesky[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint,
) (resumed int, err error) {
	c.clear()
	if a.Kind() != blocked.SymUpper {
		return 0, &ShapeError{"FactorizeInPlaceCheckpoint", fmt.Sprintf("a is %v, want a SymUpper", a.Kind())}
	}
	f, err := checkpointedInPlace(ctx, c.engine, &keep, potrfSteps[T](nil), a)
	if err == nil {
		c.u, c.norm, c.exp = a, newNorms(f.stats.Columns), f.exp
	}
	return f.resumed, err
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

// FactorizeCheckpoint is [LU.FactorizeContext] with a checkpoint, for partial and tournament
// pivoting. It returns the number of panels that an earlier call did, 0 if there was no state to
// resume from. If a tournament breaks down, the number is that of the factorization with partial
// pivoting that replaces it.
//
// The errors are those of FactorizeContext and a *CheckpointError. When ctx ends, the states stay.
func (f *LU[T]) FactorizeCheckpoint(ctx context.Context, a Source[T], keep Checkpoint) (resumed int, err error) {
	f.clear()
	if err := f.checkpointable(&keep); err != nil {
		return 0, err
	}
	pivoting := f.opt.Pivoting
	factor := func() (outcome[T], error) {
		steps := getrfSteps[T](pivoting, func() int { return f.tileSize(a.Dims()) })
		return checkpointed(ctx, f.engine, &keep, steps, a)
	}
	done, err := factor()
	if err == nil {
		err = f.broken(ctx, done.state.Matrix, done.state.Pivots, pivoting, done.stats.Max)
	}
	if broken := (*BreakdownError)(nil); errors.As(err, &broken) {
		pivoting = PartialPivoting
		done, err = factor()
	}
	return done.resumed, f.adopt(done, pivoting, err)
}

// FactorizeInPlaceCheckpoint is [LU.FactorizeInPlace] with a checkpoint, for partial and
// tournament pivoting; see [Cholesky.FactorizeInPlaceCheckpoint].
func (f *LU[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint,
) (resumed int, err error) {
	f.clear()
	if a.Kind() != blocked.Full {
		return 0, &ShapeError{"FactorizeInPlaceCheckpoint", fmt.Sprintf("a is %v, want a Full one", a.Kind())}
	}
	if err := f.checkpointable(&keep); err != nil {
		return 0, err
	}
	done, err := checkpointedInPlace(ctx, f.engine, &keep, getrfSteps[T](f.opt.Pivoting, nil), a)
	if err == nil {
		err = f.broken(ctx, a, done.state.Pivots, f.opt.Pivoting, done.stats.Max)
	}
	return done.resumed, f.adopt(done, f.opt.Pivoting, err)
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

// FactorizeCheckpoint is [QR.FactorizeContext] with a checkpoint, for CompactQR. It returns the
// number of panels that an earlier call did, 0 if there was no state to resume from. A resumed
// factorization uses the rotations of the state, so the number of workers may have changed.
//
// The errors are those of FactorizeContext and a *CheckpointError. When ctx ends, the states stay.
func (q *QR[T]) FactorizeCheckpoint(ctx context.Context, a Source[T], keep Checkpoint) (resumed int, err error) {
	q.clear()
	if q.opt.Variant != CompactQR {
		return 0, &CheckpointError{Path: keep.Dir,
			Reason: fmt.Sprintf("the variant is %v; only %v keeps states", q.opt.Variant, CompactQR)}
	}
	steps := geqrfSteps[T](q.opt.rotations(q.engine), func() int {
		m, n := a.Dims()
		nb, _ := qrTileSize[T](q.engine, &q.opt, m, n)
		return nb
	})
	done, err := checkpointed(ctx, q.engine, &keep, steps, a)
	return done.resumed, q.adopt(done, err)
}

// FactorizeInPlaceCheckpoint is [QR.FactorizeInPlace] with a checkpoint; see
// [Cholesky.FactorizeInPlaceCheckpoint].
func (q *QR[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint,
) (resumed int, err error) {
	q.clear()
	if a.Kind() != blocked.Full || q.opt.Variant != CompactQR {
		return 0, &ShapeError{"FactorizeInPlaceCheckpoint",
			fmt.Sprintf("a is %v, the variant %v, want a Full one and CompactQR", a.Kind(), q.opt.Variant)}
	}
	done, err := checkpointedInPlace(ctx, q.engine, &keep, geqrfSteps[T](q.opt.rotations(q.engine), nil), a)
	return done.resumed, q.adopt(done, err)
}

// adopt makes q the factorization that was done, unless there is an error.
func (q *QR[T]) adopt(done outcome[T], err error) error {
	if err == nil {
		r := done.state.Rotations
		q.f = &qrFactors[T]{a: done.state.Matrix, rotations: r, flops: r.Flops(), exp: done.exp}
	}
	return err
}
