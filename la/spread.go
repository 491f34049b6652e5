package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Systems with distributed matrices. What A is copied to, B and X are on the nodes, by the
// layout of A; only what is asked for in memory here comes here.

// spread returns a if it is distributed over the nodes of e, else nil.
func spread[T Element](e *Engine, a Source[T]) *blocked.Matrix[T] {
	m, ok := a.(*blocked.Matrix[T])
	if _, keeps := e.options().Runtime.(exec.Keeper); !ok || !keeps || !m.IsDistributed() {
		return nil
	}
	return m
}

// divideSpread is divide for a distributed matrix. A symmetric one is read whole only if it is
// not positive definite.
func divideSpread[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (divisor[T], error) {
	switch a.Kind() {
	case blocked.TriLower, blocked.TriUpper:
		d, err := divideTriangular(ctx, e, a, blas.NoTrans, a.Kind() == blocked.TriUpper)
		d.spread = a
		return d, err
	case blocked.SymLower, blocked.SymUpper:
		d := divisor[T]{report: SolveReport{Method: MethodCholesky}}
		if _, err := measured(ctx, e, a); err != nil {
			return d, err
		}
		if positiveDiagonal(a) {
			c := &Cholesky[T]{engine: e}
			copied, err := copySpread(ctx, e, a, blocked.SymUpper)
			if err == nil {
				err = c.FactorizeInPlace(ctx, copied)
			}
			var npd *NotPositiveDefiniteError
			if err == nil {
				d = dividedBy(ctx, e, c)
				d.spread, d.end = a, copied.Close
				return d, nil
			}
			closed(copied)
			if !errors.As(err, &npd) {
				return d, err
			}
			d.report.Minor = npd.Minor
		}
		minor := d.report.Minor
		d, err := divideSpreadLU(ctx, e, a)
		d.report.Minor = minor
		return d, err
	}
	return divideSpreadLU(ctx, e, a)
}

func divideSpreadLU[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (divisor[T], error) {
	d := divisor[T]{report: SolveReport{Method: MethodLU}}
	f := &LU[T]{engine: e}
	copied, err := copySpread(ctx, e, a, blocked.Full)
	if err == nil {
		err = f.FactorizeInPlace(ctx, copied)
	}
	if err != nil {
		closed(copied)
		return d, err
	}
	d = dividedByLU(ctx, f)
	d.spread, d.end = a, copied.Close
	return d, nil
}

// copySpread returns a copy of a on the nodes, as a matrix of another kind: Full, or SymUpper
// if a is symmetric. It may return a matrix with an error.
func copySpread[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T], kind blocked.Kind) (*blocked.Matrix[T], error) {
	m, n := a.Dims()
	b, err := tiles.DistributedLike[T](e.options().Runtime, a, kind, m, n)
	if err != nil {
		return nil, err
	}
	return b, run(ctx, e, func(p *blocked.Program[T]) error {
		if kind == blocked.Full {
			return p.Whole(a, b)
		}
		return p.Transpose(a, b)
	})
}

// room returns an m×n matrix in d's tile size, where d is.
func (d *divisor[T]) room(e *Engine, kind blocked.Kind, m, n int) (*blocked.Matrix[T], error) {
	if d.spread == nil {
		return blocked.New[T](kind, m, n, d.nb), nil
	}
	return tiles.DistributedLike[T](e.options().Runtime, d.spread, kind, m, n)
}

// load returns a copy of b in d's tile size, where d is.
func (d *divisor[T]) load(ctx context.Context, e *Engine, b Source[T]) (*blocked.Matrix[T], error) {
	if d.spread == nil {
		x, _ := blocked.From(b, blocked.Full, d.nb, e.copying(false))
		return x, nil
	}
	m, n := b.Dims()
	x, err := d.room(e, blocked.Full, m, n)
	if err == nil {
		err = scatter(ctx, e, x, b)
	}
	return x, err
}

// scatter overwrites the distributed x with b.
func scatter[T Element](ctx context.Context, e *Engine, x *blocked.Matrix[T], b Source[T]) error {
	return run(ctx, e, func(p *blocked.Program[T]) error { return p.Load(x, b, blocked.LoadOptions{}) })
}

// solveSpreadQR is solveQR for a distributed A: a copy of A, or of Aᵀ if A is wider than high,
// is factored on the nodes.
func solveSpreadQR[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T], b Source[T]) (x *blocked.Matrix[T], err error) {
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
		if v, err = tiles.DistributedLike[T](e.options().Runtime, a, blocked.Full, m, n); err == nil {
			made = append(made, v)
		}
		return v
	}
	f, y, z := like(max(m, n), min(m, n)), like(m, nrhs), like(n, nrhs)
	if err != nil {
		return nil, err
	}
	err = run(ctx, e, func(p *blocked.Program[T]) error {
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
	if err == nil && immoderate[T](top) {
		power = exponent(top)
		err = shiftSpread(ctx, e, y, -power)
	}
	if err == nil && immoderate[T](r.stats.Max) {
		power -= exponent(r.stats.Max)
		err = shiftSpread(ctx, e, f, -exponent(r.stats.Max))
	}
	q := &QR[T]{engine: e}
	if err == nil {
		err = q.FactorizeInPlace(ctx, f)
	}
	if err == nil && m >= n {
		err = q.SolveInPlace(ctx, y, z)
	} else if err == nil {
		err = q.leastNorm(ctx, y, z)
	}
	if unset(err) {
		return nil, err
	}
	if power != 0 {
		if moved := shiftSpread(ctx, e, z, power); moved != nil {
			return nil, moved
		}
	}
	made = made[:2] // z stays
	return z, err
}

// leastNorm solves Aᵀ·X = B for the X of which each column is shortest, where A is higher than
// wide: X = Q·R⁻ᵀ·B. B is overwritten.
func (q *QR[T]) leastNorm(ctx context.Context, b, x *blocked.Matrix[T]) error {
	f := q.f
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
		return errors.Join(p.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, 1, r, b), p.CopyTop(b, x),
			p.Ormqr(blas.Left, blas.NoTrans, f.a, f.rotations, x))
	})
	if err = rescale(ctx, q.engine, x, -power-f.exp, err); err != nil {
		return err
	}
	return f.conditionError(ctx, q.engine)
}

// shiftSpread multiplies a by two to the power given, in steps none of which is out of range.
func shiftSpread[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T], exp int) error {
	return run(ctx, e, func(p *blocked.Program[T]) error {
		for exp != 0 {
			step := min(max(exp, -100), 100)
			if err := p.Lascl(T(math.Ldexp(1, step)), a); err != nil {
				return err
			}
			exp -= step
		}
		return nil
	})
}
