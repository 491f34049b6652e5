package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
)

// SolveTo solves
//
//	A·X = B, or Aᵀ·X = B if trans,
//
// for X, dst = X, where A is n×n and B n×nrhs. dst may be b; an empty
// *mat.Dense takes the shape of b.
//
// The error is a *ShapeError, a *SingularError if there is a zero on the
// diagonal of U (dst is then as it was), an *OverflowError if B is finite and the solution
// is not (dst is then as it was, but for the shape), or a mat.Condition if A is singular
// to working precision, as [Solve] finds it out, at the first solution; dst
// then holds a solution whose digits may all be wrong, unless the condition is +Inf because U
// is out of range: dst is then as it was, too, but for the shape. Otherwise it is an *exec.TaskError that names a version
// that has failed, or exec.ErrClosed; dst is then as it was, but for the shape.
// SolveTo panics with ErrNotFactorized if there is no factorization.
//
// Reference: LAPACK xGETRS.
func (f *LU[T]) SolveTo(dst Destination[T], trans bool, b Source[T]) error {
	if err := f.check("SolveTo"); err != nil {
		return err
	}
	n := f.order()
	m, nrhs := b.Dims()
	if err := f.singular(); err != nil && m == n {
		return err // dst does not get its shape
	}
	to, err := checkSystem("SolveTo", n, n, dst, b)
	if err != nil {
		return err
	}
	if n == 0 || nrhs == 0 {
		return nil
	}
	condition := f.conditionError(context.Background())
	if unset(condition) {
		return condition
	}
	x, _ := blocked.From(b, blocked.Full, f.lu.NB(), f.engine.copying(false))
	if err := f.quotient(context.Background(), transpose(trans), x); err != nil {
		return err
	}
	if err := inRange(context.Background(), f.engine, x, b); err != nil {
		return err
	}
	x.CopyTo(to, f.engine.options().Workers)
	return condition
}

// transpose returns the constant that trans stands for.
func transpose(trans bool) blas.Transpose {
	if trans {
		return blas.Trans
	}
	return blas.NoTrans
}

// SolveVecTo solves A·x = b, or Aᵀ·x = b if trans, for one right-hand side,
// dst = x, as SolveTo does.
func (f *LU[T]) SolveVecTo(dst VectorSink[T], trans bool, b VectorSource[T]) error {
	if err := f.check("SolveVecTo"); err != nil {
		return err
	}
	n := f.order()
	if err := f.singular(); err != nil && b.Len() == n {
		return err // dst does not get its shape
	}
	return solveVector("A", n, n, dst, b, func(dst Destination[T], b Source[T]) error { return f.SolveTo(dst, trans, b) })
}

// quotient overwrites x with op(A)⁻¹·x.
func (f *LU[T]) quotient(ctx context.Context, trans blas.Transpose, x *blocked.Matrix[T]) error {
	return moderately(ctx, f.engine, x, f.exp, func() error { return f.solve(ctx, trans, x) })
}

// solve overwrites x with op(P·L·U)⁻¹·x.
func (f *LU[T]) solve(ctx context.Context, trans blas.Transpose, x *blocked.Matrix[T]) error {
	mt, _ := x.Tiles()
	n, nrhs := x.Dims()
	return perform(ctx, f.engine, solvesDirect[T](f.engine, mt, n, nrhs) && distributed[T](f.lu, x) == 0, func(s *stage[T]) { f.divide(s, trans, x) })
}

// divide overwrites x with op(A)⁻¹·x, as Getrs does.
func (f *LU[T]) divide(s *stage[T], trans blas.Transpose, x *blocked.Matrix[T]) {
	if trans == blas.NoTrans {
		s.laswp(f.pivots, false, x)
		s.trsm(blas.Lower, trans, blas.Unit, f.lu, x)
		s.trsm(blas.Upper, trans, blas.NonUnit, f.lu, x)
		return
	}
	s.trsm(blas.Upper, trans, blas.NonUnit, f.lu, x)
	s.trsm(blas.Lower, trans, blas.Unit, f.lu, x)
	s.laswp(f.pivots, true, x)
}

// InverseTo computes dst = A⁻¹. An empty *mat.Dense takes the shape of A.
// Solving with A is cheaper and more accurate than multiplying by its inverse.
//
// The errors and the panic are those of SolveTo, but after an *OverflowError, or when a
// version has failed or the engine was closed, dst is undefined.
//
// Reference: LAPACK xGETRI.
func (f *LU[T]) InverseTo(dst Sink[T]) error {
	if err := f.check("InverseTo"); err != nil {
		return err
	}
	n, nb := f.order(), f.lu.NB()
	if err := f.singular(); err != nil {
		return err
	}
	if err := give[T]("InverseTo", "inverse", dst, n, n); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	condition := f.conditionError(context.Background())
	if unset(condition) {
		return condition
	}
	v, _, back := writable[T](dst, blocked.Full, nb, false, f.engine.options().Workers)
	if err := f.invert(context.Background(), v); err != nil {
		return err
	}
	if err := inRange(context.Background(), f.engine, v, nil); err != nil {
		return err
	}
	back()
	return condition
}

// invert writes A⁻¹ to the Full v, n×n in the tile size of the factors.
func (f *LU[T]) invert(ctx context.Context, v *blocked.Matrix[T]) error {
	n := f.order()
	t := tiles.Count(n, f.lu.NB())
	err := perform(ctx, f.engine, t == 1 && goesDirect[T](f.engine, OpLU, n) && !f.lu.IsDistributed(), func(s *stage[T]) {
		if s.p != nil {
			s.err = s.p.Getri(f.lu, f.pivots, v)
			return
		}
		v.SetIdentity()
		f.divide(s, blas.NoTrans, v)
	})
	return rescale(ctx, f.engine, v, -f.exp, err)
}
