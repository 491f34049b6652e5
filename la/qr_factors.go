package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
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
	inverse   *estimated // norm of R⁻¹
}

// factorize overwrites f.a, which r reads, with its factorization.
func (f *qrFactors[T]) factorize(ctx context.Context, e *Engine, r *reading[T]) error {
	f.q, f.flops, f.inverse = nil, f.rotations.Flops(), new(estimated)
	if m, n := f.a.Dims(); m == 0 || n == 0 {
		return nil
	}
	tasks, sparse := f.rotations.Tasks(), f.variant == MemorySaveQR
	if f.variant != CompactQR {
		tasks = f.rotations.ExplicitTasks(sparse)
	}
	return perform(ctx, e, f.one, r.tasks+tasks, func(s *stage[T]) {
		if s.p != nil {
			s.err = r.submit(s.p)
		}
		switch {
		case s.err != nil:
		case f.one || f.variant == CompactQR:
			f.submit(s)
		default:
			f.q, f.flops, s.err = s.p.GeqrfExplicit(f.a, f.rotations, sparse)
		}
	})
}

// submit submits the factorization in compact form to s.
func (f *qrFactors[T]) submit(s *stage[T]) {
	if s.p != nil {
		s.err = s.p.Geqrf(f.a, f.rotations)
		return
	}
	s.call(s.ops().Geqrt, &kernels.Geqrt{IB: f.rotations.IB()}, f.a.Tile(0, 0), f.rotations.FirstT())
}

// direct reports whether computations with f that extend to so many rows or
// columns go to kernels on the calling goroutine.
func (f *qrFactors[T]) direct(e *Engine, extent int) bool {
	return f.one && goesDirect[T](e, OpQR, max(extent, f.a.NB()))
}

// applyTasks returns the number of tasks of apply for so many tile lines.
func (f *qrFactors[T]) applyTasks(lines int) int {
	mt, nt := f.a.Tiles()
	switch {
	case nt == 0:
		return 0
	case f.q != nil:
		return mt * mt * lines
	}
	return f.rotations.ApplyTasks(lines)
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
	unmqr := &kernels.Unmqr{Side: side, Trans: trans, IB: f.rotations.IB()}
	for i, j := range x.StoredTiles() { // a row or a column of them
		s.call(s.ops().Unmqr, unmqr, f.a.Tile(0, 0), f.rotations.FirstT(), x.Tile(i, j))
	}
	return x
}

// columns overwrites v with the first columns of Q.
func (f *qrFactors[T]) columns(ctx context.Context, e *Engine, v *blocked.Matrix[T]) error {
	m, k := v.Dims()
	_, nt := v.Tiles()
	_, n := f.a.Dims()
	switch {
	case n == 0:
		v.SetIdentity()
		return nil
	case f.q != nil:
		f.q.Leading(m, k).CopyTo(v, e.options().Workers)
		return nil
	}
	return perform(ctx, e, f.direct(e, 0), f.rotations.ColumnTasks(nt), func(s *stage[T]) {
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

// solveTasks returns the number of tasks of solveR for so many tile columns.
func (f *qrFactors[T]) solveTasks(nt int) int {
	kt := tiles(f.order(), f.a.NB())
	return kt * (kt + 1) / 2 * nt
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
	if err = run(ctx, e, f.solveTasks(1), func(p *blocked.Program[T]) error { return p.CopyUpper(f.a, r) }); err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, func() { r.Close() }, nil
}

// normR returns the 1-norm of the triangle in R.
func (f *qrFactors[T]) normR(ctx context.Context, e *Engine) (norm float64, err error) {
	if !f.direct(e, 0) {
		var s *blocked.Sums[T]
		mt, nt := f.a.Tiles()
		err := run(ctx, e, mt*nt, func(p *blocked.Program[T]) (err error) {
			s, err = p.AsumUpper(f.a)
			return err
		})
		if err != nil {
			return 0, err
		}
		return s.Norm1(), nil
	}
	for j := range f.order() {
		s := 0.0
		for i := range j + 1 {
			s += math.Abs(float64(f.a.At(i, j)))
		}
		norm = max(norm, s)
	}
	return norm, nil
}

// conditionError returns a mat.Condition if R shows that no digit of a solution
// can be relied on: +Inf if it cannot be divided by.
func (f *qrFactors[T]) conditionError(ctx context.Context, e *Engine) error {
	return nearSingular(f.a, f.order(), 1, func() float64 { return f.cond(ctx, e) })
}

// cond estimates the condition number of R, which can be divided by.
func (f *qrFactors[T]) cond(ctx context.Context, e *Engine) float64 {
	r, end, err := f.triangle(ctx, e)
	if err != nil {
		return math.NaN()
	}
	defer end()
	norm, err := f.normR(ctx, e)
	if err != nil {
		return math.NaN()
	}
	return norm * f.inverse.get(func() float64 {
		inverse := func(trans blas.Transpose) func(x []float64) error {
			return onVector(f.a.NB(), func(v *blocked.Matrix[T]) error {
				return perform(ctx, e, f.direct(e, 0), f.solveTasks(1), func(s *stage[T]) { s.trsm(blas.Upper, trans, blas.NonUnit, r, v) })
			})
		}
		return norm1EstimateOf(f.order(), inverse(blas.NoTrans), inverse(blas.Trans))
	})
}

// singular returns the mat.Condition of an R that cannot be divided by.
func (f *qrFactors[T]) singular() error {
	if err := nearSingular(f.a, f.order(), 1, nil); unsolvable(err) {
		return err
	}
	return nil
}
