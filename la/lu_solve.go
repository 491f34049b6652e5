package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// SolveTo solves
//
//	A·X = B, or Aᵀ·X = B if trans,
//
// for X, dst = X, where A is n×n and B n×nrhs. dst may be b; an empty *mat.Dense takes the shape
// of b.
//
// The error is one of:
//   - a *ShapeError;
//   - a *SingularError if U has a zero on its diagonal;
//   - an *OverflowError if B is finite and the solution is not;
//   - a mat.Condition if A is singular to working precision (see [Solve]): if it is finite, dst holds
//     a solution whose digits may all be wrong; +Inf says that U is out of range;
//   - an *exec.TaskError that names the version that failed, or exec.ErrClosed.
//
// But for the finite mat.Condition an error leaves dst unchanged, except for its shape; a
// *SingularError leaves that, too. SolveTo panics with ErrNotFactorized if there is no
// factorization.
//
// The options are [WithContext] and [InPlace], as of [Cholesky.SolveTo]; in place a *SingularError leaves B unchanged,
// and SolveTo panics with mat.ErrSquare if A is not square.
//
// Reference: LAPACK xGETRS.
func (f *LU[T]) SolveTo(dst Destination[T], trans bool, b Source[T], opts ...CallOption) error {
	f.valid()
	o, err := optionsOf("LU.SolveTo", takesInPlace, opts)
	switch {
	case err != nil:
		return err
	case o.inPlace:
		return f.solveInPlace(o.ctx, dst, trans, b)
	}
	return f.solveTo(o.ctx, dst, trans, b)
}

// solveTo is SolveTo with a copy of b.
func (f *LU[T]) solveTo(ctx context.Context, dst Destination[T], trans bool, b Source[T]) error {
	if err := f.check("SolveTo"); err != nil {
		return err
	}
	n := f.order()
	if fs, ok := f.direct(ctx); ok {
		if from, ok := memoryOf(b); ok && from.rows == n {
			if to, ok := resultMemory(dst, n, from.cols); ok && fs.solve(f.norm, trans, &to, &from) {
				return nil
			}
		}
	}
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
	condition := f.conditionError(ctx)
	if noSolution(condition) {
		return condition
	}
	x, _ := blocked.From(b, blocked.Full, f.lu.NB(), copying(f.engine))
	if err := f.solveOverwrite(ctx, transposition(trans), x); err != nil {
		return err
	}
	if err := inRange(ctx, f.engine, x, b); err != nil {
		return err
	}
	x.CopyTo(to, f.engine.Options().Workers)
	return condition
}

// SolveVecTo solves A·x = b, or Aᵀ·x = b if trans, for one right-hand side, dst = x, as SolveTo
// does. The option is [WithContext].
func (f *LU[T]) SolveVecTo(dst VectorSink[T], trans bool, b VectorSource[T], opts ...CallOption) error {
	if err := f.check("SolveVecTo"); err != nil {
		return err
	}
	ctx, err := contextOf("LU.SolveVecTo", opts)
	if err != nil {
		return err
	}
	n := f.order()
	if fs, ok := f.direct(ctx); ok {
		var to, from memory[T]
		if vectorsOf(n, dst, &to, n, b, &from) && fs.solve(f.norm, trans, &to, &from) {
			return nil
		}
	}
	if err := f.singular(); err != nil && b.Len() == n {
		return err // dst does not get its shape
	}
	if f.exp == 0 && !f.lu.IsDistributed() && f.pivots.Info() == 0 {
		done, err := substituteVector(ctx, f.engine, n, n, dst, b, f.conditionError, func(s *substitution[T], x [][]T) error {
			s.swaps = atLeast(s.swaps, n)
			return f.substitute(s, trans, f.Swaps(s.swaps[:n]), x)
		})
		if done || err != nil {
			return err
		}
	}
	return solveVector(ctx, "A", n, n, dst, b, func(ctx context.Context, dst Destination[T], b Source[T]) error {
		return f.solveTo(ctx, dst, trans, b)
	})
}

// direct returns the factors of a small factorization with an inverse, or false.
func (f *LU[T]) direct(ctx context.Context) (fs factors[T], ok bool) {
	n, _ := f.lu.Dims()
	if f.lu.NB() < n || f.exp != 0 || f.lu.IsDistributed() || f.pivots.Info() != 0 || !isDirect(ctx, f.engine, n) {
		return fs, false
	}
	t := f.lu.Tile(0, 0)
	return factors[T]{form: formLU, a: t.Data, n: n, ld: t.Stride, swaps: f.pivots.Panel(0).Rows}, true
}

// solveInPlace overwrites dst, which is b, with op(A)⁻¹·b.
func (f *LU[T]) solveInPlace(ctx context.Context, dst Destination[T], trans bool, b Source[T]) error {
	f.order()
	x, err := rightSideInPlace("SolveTo", f.lu, dst, b)
	if err != nil {
		return err
	}
	if err := f.singular(); err != nil {
		return err
	}
	if err := f.solveOverwrite(ctx, transposition(trans), x); err != nil {
		return err
	}
	return f.conditionError(ctx)
}

// solveOverwrite overwrites x with op(A)⁻¹·x.
func (f *LU[T]) solveOverwrite(ctx context.Context, trans blas.Transpose, x *blocked.Matrix[T]) error {
	return withScaledColumns(ctx, f.engine, x, f.exp, func() error { return f.solve(ctx, trans, x) })
}

// solve overwrites x with op(P·L·U)⁻¹·x. It ignores exp.
func (f *LU[T]) solve(ctx context.Context, trans blas.Transpose, x *blocked.Matrix[T]) error {
	mt, _ := x.Tiles()
	n, nrhs := x.Dims()
	return execute(ctx, f.engine, engine.SolvesDirect[T](f.engine, mt, n, nrhs) && distributedNB[T](f.lu, x) == 0,
		func(s *executor[T]) { f.submitSolve(s, trans, x) })
}

// submitSolve overwrites x with op(P·L·U)⁻¹·x, as LAPACK's xGETRS does.
func (f *LU[T]) submitSolve(s *executor[T], trans blas.Transpose, x *blocked.Matrix[T]) {
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

// InverseTo computes dst = A⁻¹. An empty *mat.Dense takes the shape of A. A solution with A is
// cheaper and more accurate than a product with its inverse.
//
// The errors and the panic are those of SolveTo. After an *OverflowError, an *exec.TaskError or
// exec.ErrClosed dst is undefined. The option is [WithContext].
//
// Reference: LAPACK xGETRI.
func (f *LU[T]) InverseTo(dst Sink[T], opts ...CallOption) error {
	if err := f.check("InverseTo"); err != nil {
		return err
	}
	ctx, err := contextOf("LU.InverseTo", opts)
	if err != nil {
		return err
	}
	n, nb := f.order(), f.lu.NB()
	if err := f.singular(); err != nil {
		return err
	}
	if err := shapeResult[T]("InverseTo", "inverse", dst, n, n); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	condition := f.conditionError(ctx)
	if noSolution(condition) {
		return condition
	}
	v, _, back := writable[T](dst, blocked.Full, nb, false, f.engine.Options().Workers)
	if err := f.invert(ctx, v); err != nil {
		return err
	}
	if err := inRange(ctx, f.engine, v, nil); err != nil {
		return err
	}
	back()
	return condition
}

// invert overwrites the Full v, n×n in the tile size of the factors, with A⁻¹.
func (f *LU[T]) invert(ctx context.Context, v *blocked.Matrix[T]) error {
	n := f.order()
	t := tiles.Count(n, f.lu.NB())
	err := execute(ctx, f.engine, t == 1 && engine.GoesDirect[T](f.engine, engine.OpLU, n) && !f.lu.IsDistributed(),
		func(s *executor[T]) {
			if s.p != nil {
				s.err = lu.Getri(s.p, f.lu, f.pivots, v)
				return
			}
			v.SetIdentity()
			f.submitSolve(s, blas.NoTrans, v)
		})
	return rescale(ctx, f.engine, v, -f.exp, err)
}

// Cond estimates the condition number of A in the 1-norm, ‖A‖₁·‖A⁻¹‖₁. But for rounding the
// estimate is a lower bound, which is rarely below a third of the true value. It is +Inf if A is
// singular or one of the norms out of range, and NaN if a solution fails, for example on a closed
// engine. The first call computes a few solutions on the engine. Cond panics with mat.ErrSquare
// if A is not square. The option is [WithContext], as of [Cholesky.Cond].
//
// Reference: LAPACK xGECON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (f *LU[T]) Cond(opts ...CallOption) float64 {
	return condOf[T](mustContext("LU.Cond", opts), f.order(), f.singular(), f.norm, f.inverse)
}

// inverse returns A⁻¹ for the condition estimators.
func (f *LU[T]) inverse(ctx context.Context) inverse {
	if f.lu.IsDistributed() {
		solve := func(trans blas.Transpose) func(x ...[]float64) error {
			return solveAsMatrix(f.lu.NB(), func(x *blocked.Matrix[T]) error { return f.solve(ctx, trans, x) })
		}
		return inverse{n: f.order(), apply: solve(blas.NoTrans), transposed: solve(blas.Trans)}
	}
	s, swaps := newSubstitution[T](ctx, f.engine), f.Swaps(nil)
	divide := func(trans bool) func(x ...[]float64) error {
		return func(x ...[]float64) error {
			return convertVectors(x, func(x [][]T) error { return f.substitute(s, trans, swaps, x) })
		}
	}
	return inverse{n: f.order(), apply: divide(false), transposed: divide(true)}
}

// substitute overwrites each vector x with A⁻¹·x, or A⁻ᵀ·x, for the interchanges of P·A = L·U.
func (f *LU[T]) substitute(s *substitution[T], transposed bool, swaps []int, vectors [][]T) error {
	if transposed {
		if err := s.solve(blas.Upper, blas.Trans, blas.NonUnit, f.lu, vectors); err != nil {
			return err
		}
		if err := s.solve(blas.Lower, blas.Trans, blas.Unit, f.lu, vectors); err != nil {
			return err
		}
		for _, x := range vectors {
			exchangeBack(x, swaps)
		}
		return nil
	}
	for _, x := range vectors {
		exchange(x, swaps)
	}
	if err := s.solve(blas.Lower, blas.NoTrans, blas.Unit, f.lu, vectors); err != nil {
		return err
	}
	return s.solve(blas.Upper, blas.NoTrans, blas.NonUnit, f.lu, vectors)
}

// conditionError returns a *SingularError, a mat.Condition if A is singular to working precision,
// or an error of the estimator's solutions.
func (f *LU[T]) conditionError(ctx context.Context) error {
	if err := f.singular(); err != nil {
		return err
	}
	return f.norm.check(func() error {
		return nearSingular(f.lu, f.order(), 1, false, func() error { return checkCondition[T](f.norm, f.inverse(ctx)) })
	})
}
