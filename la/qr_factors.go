package la

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// qrFactors is one factorization A = Q·R, or the memory for one.
type qrFactors[T Element] struct {
	a          *blocked.Matrix[T] // R, and below its diagonal what rotations needs
	rotations  *qr.Rotations[T]
	one        bool      // a is one tile, and goes to one kernel
	exp        int       // it is of A divided by two to this power
	size       lazyNorms // of the triangle in R
	transposed bool      // A is Rᵀ of a wide matrix: its columns are combinations of that matrix's rows

	r        *blocked.Matrix[T] // the result of square for tiles that are resident, else nil
	resident *residence         // of a, r and rotations
}

// factorize overwrites f.a, which r reads, with its factorization, on e.
func (f *qrFactors[T]) factorize(ctx context.Context, e *Engine, r *reading[T]) error {
	f.exp, f.size = 0, lazyNorms{}
	if m, n := f.a.Dims(); m == 0 || n == 0 {
		return nil
	}
	f.resident.end()
	f.r = nil
	if !f.one && !f.a.IsDistributed() {
		f.r = f.square()
		mt, nt := f.a.Tiles()
		f.resident = reside(e, f.rotations.Factors(min(mt, nt)), f.a, f.r)
	}
	err := execute(ctx, e, f.one, func(s *executor[T]) {
		if s.p != nil {
			s.err = r.submit(s.p)
		}
		if s.err == nil {
			f.submit(s)
		}
	})
	if err != nil {
		f.resident.end()
	}
	return err
}

// submit submits the factorization.
func (f *qrFactors[T]) submit(s *executor[T]) {
	if s.p != nil {
		s.err = qr.Geqrf(s.p, f.a, f.rotations)
		return
	}
	s.call(s.ops().Op("geqrt"), &op.Geqrt{IB: f.rotations.IB()}, f.a.Tile(0, 0), f.rotations.FirstT())
}

// direct reports whether kernels on the calling goroutine compute with f, for operands of up to
// extent rows or columns.
func (f *qrFactors[T]) direct(e *Engine, extent int) bool {
	return f.one && engine.GoesDirect[T](e, engine.OpQR, max(extent, f.a.NB()))
}

// apply returns op(Q)·x or x·op(Q). It may overwrite x.
func (f *qrFactors[T]) apply(s *executor[T], side blas.Side, trans blas.Transpose,
	x *blocked.Matrix[T]) *blocked.Matrix[T] {
	mt, nt := x.Tiles()
	_, n := f.a.Dims()
	switch {
	case s.err != nil || mt == 0 || nt == 0 || n == 0:
		return x // Q is the identity, or a step has failed
	case s.p != nil:
		s.err = qr.Ormqr(s.p, side, trans, f.a, f.rotations, x)
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
	if _, n := f.a.Dims(); n == 0 {
		v.SetIdentity()
		return nil
	}
	return execute(ctx, e, f.direct(e, 0), func(s *executor[T]) {
		if s.p != nil {
			s.err = qr.Orgqr(s.p, f.a, f.rotations, v)
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
func (f *qrFactors[T]) solveR(s *executor[T], trans blas.Transpose, x *blocked.Matrix[T]) {
	s.trsm(blas.Upper, trans, blas.NonUnit, f.square(), x)
}

// substitute overwrites x, of m elements for an m×n matrix with m ≥ n, with R⁻¹·Qᵀ·x in its first n elements, or with Q·R⁻ᵀ
// times these if transposed.
func (f *qrFactors[T]) substitute(s *substitution[T], transposed bool, x []T) error {
	s.reflected = atLeast(s.reflected, f.rotations.IB())
	s.triangle[0] = x[:f.order()]
	ready := func() error { return s.engine.Ready(s.ctx) }
	if !transposed {
		if err := f.rotations.MulVec(s.kernels, true, f.a, x, s.reflected, ready); err != nil {
			return err
		}
		return s.solve(blas.Upper, blas.NoTrans, blas.NonUnit, f.square(), s.triangle[:])
	}
	if err := s.solve(blas.Upper, blas.Trans, blas.NonUnit, f.square(), s.triangle[:]); err != nil {
		return err
	}
	return f.rotations.MulVec(s.kernels, false, f.a, x, s.reflected, ready)
}

// square returns a matrix whose upper triangle is that of R: a, or a view of its leading part. a is
// not distributed.
func (f *qrFactors[T]) square() *blocked.Matrix[T] {
	k := f.order()
	switch m, n := f.a.Dims(); {
	case m == n:
		return f.a
	case f.r != nil:
		return f.r
	}
	return f.a.Leading(k, k)
}

// triangle returns a matrix whose upper triangle is that of R, with undefined elements below: a
// view of a, or a copy if a is distributed and not square. The caller calls end after its use.
func (f *qrFactors[T]) triangle(ctx context.Context, e *Engine) (r *blocked.Matrix[T], end func(), err error) {
	k := f.order()
	m, n := f.a.Dims()
	if m == n || !f.a.IsDistributed() {
		return f.square(), func() {}, nil
	}
	if r, err = blocked.Distributed[T](e.Options().Runtime, blocked.Full, k, k, f.a.NB()); err != nil {
		return nil, nil, err
	}
	if err = engine.Run(ctx, e, func(p *blocked.Program[T]) error { return p.CopyUpper(f.a, r) }); err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, func() { r.Close() }, nil
}

// columnSums returns the 1-norms of the columns of the triangle in R.
func (f *qrFactors[T]) columnSums(ctx context.Context, e *Engine) ([]float64, error) {
	k := f.order()
	if !f.a.IsDistributed() {
		return f.a.UpperColumnSums(k, e.Options().Workers), nil
	}
	var s *blocked.Sums[T]
	err := engine.Run(ctx, e, func(p *blocked.Program[T]) (err error) {
		s, err = p.AsumUpper(f.a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Columns()[:k], nil
}

// conditionError returns a mat.Condition if R is singular to working precision, +Inf if R has no
// inverse, or an error of the estimator's tasks.
func (f *qrFactors[T]) conditionError(ctx context.Context, e *Engine) error {
	k, err := f.size.get(func() ([]float64, error) { return f.columnSums(ctx, e) })
	if err != nil {
		return err
	}
	return k.check(func() error {
		return nearSingular(f.a, f.order(), 1, f.transposed, func() error {
			return f.withEstimator(ctx, e, func(k norms, v inverse) error {
				if err := checkCondition[T](k, v); err != nil {
					return err
				}
				return checkColumns[T](magnitudesOf(f.a), k, v)
			})
		})
	})
}

// cond estimates the condition number of R, which must have an inverse.
func (f *qrFactors[T]) cond(ctx context.Context, e *Engine) (c float64, err error) {
	err = f.withEstimator(ctx, e, func(k norms, v inverse) (err error) {
		c, err = conditionNumber[T](k, v)
		return err
	})
	return c, err
}

// withEstimator calls estimate with the norms of R and its inverse.
func (f *qrFactors[T]) withEstimator(ctx context.Context, e *Engine, estimate func(norms, inverse) error) error {
	k, err := f.size.get(func() ([]float64, error) { return f.columnSums(ctx, e) })
	if err != nil {
		return err
	}
	if f.transposed {
		k.columns = nil
	}
	r, end, err := f.triangle(ctx, e)
	if err != nil {
		return err
	}
	defer end()
	return estimate(k, triangularInverse(ctx, e, blas.Upper, blas.NoTrans, r))
}

// lazyNorms are norms that are computed when they are first needed.
type lazyNorms struct {
	mu sync.Mutex
	norms
	known bool
}

// get returns the norms. It returns the error of columns, and calls columns again the next time.
func (x *lazyNorms) get(columns func() ([]float64, error)) (norms, error) {
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
