package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
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

// factorize overwrites f.a with its factorization.
func (f *qrFactors[T]) factorize(ctx context.Context, e *Engine) (err error) {
	m, n := f.a.Dims()
	f.q, f.flops = nil, f.rotations.Flops()
	switch {
	case m == 0 || n == 0:
		return nil
	case f.one:
		geqrt := &kernels.Geqrt{IB: f.rotations.IB()}
		return direct(ctx, e, kernels.For[T](e.ops()).Geqrt, geqrt, f.a.Tile(0, 0), f.rotations.FirstT())
	case f.variant == CompactQR:
		return run(ctx, e, f.rotations.Tasks(), func(p *blocked.Program[T]) error { return p.Geqrf(f.a, f.rotations) })
	}
	sparse := f.variant == MemorySaveQR
	return run(ctx, e, f.rotations.ExplicitTasks(sparse), func(p *blocked.Program[T]) (err error) {
		f.q, f.flops, err = p.GeqrfExplicit(f.a, f.rotations, sparse)
		return err
	})
}

// apply returns op(Q)·x or x·op(Q), for which it may use the memory of x.
func (f *qrFactors[T]) apply(ctx context.Context, e *Engine, side blas.Side, trans blas.Transpose, x *blocked.Matrix[T]) (*blocked.Matrix[T], error) {
	r, c := x.Dims()
	lines := tiles(c, x.NB())
	if side == blas.Right {
		lines = tiles(r, x.NB())
	}
	_, n := f.a.Dims()
	switch {
	case r == 0 || c == 0 || n == 0:
		return x, nil // Q is the identity
	case f.q != nil:
		y := blocked.New[T](blocked.Full, r, c, x.NB())
		mt, _ := f.a.Tiles()
		return y, run(ctx, e, mt*mt*lines, func(p *blocked.Program[T]) error {
			if side == blas.Left {
				return p.Gemm(trans, blas.NoTrans, 1, f.q, x, 0, y)
			}
			return p.Gemm(blas.NoTrans, trans, 1, x, f.q, 0, y)
		})
	case f.one && goesDirect[T](e, OpQR, max(r, c)):
		unmqr := &kernels.Unmqr{Side: side, Trans: trans, IB: f.rotations.IB()}
		op := kernels.For[T](e.ops()).Unmqr
		for l := range lines {
			i, j := 0, l
			if side == blas.Right {
				i, j = l, 0
			}
			if err := direct(ctx, e, op, unmqr, f.a.Tile(0, 0), f.rotations.FirstT(), x.Tile(i, j)); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
	return x, run(ctx, e, f.rotations.ApplyTasks(lines), func(p *blocked.Program[T]) error {
		return p.Ormqr(side, trans, f.a, f.rotations, x)
	})
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
	case f.one:
		v.SetIdentity()
		_, err := f.apply(ctx, e, blas.Left, blas.NoTrans, v)
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

// solveR overwrites x with op(R)⁻¹·x, for the triangle in R.
func (f *qrFactors[T]) solveR(ctx context.Context, e *Engine, trans blas.Transpose, x *blocked.Matrix[T]) error {
	k := f.order()
	kt, nt := x.Tiles()
	if _, nrhs := x.Dims(); f.one && goesDirect[T](e, OpTrsm, max(k, nrhs)) {
		trsm := &kernels.Trsm{Side: blas.Left, Uplo: blas.Upper, Trans: trans, Diag: blas.NonUnit, Alpha: 1}
		for j := range nt {
			if err := direct(ctx, e, kernels.For[T](e.ops()).Trsm, trsm, f.a.Tile(0, 0), x.Tile(0, j)); err != nil {
				return err
			}
		}
		return nil
	}
	r := f.a.Leading(k, k)
	return run(ctx, e, kt*(kt+1)/2*nt, func(p *blocked.Program[T]) error {
		return p.Trsm(blas.Left, blas.Upper, trans, blas.NonUnit, 1, r, x)
	})
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

// conditionError returns a mat.Condition if the ratio of the largest to the
// smallest diagonal element of R, which the condition number is at least, shows
// that no digit of a solution can be relied on: +Inf if the smallest is zero.
func (f *qrFactors[T]) conditionError() error {
	lo, hi := math.Inf(1), 0.0
	for i := range f.order() {
		d := math.Abs(float64(f.a.At(i, i)))
		lo, hi = min(lo, d), max(hi, d)
	}
	switch {
	case lo == 0:
		return mat.Condition(math.Inf(1))
	case hi/lo*epsilon[T]() >= 1:
		return mat.Condition(hi / lo)
	}
	return nil
}

// singular returns the mat.Condition of an R that cannot be divided by.
func (f *qrFactors[T]) singular() error {
	if c, ok := f.conditionError().(mat.Condition); ok && math.IsInf(float64(c), 1) {
		return c
	}
	return nil
}
