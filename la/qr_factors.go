package la

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// qrFactors is one factorization A = Q·R, and the memory of one.
type qrFactors[T Element] struct {
	a         *blocked.Matrix[T] // R, and below its diagonal what rotations needs
	rotations *blocked.Rotations[T]
	one       bool // a is one tile, and goes to one kernel
	variant   QRVariant
	q         *blocked.Matrix[T] // Q, if the variant computes it
	flops     float64
	exp       int        // it is of A divided by two to this power
	size      laterNorms // of the triangle in R
	turned    bool       // a is Rᵀ of another one: columns are mixed from rows of what that was made from
}

// factorize overwrites f.a, which r reads, with its factorization.
func (f *qrFactors[T]) factorize(ctx context.Context, e *Engine, r *reading[T]) error {
	f.q, f.flops, f.exp, f.size = nil, f.rotations.Flops(), 0, laterNorms{}
	if m, n := f.a.Dims(); m == 0 || n == 0 {
		return nil
	}
	return perform(ctx, e, f.one, func(s *stage[T]) {
		if s.p != nil {
			s.err = r.submit(s.p)
		}
		switch {
		case s.err != nil:
		case f.one || f.variant == CompactQR:
			f.submit(s)
		default:
			f.q, f.flops, s.err = s.p.GeqrfExplicit(f.a, f.rotations, f.variant == MemorySaveQR)
		}
	})
}

// submit submits the factorization in compact form to s.
func (f *qrFactors[T]) submit(s *stage[T]) {
	if s.p != nil {
		s.err = s.p.Geqrf(f.a, f.rotations)
		return
	}
	s.call(s.ops().Op("geqrt"), &op.Geqrt{IB: f.rotations.IB()}, f.a.Tile(0, 0), f.rotations.FirstT())
}

// direct reports whether computations with f that extend to so many rows or
// columns go to kernels on the calling goroutine.
func (f *qrFactors[T]) direct(e *Engine, extent int) bool {
	return f.one && goesDirect[T](e, OpQR, max(extent, f.a.NB()))
}

// apply returns op(Q)·x or x·op(Q), for which it may use the memory of x.
func (f *qrFactors[T]) apply(s *stage[T], side blas.Side, trans blas.Transpose, x *blocked.Matrix[T]) *blocked.Matrix[T] {
	mt, nt := x.Tiles()
	_, n := f.a.Dims()
	switch {
	case s.err != nil || mt == 0 || nt == 0 || n == 0:
		return x // Q is the identity, or a step has failed
	case f.q != nil:
		r, c := x.Dims()
		y := blocked.New[T](blocked.Full, r, c, x.NB())
		if side == blas.Left {
			s.err = s.p.Gemm(trans, blas.NoTrans, 1, f.q, x, 0, y)
		} else {
			s.err = s.p.Gemm(blas.NoTrans, trans, 1, x, f.q, 0, y)
		}
		return y
	case s.p != nil:
		s.err = s.p.Ormqr(side, trans, f.a, f.rotations, x)
		return x
	}
	unmqr := &op.Unmqr{Side: side, Trans: trans, IB: f.rotations.IB()}
	for i, j := range x.StoredTiles() { // a row or a column of them
		s.call(s.ops().Op("unmqr"), unmqr, f.a.Tile(0, 0), f.rotations.FirstT(), x.Tile(i, j))
	}
	return x
}

// columns overwrites v with the first columns of Q.
func (f *qrFactors[T]) columns(ctx context.Context, e *Engine, v *blocked.Matrix[T]) error {
	m, k := v.Dims()
	_, n := f.a.Dims()
	switch {
	case n == 0:
		v.SetIdentity()
		return nil
	case f.q != nil:
		f.q.Leading(m, k).CopyTo(v, e.options().Workers)
		return nil
	}
	return perform(ctx, e, f.direct(e, 0), func(s *stage[T]) {
		if s.p != nil {
			s.err = s.p.Orgqr(f.a, f.rotations, v)
			return
		}
		v.SetIdentity()
		f.apply(s, blas.Left, blas.NoTrans, v)
	})
}

// order returns min(m, n), the order of the triangle in R.
func (f *qrFactors[T]) order() int { return min(f.a.Dims()) }

// copyR copies the first rows of R to v, with zeros below the diagonal.
func (f *qrFactors[T]) copyR(v *blocked.Matrix[T]) {
	for i, j := range v.StoredTiles() {
		t, from := v.Tile(i, j), f.a.Tile(i, j)
		for r := range t.Rows {
			row, zeros := t.Row(r), 0
			if i > j {
				zeros = t.Cols
			} else if i == j {
				zeros = min(r, t.Cols)
			}
			clear(row[:zeros])
			copy(row[zeros:], from.Row(r)[zeros:t.Cols])
		}
	}
}

// solveR overwrites x with op(R)⁻¹·x, for the triangle in R.
func (f *qrFactors[T]) solveR(s *stage[T], trans blas.Transpose, x *blocked.Matrix[T]) {
	s.trsm(blas.Upper, trans, blas.NonUnit, f.a.Leading(f.order(), f.order()), x)
}

// triangle returns a matrix with the triangle in R, which may hold anything below it, until
// end is called: a part of that with R, or a copy if that is distributed.
func (f *qrFactors[T]) triangle(ctx context.Context, e *Engine) (r *blocked.Matrix[T], end func(), err error) {
	k := f.order()
	m, n := f.a.Dims()
	switch {
	case m == n:
		return f.a, func() {}, nil
	case !f.a.IsDistributed():
		return f.a.Leading(k, k), func() {}, nil
	}
	if r, err = blocked.Distributed[T](e.options().Runtime, blocked.Full, k, k, f.a.NB()); err != nil {
		return nil, nil, err
	}
	if err = run(ctx, e, func(p *blocked.Program[T]) error { return p.CopyUpper(f.a, r) }); err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, func() { r.Close() }, nil
}

// columnSums returns the 1-norms of the columns of the triangle in R.
func (f *qrFactors[T]) columnSums(ctx context.Context, e *Engine) ([]float64, error) {
	k := f.order()
	if !f.a.IsDistributed() {
		return f.a.UpperColumnSums(k, e.options().Workers), nil
	}
	var s *blocked.Sums[T]
	err := run(ctx, e, func(p *blocked.Program[T]) (err error) {
		s, err = p.AsumUpper(f.a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Columns()[:k], nil
}

// conditionError returns a mat.Condition if R is singular to working precision, +Inf if it cannot
// be divided by, or an error of the tasks that tell.
func (f *qrFactors[T]) conditionError(ctx context.Context, e *Engine) error {
	return nearSingular(f.a, f.order(), 1, f.turned, func() error {
		return f.estimating(ctx, e, func(k norms, v inverse) error { return judge[T](k, v) })
	})
}

// cond estimates the condition number of R, which can be divided by.
func (f *qrFactors[T]) cond(ctx context.Context, e *Engine) (c float64, err error) {
	err = f.estimating(ctx, e, func(k norms, v inverse) (err error) {
		c, err = cond[T](k, v)
		return err
	})
	return c, err
}

// estimating calls estimate with what estimates are made from.
func (f *qrFactors[T]) estimating(ctx context.Context, e *Engine, estimate func(norms, inverse) error) error {
	k, err := f.size.get(func() ([]float64, error) { return f.columnSums(ctx, e) })
	if err != nil {
		return err
	}
	if f.turned {
		k.columns = nil
	}
	r, end, err := f.triangle(ctx, e)
	if err != nil {
		return err
	}
	defer end()
	return estimate(k, triangularInverse(ctx, e, blas.Upper, blas.NoTrans, r))
}

// laterNorms are norms that are found out when they are first needed.
type laterNorms struct {
	mu sync.Mutex
	norms
	known bool
}

// get returns them, or the error of what finds them out.
func (x *laterNorms) get(columns func() ([]float64, error)) (norms, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.known {
		c, err := columns()
		if err != nil {
			return norms{}, err
		}
		x.norms, x.known = newNorms(c), true
	}
	return x.norms, nil
}
