package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// Cholesky is the Cholesky factorization of a symmetric positive definite n×n matrix,
//
//	A = L·Lᵀ = Uᵀ·U,
//
// after gonum's mat.Cholesky. The zero value holds no factorization and uses the default engine.
// Several goroutines may read a Cholesky at once.
type Cholesky[T Element] struct {
	engine *Engine
	// u holds U in its upper half; nil if there is no factorization. It is the upper half because
	// tiles are row-major: the updates UᵀU then read them along their rows.
	u     *blocked.Matrix[T]
	norm  norms              // of A
	bound *lazyNorms         // if not nil, bounds of A's norms instead: see sizes
	exp   int                // U is the factor of A divided by two to this power, which is even
	spare *blocked.Matrix[T] // memory of a former factorization
}

// NewCholesky returns an empty factorization that computes on e.
func NewCholesky[T Element](e *Engine) *Cholesky[T] { return &Cholesky[T]{engine: e} }

// Factorize computes the factorization of a, which does not change. It replaces an earlier
// factorization and uses its memory again. Of a matrix in memory it reads only the stored
// triangle, of a Full *blocked.Matrix the upper one.
//
// The error is a *NonFiniteError, a *NotPositiveDefiniteError with LAPACK's value, an
// *exec.TaskError that names the version that failed, or exec.ErrClosed. c is then empty.
//
// Reference: LAPACK xPOTRF.
func (c *Cholesky[T]) Factorize(a SymmetricSource[T]) error {
	return c.FactorizeContext(context.Background(), a)
}

// FactorizeContext is Factorize in a context. When ctx ends it returns the cause as soon as the
// running kernels have returned; c is then empty.
func (c *Cholesky[T]) FactorizeContext(ctx context.Context, a SymmetricSource[T]) error {
	n := a.SymmetricDim()
	u := c.u
	if u == nil {
		u = c.spare
	}
	c.u, c.spare, c.norm, c.bound, c.exp = nil, u, norms{}, nil, 0
	if err := c.engine.ready(ctx); err != nil {
		return err
	}
	nb, one := TileSize[T](c.engine, OpCholesky, n, n)
	nb = max(1, nb)
	a = c.upper(a)
	if !fits(u, n, n, nb) {
		u = nil
	}
	r := newReading(c.engine, u, Source[T](a), blocked.SymUpper, nb, one, false)
	c.spare = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	err := c.decompose(ctx, c.engine, r)
	exp := scaleExponent[T](r.stats.Max)
	if _, npd := errors.AsType[*NotPositiveDefiniteError](err); exp == 0 || err != nil && !npd {
		return err
	}
	v, stats := blocked.From(Source[T](a), blocked.SymUpper, nb, c.engine.copying(true))
	stats, exp = scaleCopy(c.engine, v, stats)
	if err := c.decompose(ctx, c.engine, &reading[T]{a: v, stats: stats}); err != nil {
		return err
	}
	c.exp = exp
	return nil
}

// decompose factors the matrix that r reads, on e, in r's tiles, which become c's. The matrix
// stores its upper half.
func (c *Cholesky[T]) decompose(ctx context.Context, e *Engine, r *reading[T]) error {
	u := r.a
	c.u, c.spare, c.norm, c.bound, c.exp = nil, u, norms{}, nil, 0
	n := u.Dim()
	var err error
	switch t, _ := u.Tiles(); {
	case n == 0:
	case t == 1 && goesDirect[T](e, OpCholesky, n) && !u.IsDistributed():
		err = Call(ctx, e, kernels.For[T](e.ops()).Op("potrf"), &op.Potrf{Uplo: blas.Upper}, u.Tile(0, 0))
	default:
		err = Run(ctx, e, func(p *blocked.Program[T]) error {
			r.priority = chol.PotrfLoads(t)
			if err := r.submit(p); err != nil {
				return err
			}
			return chol.Potrf(p, u)
		})
	}
	if err = r.finish(err); err != nil {
		return err
	}
	c.u, c.spare, c.norm = u, nil, newNorms(r.stats.Columns)
	return nil
}

// upper returns a, or a symmetric copy of a lower triangle that is read as a symmetric matrix.
func (c *Cholesky[T]) upper(a SymmetricSource[T]) SymmetricSource[T] {
	if m, ok := any(a).(*blocked.Matrix[T]); ok && m.Kind() == blocked.TriLower {
		a, _ = blocked.From[T](m, blocked.SymLower, m.NB(), c.engine.copying(false))
	}
	return a
}

// valid panics with ErrNotFactorized if there is no factorization.
func (c *Cholesky[T]) valid() {
	if c.u == nil {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether c holds no factorization.
func (c *Cholesky[T]) IsEmpty() bool { return c.u == nil }

// SymmetricDim returns n. Like all methods but Factorize, FactorizeContext, FactorizeCheckpoint,
// IsEmpty, Reset, Clone and those that take another factorization, it panics with ErrNotFactorized if there is no factorization.
func (c *Cholesky[T]) SymmetricDim() int {
	c.valid()
	return c.u.Dim()
}

// Reset drops the factorization. Its memory stays for the next one of the same size; drop c to
// free it.
func (c *Cholesky[T]) Reset() {
	if c.u != nil {
		c.spare = c.u
	}
	c.u, c.norm, c.bound, c.exp = nil, norms{}, nil, 0
}

// clear drops the factorization and its memory.
func (c *Cholesky[T]) clear() { *c = Cholesky[T]{engine: c.engine} }

// Clone makes c a copy of src, on src's engine. It panics with ErrNotFactorized if src holds no
// factorization.
func (c *Cholesky[T]) Clone(src *Cholesky[T]) {
	src.valid()
	*c = Cholesky[T]{engine: src.engine, u: src.u.Clone(), norm: newNorms(src.norm.columns), exp: src.exp}
	if src.bound != nil {
		c.bound = new(lazyNorms)
	}
}

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
// Reference: LAPACK xPOTRS.
func (c *Cholesky[T]) SolveTo(dst Destination[T], b Source[T]) error {
	c.valid()
	n := c.u.Dim()
	to, err := checkSystem("SolveTo", n, n, dst, b)
	if err != nil {
		return err
	}
	if _, nrhs := b.Dims(); n == 0 || nrhs == 0 {
		return nil
	}
	x, _ := blocked.From(b, blocked.Full, c.u.NB(), c.engine.copying(false))
	if err := c.solveOverwrite(context.Background(), c.engine, x); err != nil {
		return err
	}
	if err := inRange(context.Background(), c.engine, x, b); err != nil {
		return err
	}
	condition := c.conditionError(context.Background())
	if noSolution(condition) {
		return condition
	}
	x.CopyTo(to, c.engine.options().Workers)
	return condition
}

// solveOverwrite overwrites x with A⁻¹·x, on e.
func (c *Cholesky[T]) solveOverwrite(ctx context.Context, e *Engine, x *blocked.Matrix[T]) error {
	return withScaledColumns(ctx, e, x, c.exp, func() error { return c.solve(ctx, e, x) })
}

// solve overwrites x with (Uᵀ·U)⁻¹·x, on e. It ignores exp.
func (c *Cholesky[T]) solve(ctx context.Context, e *Engine, x *blocked.Matrix[T]) error {
	mt, _ := x.Tiles()
	n, nrhs := x.Dims()
	return execute(ctx, e, solvesDirect[T](e, mt, n, nrhs) && distributedNB[T](c.u, x) == 0, func(s *executor[T]) {
		s.trsm(blas.Upper, blas.Trans, blas.NonUnit, c.u, x)
		s.trsm(blas.Upper, blas.NoTrans, blas.NonUnit, c.u, x)
	})
}

// SolveVecTo solves A·x = b for one right-hand side, dst = x, as SolveTo does.
func (c *Cholesky[T]) SolveVecTo(dst VectorSink[T], b VectorSource[T]) error {
	c.valid()
	return solveVector("A", c.u.Dim(), c.u.Dim(), dst, b, c.SolveTo)
}

// InverseTo computes dst = A⁻¹. An empty *mat.SymDense takes the shape of A. A solution with A is
// cheaper and more accurate than a product with its inverse.
//
// The errors and the panic are those of SolveTo. After an *OverflowError, an *exec.TaskError or
// exec.ErrClosed dst is undefined.
//
// Reference: LAPACK xPOTRI.
func (c *Cholesky[T]) InverseTo(dst SymmetricSink[T]) error {
	c.valid()
	n, nb := c.u.Dim(), c.u.NB()
	if err := shapeResult[T]("InverseTo", "inverse", dst, n, n); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	v, _, back := writable[T](dst, blocked.SymLower, nb, false, c.engine.options().Workers)
	w := blocked.New[T](blocked.TriLower, n, n, nb)
	if err := c.invert(context.Background(), c.engine, w, v); err != nil {
		return err
	}
	if err := inRange(context.Background(), c.engine, v, nil); err != nil {
		return err
	}
	back()
	return c.conditionError(context.Background())
}

// invert overwrites the symmetric v with A⁻¹, on e; w is scratch.
func (c *Cholesky[T]) invert(ctx context.Context, e *Engine, w, v *blocked.Matrix[T]) error {
	n := c.u.Dim()
	t := tiles.Count(n, c.u.NB())
	err := execute(ctx, e, t == 1 && goesDirect[T](e, OpCholesky, n) && !c.u.IsDistributed(), func(s *executor[T]) {
		if s.p != nil {
			s.err = chol.Potri(s.p, c.u, w, v)
			return
		}
		// w = (Uᵀ)⁻¹, v = wᵀ·w
		w.SetIdentity()
		s.trsm(blas.Upper, blas.Trans, blas.NonUnit, c.u, w)
		syrk := &op.Syrk{Uplo: v.Kind().Uplo(), Trans: blas.Trans, Alpha: 1}
		s.call(s.ops().Op("syrk"), syrk, w.Tile(0, 0), v.Tile(0, 0))
	})
	return rescale(ctx, e, v, -c.exp, err)
}

// LTo copies the factor L to dst, which must be lower triangular; an empty *mat.TriDense becomes
// lower triangular. Elements below the range of T are rounded. LTo panics with ErrNotFactorized,
// with mat.ErrShape if dst is not n×n, and with mat.ErrTriangle if dst is upper triangular or has
// a unit diagonal.
func (c *Cholesky[T]) LTo(dst TriangularSink[T]) { c.factorTo(dst, mat.Lower) }

// UTo copies the factor U to dst, which must be upper triangular; it panics as LTo does.
func (c *Cholesky[T]) UTo(dst TriangularSink[T]) { c.factorTo(dst, mat.Upper) }

// factorTo copies L or U to dst.
func (c *Cholesky[T]) factorTo(dst TriangularSink[T], kind mat.TriKind) {
	c.valid()
	if _, empty := shapeTriangle(dst, c.u.Dim(), kind, false); empty {
		return
	}
	u := c.u
	if c.exp != 0 {
		u = u.Clone()
		scaleByPower(u, c.exp/2)
	}
	// A symmetric view of U gives U above and Uᵀ = L below the diagonal.
	u.CopyTo(dst, c.engine.options().Workers)
}

// Det returns the determinant of A, +Inf or 0 if it is out of range.
func (c *Cholesky[T]) Det() float64 { return math.Exp(c.LogDet()) }

// LogDet returns the logarithm of the determinant of A.
func (c *Cholesky[T]) LogDet() float64 {
	c.valid()
	var sum float64
	for i := range c.u.Dim() {
		sum += math.Log(float64(c.u.At(i, i)))
	}
	return 2*sum + float64(c.u.Dim()*c.exp)*math.Ln2
}

// Cond estimates the condition number of A in the 1-norm, ‖A‖₁·‖A⁻¹‖₁. But for rounding the
// estimate is a lower bound, which is rarely below a third of the true value. It is +Inf if one
// of the norms is out of range, and NaN if a solution fails, for example on a closed engine. The
// first call computes a few solutions on the engine.
//
// Reference: LAPACK xPOCON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (c *Cholesky[T]) Cond() float64 {
	c.valid()
	if c.u.Dim() == 0 {
		return 0
	}
	k, err := conditionNumber[T](c.sizes(), c.inverse(context.Background(), c.engine))
	if err != nil {
		return math.NaN()
	}
	return k
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
			return convertVectors(x, func(x [][]T) error {
				for _, trans := range trans {
					if err := s.solve(blas.Upper, trans, blas.NonUnit, c.u, x); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	v.apply, v.root = divide(blas.Trans, blas.NoTrans), divide(blas.NoTrans)
	v.transposed = v.apply
	return v
}

// conditionError returns a mat.Condition if A is singular to working precision, or an error of
// the estimator's solutions. The condition number of A is the square of that of U.
func (c *Cholesky[T]) conditionError(ctx context.Context) error {
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
