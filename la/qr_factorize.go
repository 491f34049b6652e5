package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
)

// Factorize computes the factorization of a, which does not change. It replaces an earlier
// factorization and uses its memory again.
//
// The options are [WithContext], [InPlace] and a [Checkpoint], as of [Cholesky.Factorize]. In place
// a is a *blocked.Matrix of kind Full. A resumed factorization uses the rotations of the state, so the number of
// workers may have changed.
//
// Every finite matrix has a factorization. The error is a *NonFiniteError, an *exec.TaskError that names the version that
// failed, or exec.ErrClosed; in place it may be a *ShapeError, and with a checkpoint a *CheckpointError. q is then empty.
//
// Reference: LAPACK xGEQRF.
func (q *QR[T]) Factorize(a Source[T], opts ...CallOption) error {
	o, err := optionsOf("QR.Factorize", takesInPlace|takesCheckpoint, opts)
	switch {
	case err != nil:
		q.Reset()
		return err
	case o.inPlace:
		err := q.factorizeInPlace(o.ctx, a, o.keep)
		q.lent = q.f != nil
		return err
	case o.keep != nil:
		return q.factorizeBySteps(o.ctx, a, o.keep)
	}
	return q.factorize(o.ctx, a)
}

// factorize is Factorize of a copy.
func (q *QR[T]) factorize(ctx context.Context, a Source[T]) error {
	if q.factorizeDirect(ctx, a) {
		return nil
	}
	q.Reset()
	if err := q.engine.Ready(ctx); err != nil {
		return err
	}
	top, err := q.factorizeUnscaled(ctx, a)
	if exp := scaleExponent[T](top); exp != 0 && err == nil {
		q.Reset()
		if _, err = q.factorizeUnscaled(ctx, scaledCopy(q.engine, a, -exp)); err == nil {
			q.f.exp = exp
		}
	}
	return err
}

// factorizeDirect is factorize of a small matrix that is not wider than high. It may return without having done it; q's
// memory is then undefined.
func (q *QR[T]) factorizeDirect(ctx context.Context, a Source[T]) (done bool) {
	m, n := a.Dims()
	if m < n || n == 0 || q.opt.TileSize != 0 && q.opt.TileSize < m {
		return false
	}
	d := directly[T](ctx, q.engine, m)
	if d == nil {
		return false
	}
	defer d.leave()
	src, ok := memoryOf(a)
	if !ok || src.rows != m || src.cols != n {
		return false
	}
	f := q.f
	if f == nil || q.lent {
		f = q.spare
	}
	if f == nil || !f.one || !fits(f.a, m, n, m) || f.a.IsDistributed() {
		f = &qrFactors[T]{one: true, a: blocked.New[T](blocked.Full, m, n, m)}
		f.rotations = q.rotations(m, n, m, true)
	}
	v, t := f.a.Tile(0, 0), f.rotations.FirstT()
	if !d.load(v.Data, v.Stride, src) {
		return false
	}
	d.Geqrt(m, n, f.rotations.IB(), v.Data, v.Stride, t.Data, t.Stride)
	f.exp = 0
	f.size.known = true
	f.size.reset(d.upperSums(v.Data, n, v.Stride))
	q.f, q.spare, q.lent, q.wide = f, nil, false, nil
	return true
}

// rotations returns room for those of an m×n matrix in tiles of nb×nb, or in one tile. For a small one the block reflectors
// are those that the kernels make, wherever the matrix lies, so the bits of the factors do not depend on what q had before.
func (q *QR[T]) rotations(m, n, nb int, one bool) *qr.Rotations[T] {
	opt := q.opt.rotations(q.engine)
	if opt.IB == 0 && one && n <= m && m <= smallOrder {
		opt.IB = op.SmallBlock[T]()
	}
	return qr.NewRotations[T](m, n, nb, opt)
}

// factorizeUnscaled is factorize without scaling. top is the largest magnitude of a.
func (q *QR[T]) factorizeUnscaled(ctx context.Context, a Source[T]) (top float64, err error) {
	m, n := a.Dims()
	nb, one := engine.QRTileSize[T](q.engine, q.opt.TileSize, m, n)
	f := q.spare
	if f == nil || f.one != one || !fits(f.a, m, n, nb) {
		f = &qrFactors[T]{one: one}
		f.rotations = q.rotations(m, n, nb, one)
	}
	if !one && f.a == nil {
		f.a = blocked.New[T](blocked.Full, m, n, nb) // Geqrf submits parts of tiles
	}
	r := newReading(q.engine, f.a, a, blocked.Full, nb, readingOptions{alone: one, byColumns: true})
	f.a, q.spare = r.a, f
	if err := r.nonFinite(); err != nil {
		return 0, err
	}
	if err := r.finish(f.factorize(ctx, q.engine, r)); err != nil {
		return 0, err
	}
	q.f, q.spare = f, nil
	return r.stats.Max, nil
}

// factorizeInPlace is Factorize in the tiles of a. keep may be nil.
func (q *QR[T]) factorizeInPlace(ctx context.Context, a Source[T], keep *Checkpoint) error {
	q.clear()
	m, err := tilesInPlace("Factorize", "a", a, blocked.Full, "a Full one")
	if err != nil {
		return err
	}
	if keep != nil {
		return q.adopt(checkpointedInPlace(ctx, q.engine, keep, geqrfSteps[T](q.opt.rotations(q.engine), nil), m))
	}
	r, exp, err := scaleInPlace(ctx, q.engine, m)
	if err != nil {
		return err
	}
	rotations, err := qr.RotationsFor(m, q.opt.rotations(q.engine))
	if err != nil {
		return err
	}
	f := &qrFactors[T]{a: m, rotations: rotations}
	if err := f.factorize(ctx, q.engine, r); err != nil {
		return err
	}
	f.exp, q.f = exp, f
	return nil
}

// factorizeBySteps is Factorize of a copy, with a checkpoint.
func (q *QR[T]) factorizeBySteps(ctx context.Context, a Source[T], keep *Checkpoint) error {
	q.clear()
	steps := geqrfSteps[T](q.opt.rotations(q.engine), func() int {
		m, n := a.Dims()
		nb, _ := engine.QRTileSize[T](q.engine, q.opt.TileSize, m, n)
		return nb
	})
	return q.adopt(checkpointed(ctx, q.engine, keep, steps, a))
}

// adopt makes q the factorization that was done, unless there is an error.
func (q *QR[T]) adopt(done outcome[T], err error) error {
	if err == nil {
		q.f = &qrFactors[T]{a: done.state.Matrix, rotations: done.state.Rotations, exp: done.exp}
	}
	return err
}

// geqrfSteps returns the steps of the QR factorization. A resumed factorization uses the
// rotations of its state: they depend on the number of cores of the call that began it.
func geqrfSteps[T Element](opt qr.RotationOptions, tileSize func() int) stepwise[T] {
	w := stepwise[T]{algorithm: file.Geqrf, kind: blocked.Full, tileSize: tileSize}
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
