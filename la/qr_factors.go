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
}

// factorize overwrites f.a, which r reads, with its factorization.
func (f *qrFactors[T]) factorize(ctx context.Context, e *Engine, r *reading[T]) error {
	f.q, f.flops = nil, f.rotations.Flops()
	if m, n := f.a.Dims(); m == 0 || n == 0 {
		return nil
	}
	tasks, sparse := f.rotations.Tasks(), f.variant == MemorySaveQR
	if f.variant != CompactQR {
		tasks = f.rotations.ExplicitTasks(sparse)
	}
	return perform(ctx, e, f.one, r.tasks+tasks, func(s stage[T]) (err error) {
		if s.p != nil {
			if err := r.submit(s.p); err != nil {
				return err
			}
		}
		if f.one || f.variant == CompactQR {
			return f.submit(s)
		}
		f.q, f.flops, err = s.p.GeqrfExplicit(f.a, f.rotations, sparse)
		return err
	})
}

// submit submits the factorization in compact form to s.
func (f *qrFactors[T]) submit(s stage[T]) error {
	if s.p != nil {
		return s.p.Geqrf(f.a, f.rotations)
	}
	geqrt := &kernels.Geqrt{IB: f.rotations.IB()}
	return direct(s.ctx, s.e, kernels.For[T](s.e.ops()).Geqrt, geqrt, f.a.Tile(0, 0), f.rotations.FirstT())
}

// stage is where steps of a computation go: to a program of tasks, or, without
// one, to kernels on the calling goroutine.
type stage[T Element] struct {
	ctx context.Context
	e   *Engine
	p   *blocked.Program[T]
}

// perform calls steps with a stage: a program of so many tasks, or kernels
// called directly.
func perform[T Element](ctx context.Context, e *Engine, direct bool, tasks int, steps func(s stage[T]) error) error {
	if direct {
		return steps(stage[T]{ctx, e, nil})
	}
	return run(ctx, e, tasks, func(p *blocked.Program[T]) error { return steps(stage[T]{ctx, e, p}) })
}

// wait waits until x is as the steps so far leave it.
func (s stage[T]) wait(x *blocked.Matrix[T]) error {
	if s.p == nil {
		return nil
	}
	mt, nt := x.Tiles()
	for i := range mt {
		for j := range nt {
			if err := s.p.Wait(x, i, j); err != nil {
				return err
			}
		}
	}
	return nil
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
func (f *qrFactors[T]) apply(s stage[T], side blas.Side, trans blas.Transpose, x *blocked.Matrix[T]) (*blocked.Matrix[T], error) {
	mt, nt := x.Tiles()
	_, n := f.a.Dims()
	switch {
	case mt == 0 || nt == 0 || n == 0:
		return x, nil // Q is the identity
	case f.q != nil:
		r, c := x.Dims()
		y := blocked.New[T](blocked.Full, r, c, x.NB())
		if side == blas.Left {
			return y, s.p.Gemm(trans, blas.NoTrans, 1, f.q, x, 0, y)
		}
		return y, s.p.Gemm(blas.NoTrans, trans, 1, x, f.q, 0, y)
	case s.p != nil:
		return x, s.p.Ormqr(side, trans, f.a, f.rotations, x)
	}
	unmqr := &kernels.Unmqr{Side: side, Trans: trans, IB: f.rotations.IB()}
	for l := range max(mt, nt) { // one of the two is one
		i, j := 0, l
		if side == blas.Right {
			i, j = l, 0
		}
		if err := direct(s.ctx, s.e, kernels.For[T](s.e.ops()).Unmqr, unmqr, f.a.Tile(0, 0), f.rotations.FirstT(), x.Tile(i, j)); err != nil {
			return nil, err
		}
	}
	return x, nil
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
	case f.direct(e, 0):
		v.SetIdentity()
		_, err := f.apply(stage[T]{ctx, e, nil}, blas.Left, blas.NoTrans, v)
		return err
	}
	return run(ctx, e, f.rotations.ColumnTasks(nt), func(p *blocked.Program[T]) error {
		return p.Orgqr(f.a, f.rotations, v)
	})
}

// order returns min(m, n), the order of the triangle in R.
func (f *qrFactors[T]) order() int { return min(f.a.Dims()) }

// copyR copies the first rows of R to v, with zeros below the diagonal.
func (f *qrFactors[T]) copyR(v *blocked.Matrix[T]) {
	mt, nt := v.Tiles()
	for i := range mt {
		for j := range nt {
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
}

// solveTasks returns the number of tasks of solveR for so many tile columns.
func (f *qrFactors[T]) solveTasks(nt int) int {
	kt := tiles(f.order(), f.a.NB())
	return kt * (kt + 1) / 2 * nt
}

// solveR overwrites x with op(R)⁻¹·x, for the triangle in R.
func (f *qrFactors[T]) solveR(s stage[T], trans blas.Transpose, x *blocked.Matrix[T]) error {
	if s.p != nil {
		return s.p.Trsm(blas.Left, blas.Upper, trans, blas.NonUnit, 1, f.a.Leading(f.order(), f.order()), x)
	}
	trsm := &kernels.Trsm{Side: blas.Left, Uplo: blas.Upper, Trans: trans, Diag: blas.NonUnit, Alpha: 1}
	_, nt := x.Tiles()
	for j := range nt {
		if err := direct(s.ctx, s.e, kernels.For[T](s.e.ops()).Trsm, trsm, f.a.Tile(0, 0), x.Tile(0, j)); err != nil {
			return err
		}
	}
	return nil
}

// normR returns the 1-norm of the triangle in R.
func (f *qrFactors[T]) normR() float64 {
	norm, nb := 0.0, f.a.NB()
	for j := range f.order() {
		s := 0.0
		for i := range j/nb + 1 {
			t := f.a.Tile(i, j/nb)
			for r := range min(t.Rows, j-i*nb+1) {
				s += math.Abs(float64(t.At(r, j%nb)))
			}
		}
		norm = max(norm, s)
	}
	return norm
}

// conditionError returns a mat.Condition if R shows that no digit of a solution
// can be relied on: +Inf if it cannot be divided by.
func (f *qrFactors[T]) conditionError() error { return nearSingular(f.a, f.order(), 1) }

// singular returns the mat.Condition of an R that cannot be divided by.
func (f *qrFactors[T]) singular() error {
	if err := f.conditionError(); unsolvable(err) {
		return err
	}
	return nil
}
