package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// SolveTo solves A·X = B for X, dst = X, where B is n×nrhs. dst may be b; an empty *mat.Dense
// takes the shape of b.
//
// The error is one of:
//   - a *ShapeError;
//   - an *OverflowError if B is finite and the solution is not;
//   - a mat.Condition if A is singular to working precision (see [Solve]): if it is finite, dst holds
//     a solution whose digits may all be wrong;
//   - an *exec.TaskError that names the version that failed, or exec.ErrClosed.
//
// But for the finite mat.Condition an error leaves dst unchanged, except for its shape. SolveTo
// panics with ErrNotFactorized if there is no factorization.
//
// The options are [WithContext] and [InPlace]. In place dst and b are the same *blocked.Matrix, Full and in the tile
// size of the factorization, which may be distributed and then stays on its nodes. There is no *OverflowError then, and
// after another error dst is undefined, or after a mat.Condition a solution whose digits may all be wrong.
//
// Reference: LAPACK xPOTRS.
func (c *Cholesky[T]) SolveTo(dst Destination[T], b Source[T], opts ...CallOption) error {
	c.valid()
	o, err := optionsOf("Cholesky.SolveTo", takesInPlace, opts)
	switch {
	case err != nil:
		return err
	case o.inPlace:
		return c.solveInPlace(o.ctx, dst, b)
	}
	return c.solveTo(o.ctx, dst, b)
}

// solveTo is SolveTo with a copy of b.
func (c *Cholesky[T]) solveTo(ctx context.Context, dst Destination[T], b Source[T]) error {
	n := c.u.Dim()
	if f, ok := c.direct(ctx); ok {
		if from, ok := memoryOf(b); ok && from.rows == n {
			if to, ok := resultMemory(dst, n, from.cols); ok && f.solve(c.norm, false, &to, &from) {
				return nil
			}
		}
	}
	to, err := checkSystem("SolveTo", n, n, dst, b)
	if err != nil {
		return err
	}
	if _, nrhs := b.Dims(); n == 0 || nrhs == 0 {
		return nil
	}
	x, _ := blocked.From(b, blocked.Full, c.u.NB(), copying(c.engine))
	if err := c.solveOverwrite(ctx, c.engine, x); err != nil {
		return err
	}
	if err := inRange(ctx, c.engine, x, b); err != nil {
		return err
	}
	condition := c.conditionError(ctx)
	if noSolution(condition) {
		return condition
	}
	x.CopyTo(to, c.engine.Options().Workers)
	return condition
}

// solveInPlace overwrites dst, which is b, with A⁻¹·b.
func (c *Cholesky[T]) solveInPlace(ctx context.Context, dst Destination[T], b Source[T]) error {
	x, err := rightSideInPlace("SolveTo", c.u, dst, b)
	if err != nil {
		return err
	}
	if err := c.solveOverwrite(ctx, c.engine, x); err != nil {
		return err
	}
	return c.conditionError(ctx)
}

// solveOverwrite overwrites x with A⁻¹·x, on e.
func (c *Cholesky[T]) solveOverwrite(ctx context.Context, e *Engine, x *blocked.Matrix[T]) error {
	return withScaledColumns(ctx, e, x, c.exp, func() error { return c.solve(ctx, e, x) })
}

// solve overwrites x with (Uᵀ·U)⁻¹·x, on e. It ignores exp.
func (c *Cholesky[T]) solve(ctx context.Context, e *Engine, x *blocked.Matrix[T]) error {
	mt, _ := x.Tiles()
	n, nrhs := x.Dims()
	return execute(ctx, e, engine.SolvesDirect[T](e, mt, n, nrhs) && distributedNB[T](c.u, x) == 0, func(s *executor[T]) {
		s.trsm(blas.Upper, blas.Trans, blas.NonUnit, c.u, x)
		s.trsm(blas.Upper, blas.NoTrans, blas.NonUnit, c.u, x)
	})
}

// SolveVecTo solves A·x = b for one right-hand side, dst = x, as SolveTo does. The option is [WithContext].
func (c *Cholesky[T]) SolveVecTo(dst VectorSink[T], b VectorSource[T], opts ...CallOption) error {
	c.valid()
	ctx, err := contextOf("Cholesky.SolveVecTo", opts)
	if err != nil {
		return err
	}
	if f, ok := c.direct(ctx); ok {
		var to, from memory[T]
		if vectorsOf(f.n, dst, &to, f.n, b, &from) && f.solve(c.norm, false, &to, &from) {
			return nil
		}
	}
	if c.exp == 0 && c.bound == nil && !c.u.IsDistributed() {
		done, err := substituteVector(ctx, c.engine, c.u.Dim(), c.u.Dim(), dst, b, c.conditionError, func(s *substitution[T], x [][]T) error {
			return c.substitute(s, x, blas.Trans, blas.NoTrans)
		})
		if done || err != nil {
			return err
		}
	}
	return solveVector(ctx, "A", c.u.Dim(), c.u.Dim(), dst, b, c.solveTo)
}

// direct returns the factors of a small factorization, or false.
func (c *Cholesky[T]) direct(ctx context.Context) (f factors[T], ok bool) {
	n := c.u.Dim()
	if c.u.NB() < n || c.exp != 0 || c.bound != nil || c.u.IsDistributed() || !isDirect(ctx, c.engine, n) {
		return f, false
	}
	t := c.u.Tile(0, 0)
	return factors[T]{form: formCholesky, a: t.Data, n: n, ld: t.Stride}, true
}

// InverseTo computes dst = A⁻¹. An empty *mat.SymDense takes the shape of A. A solution with A is
// cheaper and more accurate than a product with its inverse.
//
// The errors and the panic are those of SolveTo. After an *OverflowError, an *exec.TaskError or
// exec.ErrClosed dst is undefined. The option is [WithContext].
//
// Reference: LAPACK xPOTRI.
func (c *Cholesky[T]) InverseTo(dst SymmetricSink[T], opts ...CallOption) error {
	c.valid()
	ctx, err := contextOf("Cholesky.InverseTo", opts)
	if err != nil {
		return err
	}
	n, nb := c.u.Dim(), c.u.NB()
	if err := shapeResult[T]("InverseTo", "inverse", dst, n, n); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if f, ok := c.direct(ctx); ok {
		if to, upper, ok := symmetricOf[T](dst); ok && f.invertSymmetric(c.norm, &to, upper) {
			return nil
		}
	}
	v, _, back := writable[T](dst, blocked.SymLower, nb, false, c.engine.Options().Workers)
	memory := kept[T]()
	w := memory.triangle(n, nb)
	if err := c.invert(ctx, c.engine, w, v); err != nil {
		return err
	}
	memory.inverse.Put(w)
	if err := inRange(ctx, c.engine, v, nil); err != nil {
		return err
	}
	back()
	return c.conditionError(ctx)
}

// invert overwrites the symmetric v with A⁻¹, on e; w is scratch.
func (c *Cholesky[T]) invert(ctx context.Context, e *Engine, w, v *blocked.Matrix[T]) error {
	n := c.u.Dim()
	t := tiles.Count(n, c.u.NB())
	err := execute(ctx, e, t == 1 && engine.GoesDirect[T](e, engine.OpCholesky, n) && !c.u.IsDistributed(), func(s *executor[T]) {
		if s.p != nil {
			s.err = chol.Potri(s.p, c.u, w, v)
			return
		}
		// w = (Uᵀ)⁻¹, v = wᵀ·w
		w.SetIdentity()
		s.trsm(blas.Upper, blas.Trans, blas.NonUnit, c.u, w)
		syrk := &op.Syrk[T]{Uplo: v.Kind().Uplo(), Trans: blas.Trans, Alpha: 1}
		s.call(s.ops().Op("syrk"), syrk, w.Tile(0, 0), v.Tile(0, 0))
	})
	return rescale(ctx, e, v, -c.exp, err)
}

// Cond estimates the condition number of A in the 1-norm, ‖A‖₁·‖A⁻¹‖₁. But for rounding the
// estimate is a lower bound, which is rarely below a third of the true value. It is +Inf if one
// of the norms is out of range, and NaN if a solution fails, for example on a closed engine. The
// first call computes a few solutions on the engine. The option is [WithContext]; Cond panics with the *OptionsError
// of another one.
//
// Reference: LAPACK xPOCON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (c *Cholesky[T]) Cond(opts ...CallOption) float64 {
	c.valid()
	return condOf[T](mustContext("Cholesky.Cond", opts), c.u.Dim(), nil, c.sizes(), func(ctx context.Context) inverse {
		return c.inverse(ctx, c.engine)
	})
}

// inverse returns A⁻¹ for the condition estimators. If U is distributed, tasks on e solve.
func (c *Cholesky[T]) inverse(ctx context.Context, e *Engine) inverse {
	v := inverse{n: c.u.Dim()}
	if c.u.IsDistributed() {
		v.apply = solveAsMatrix(c.u.NB(), func(x *blocked.Matrix[T]) error { return c.solve(ctx, e, x) })
		v.transposed = v.apply
		return v
	}
	s := newSubstitution[T](ctx, e)
	divide := func(trans ...blas.Transpose) func(x ...[]float64) error {
		return func(x ...[]float64) error {
			return convertVectors(x, func(x [][]T) error { return c.substitute(s, x, trans...) })
		}
	}
	v.apply, v.root = divide(blas.Trans, blas.NoTrans), divide(blas.NoTrans)
	v.transposed = v.apply
	return v
}

// substitute overwrites each vector x with op(U)⁻¹·x, for one op after the other.
func (c *Cholesky[T]) substitute(s *substitution[T], x [][]T, trans ...blas.Transpose) error {
	for _, trans := range trans {
		if err := s.solve(blas.Upper, trans, blas.NonUnit, c.u, x); err != nil {
			return err
		}
	}
	return nil
}

// conditionError returns a mat.Condition if A is singular to working precision, or an error of
// the estimator's solutions. The condition number of A is the square of that of U.
func (c *Cholesky[T]) conditionError(ctx context.Context) error {
	if c.bound == nil {
		return c.norm.check(func() error { return c.nearSingular(ctx) })
	}
	return c.nearSingular(ctx)
}

// nearSingular is conditionError without what is known already.
func (c *Cholesky[T]) nearSingular(ctx context.Context) error {
	return nearSingular(c.u, c.u.Dim(), 2, false, func() error {
		return checkCondition[T](c.sizes(), c.inverse(ctx, c.engine))
	})
}

// sizes returns the norms of A, or bounds of them if c was made from another factorization: with A = Uᵀ·U, the 1-norm of
// column j is at most ‖Uᵀ‖₁·‖u_j‖₁, and at most √a_jj·Σ√a_ii.
func (c *Cholesky[T]) sizes() norms {
	if c.bound == nil {
		return c.norm
	}
	k, _ := c.bound.get(func() ([]float64, error) {
		n, nb := c.u.Dim(), c.u.NB()
		columns, squares, rows := make([]float64, n), make([]float64, n), make([]float64, n)
		for ti, tj := range c.u.StoredTiles() {
			t := c.u.Tile(ti, tj)
			for i := range t.Rows {
				lo := 0
				if ti == tj {
					lo = i
				}
				for j := lo; j < t.Cols; j++ {
					v := math.Abs(float64(t.Row(i)[j]))
					columns[tj*nb+j] += v
					squares[tj*nb+j] += v * v
					rows[ti*nb+i] += v
				}
			}
		}
		largest, roots := 0.0, 0.0
		for i, v := range rows {
			largest, roots = max(largest, v), roots+math.Sqrt(squares[i])
		}
		for j := range columns {
			columns[j] = min(largest*columns[j], math.Sqrt(squares[j])*roots)
		}
		return columns, nil
	})
	return k
}
