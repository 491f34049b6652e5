package la

import (
	"context"
	"errors"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
)

// The factorizations that keep states.

// FactorizeCheckpoint is [Cholesky.FactorizeContext] with a checkpoint. It
// returns the number of panels that an earlier call had done, 0 if there was no
// state to go on from. Beside the errors of FactorizeContext there is the
// *CheckpointError; when ctx ends, the states are kept.
func (c *Cholesky[T]) FactorizeCheckpoint(ctx context.Context, a SymmetricSource[T], keep Checkpoint) (resumed int, err error) {
	n, exp := a.SymmetricDim(), 0
	c.Reset()
	c.spare = nil
	s, stats, resumed, err := checkpointed(ctx, c.engine, &keep, potrfStepwise[T](), func(nb int) (*blocked.Matrix[T], blocked.Stats) {
		if nb == 0 {
			nb = tileSize[T](c.engine, OpCholesky, max(n, 1))
		}
		v, stats := blocked.From[T](c.upper(a, nb), blocked.SymUpper, nb, c.engine.copying(true))
		stats, exp = moderated(c.engine, v, stats)
		return v, stats
	})
	if err == nil {
		c.u, c.norm, c.exp = s.Matrix, newNorms(stats.Columns), exp
	}
	return resumed, err
}

func potrfStepwise[T Element]() stepwise[T] {
	return stepwise[T]{op: "potrf", kind: blocked.SymUpper, room: func(*file.State[T]) error { return nil },
		steps: func(p *blocked.Program[T], s *file.State[T], from, to int) error {
			return p.PotrfSteps(s.Matrix, from, to)
		}}
}

// getrfStepwise returns the factorization with partial or tournament pivoting, whose states are
// not each other's.
func getrfStepwise[T Element](pivoting Pivoting) stepwise[T] {
	w := stepwise[T]{op: "getrf", kind: blocked.Full}
	if pivoting == TournamentPivoting {
		w.op = "calu"
	}
	w.room = func(s *file.State[T]) error {
		if m, n := s.Matrix.Dims(); s.Pivots == nil {
			s.Pivots = blocked.NewPivots(m, n, s.Matrix.NB())
		}
		return nil
	}
	w.steps = func(p *blocked.Program[T], s *file.State[T], from, to int) error {
		if pivoting == TournamentPivoting {
			return p.GetrfTournamentSteps(s.Matrix, s.Pivots, from, to)
		}
		return p.GetrfSteps(s.Matrix, s.Pivots, from, to)
	}
	return w
}

// geqrfStepwise returns the factorization by the rotations given. One that goes on has those of
// the state, which depend on the number of cores that there were.
func geqrfStepwise[T Element](opt blocked.RotationOptions) stepwise[T] {
	w := stepwise[T]{op: "geqrf", kind: blocked.Full}
	w.room = func(s *file.State[T]) (err error) {
		if s.Rotations == nil {
			s.Rotations, err = blocked.RotationsFor(s.Matrix, opt)
			return err
		}
		m, n := s.Matrix.Dims()
		want, has := blocked.OutlineRotations[T](m, n, s.Matrix.NB(), opt).Options(), s.Rotations.Options()
		if want.Tree != has.Tree || want.Domain != has.Domain || want.IB != has.IB {
			return fmt.Errorf("its tree is %v, its domain %d and its block %d, and %v, %d and %d are wanted", has.Tree, has.Domain, has.IB, want.Tree, want.Domain, want.IB)
		}
		return nil
	}
	w.steps = func(p *blocked.Program[T], s *file.State[T], from, to int) error {
		return p.GeqrfSteps(s.Matrix, s.Rotations, from, to)
	}
	return w
}

// FactorizeInPlaceCheckpoint is [Cholesky.FactorizeInPlace] with a checkpoint: with a
// distributed a the nodes read and write the states, each its tiles, so that they share the
// file system in which the directory is, and list file.Ops. To go on, a must hold the matrix
// again, in the same tile size. What is lost with a node is made again from the file from
// which the factorization has gone on. So that file stays, under another name, until a is closed.
//
// It returns the number of panels that an earlier call had done, 0 if there was no state to go
// on from. Beside the errors of FactorizeInPlace there is the *CheckpointError; when ctx ends,
// the states are kept.
func (c *Cholesky[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint) (resumed int, err error) {
	c.u, c.spare, c.norm, c.exp = nil, nil, norms{}, 0
	if a.Kind() != blocked.SymUpper {
		return 0, &ShapeError{"FactorizeInPlaceCheckpoint", fmt.Sprintf("a is %v, want a SymUpper", a.Kind())}
	}
	_, stats, exp, resumed, err := checkpointedInPlace(ctx, c.engine, &keep, potrfStepwise[T](), a)
	if err == nil {
		c.u, c.norm, c.exp = a, newNorms(stats.Columns), exp
	}
	return resumed, err
}

// unkept returns a *CheckpointError if the pivoting has no states to keep.
func (f *LU[T]) unkept(keep *Checkpoint) error {
	if f.opt.Pivoting == TilePivoting {
		return &CheckpointError{Path: keep.Dir, Reason: fmt.Sprintf("%v pivoting keeps no states, %v and %v pivoting do", f.opt.Pivoting, PartialPivoting, TournamentPivoting)}
	}
	return nil
}

// FactorizeCheckpoint is [LU.FactorizeContext] with a checkpoint, for partial and tournament
// pivoting. It returns the number of panels that an earlier call had done, 0 if there was no
// state to go on from; after a tournament that has broken down, that of partial pivoting.
// Beside the errors of FactorizeContext there is the *CheckpointError; when ctx ends, the
// states are kept.
func (f *LU[T]) FactorizeCheckpoint(ctx context.Context, a Source[T], keep Checkpoint) (resumed int, err error) {
	m, n := a.Dims()
	f.Reset()
	f.spare, f.sparePivots = nil, nil
	if err := f.unkept(&keep); err != nil {
		return 0, err
	}
	pivoting, exp := f.opt.Pivoting, 0
	factor := func() (s *file.State[T], stats blocked.Stats, resumed int, err error) {
		return checkpointed(ctx, f.engine, &keep, getrfStepwise[T](pivoting), func(nb int) (*blocked.Matrix[T], blocked.Stats) {
			if nb == 0 {
				nb = f.tileSize(m, n)
			}
			v, stats := blocked.From(a, blocked.Full, nb, f.engine.copying(true))
			stats, exp = moderated(f.engine, v, stats)
			return v, stats
		})
	}
	s, stats, resumed, err := factor()
	if err == nil {
		err = f.broken(ctx, s.Matrix, s.Pivots, pivoting, stats.Max)
	}
	if broken := (*BreakdownError)(nil); errors.As(err, &broken) {
		pivoting = PartialPivoting
		s, stats, resumed, err = factor()
	}
	if err != nil {
		return resumed, err
	}
	f.lu, f.pivots = s.Matrix, s.Pivots
	f.pivoting, f.norm, f.exp, f.top = pivoting, newNorms(stats.Columns), exp, stats.Max
	return resumed, f.singular()
}

// FactorizeInPlaceCheckpoint is [LU.FactorizeInPlace] with a checkpoint, for partial and
// tournament pivoting, as [Cholesky.FactorizeInPlaceCheckpoint].
func (f *LU[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint) (resumed int, err error) {
	f.lu, f.pivots, f.norm, f.exp, f.top, f.pivoting, f.spare, f.sparePivots = nil, nil, norms{}, 0, 0, 0, nil, nil
	if a.Kind() != blocked.Full {
		return 0, &ShapeError{"FactorizeInPlaceCheckpoint", fmt.Sprintf("a is %v, want a Full one", a.Kind())}
	}
	if err := f.unkept(&keep); err != nil {
		return 0, err
	}
	s, stats, exp, resumed, err := checkpointedInPlace(ctx, f.engine, &keep, getrfStepwise[T](f.opt.Pivoting), a)
	if err == nil {
		err = f.broken(ctx, a, s.Pivots, f.opt.Pivoting, stats.Max)
	}
	if err != nil {
		return resumed, err
	}
	f.lu, f.pivots, f.pivoting, f.norm, f.exp, f.top = a, s.Pivots, f.opt.Pivoting, newNorms(stats.Columns), exp, stats.Max
	return resumed, f.singular()
}

// FactorizeCheckpoint is [QR.FactorizeContext] with a checkpoint, for CompactQR. It returns the
// number of panels that an earlier call had done, 0 if there was no state to go on from. It goes
// on by the rotations of the state, so that the number of workers may be another one. Beside the
// errors of FactorizeContext there is the *CheckpointError; when ctx ends, the states are kept.
func (q *QR[T]) FactorizeCheckpoint(ctx context.Context, a Source[T], keep Checkpoint) (resumed int, err error) {
	m, n := a.Dims()
	q.Reset()
	q.spare = nil
	if q.opt.Variant != CompactQR {
		return 0, &CheckpointError{Path: keep.Dir, Reason: fmt.Sprintf("the variant is %v; only %v keeps states", q.opt.Variant, CompactQR)}
	}
	exp := 0
	s, _, resumed, err := checkpointed(ctx, q.engine, &keep, geqrfStepwise[T](q.opt.rotations(q.engine)), func(nb int) (*blocked.Matrix[T], blocked.Stats) {
		if nb == 0 {
			nb, _ = qrTileSize[T](q.engine, &q.opt, m, n)
		}
		v, stats := blocked.From(a, blocked.Full, nb, q.engine.copying(true))
		stats, exp = moderated(q.engine, v, stats)
		return v, stats
	})
	if err == nil {
		q.f = &qrFactors[T]{a: s.Matrix, rotations: s.Rotations, flops: s.Rotations.Flops(), exp: exp}
	}
	return resumed, err
}

// FactorizeInPlaceCheckpoint is [QR.FactorizeInPlace] with a checkpoint, as
// [Cholesky.FactorizeInPlaceCheckpoint].
func (q *QR[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint) (resumed int, err error) {
	q.f, q.wide, q.spare = nil, nil, nil
	if a.Kind() != blocked.Full || q.opt.Variant != CompactQR {
		return 0, &ShapeError{"FactorizeInPlaceCheckpoint", fmt.Sprintf("a is %v, the variant %v, want a Full one and CompactQR", a.Kind(), q.opt.Variant)}
	}
	s, _, exp, resumed, err := checkpointedInPlace(ctx, q.engine, &keep, geqrfStepwise[T](q.opt.rotations(q.engine)), a)
	if err == nil {
		q.f = &qrFactors[T]{a: a, rotations: s.Rotations, flops: s.Rotations.Flops(), exp: exp}
	}
	return resumed, err
}
