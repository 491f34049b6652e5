package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// solveDistributedQR is solveQR for a distributed A. It factors a copy of A, or of Aᵀ if A is
// wider than high, on the nodes.
func solveDistributedQR[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T],
	b Source[T]) (x *blocked.Matrix[T], err error) {
	r, err := measured(ctx, e, a)
	if err != nil {
		return nil, err
	}
	m, n := a.Dims()
	_, nrhs := b.Dims()
	var made []*blocked.Matrix[T]
	defer func() {
		for _, m := range made {
			m.Close()
		}
	}()
	like := func(m, n int) *blocked.Matrix[T] {
		if err != nil {
			return nil
		}
		var v *blocked.Matrix[T]
		if v, err = tiles.DistributedLike[T](e.Options().Runtime, a, blocked.Full, m, n); err == nil {
			made = append(made, v)
		}
		return v
	}
	f, y, z := like(max(m, n), min(m, n)), like(m, nrhs), like(n, nrhs)
	if err != nil {
		return nil, err
	}
	err = engine.Run(ctx, e, func(p *blocked.Program[T]) error {
		if m < n {
			return errors.Join(p.Transpose(a, f), p.Load(y, b, blocked.LoadOptions{}))
		}
		return errors.Join(p.Whole(a, f), p.Load(y, b, blocked.LoadOptions{}))
	})
	if err != nil {
		return nil, err
	}
	power := 0 // of two, that the solution has too little
	top, err := NormInPlace(ctx, e, y, lapack.MaxAbs)
	if err == nil && needsScaling[T](top) {
		power = exponent(top)
		err = scaleDistributed(ctx, e, y, -power)
	}
	if err == nil && needsScaling[T](r.stats.Max) {
		power -= exponent(r.stats.Max)
		err = scaleDistributed(ctx, e, f, -exponent(r.stats.Max))
	}
	q := &QR[T]{engine: e}
	if err == nil {
		err = q.factorizeInPlace(ctx, f, nil)
	}
	if err == nil && m >= n {
		err = q.solveInPlace(ctx, z, false, y)
	} else if err == nil {
		err = q.leastNorm(ctx, y, z)
	}
	if noSolution(err) {
		return nil, err
	}
	if power != 0 {
		if moved := scaleDistributed(ctx, e, z, power); moved != nil {
			return nil, moved
		}
	}
	made = made[:2] // z stays
	return z, err
}

// leastNorm solves Aᵀ·X = B for the X of minimum norm by columns, where A is higher than wide: X
// = Q·R⁻ᵀ·B. It overwrites B.
func (q *QR[T]) leastNorm(ctx context.Context, b, x *blocked.Matrix[T]) error {
	return q.byTriangle(ctx, b, x, func(p *blocked.Program[T], r *blocked.Matrix[T]) error {
		return errors.Join(p.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, 1, r, b), p.CopyTop(b, x),
			qr.Ormqr(p, blas.Left, blas.NoTrans, q.f.a, q.f.rotations, x))
	})
}
