package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// Cholesky is the Cholesky factorization of a symmetric positive definite
// n×n matrix,
//
//	A = L·Lᵀ = Uᵀ·U,
//
// after gonum's mat.Cholesky. The zero value is without a factorization and
// uses the default engine. A Cholesky may be read from several goroutines at
// once.
type Cholesky[T Element] struct {
	engine *Engine
	// u holds U in its upper half; nil if there is no factorization. The
	// upper half, because tiles are row-major: the updates UᵀU read them
	// along their rows.
	u     *blocked.Matrix[T]
	norm  norms              // of A
	exp   int                // U is the factor of A divided by two to this power, which is even
	spare *blocked.Matrix[T] // memory of a former factorization
}

// NewCholesky returns an empty factorization that computes on e.
func NewCholesky[T Element](e *Engine) *Cholesky[T] { return &Cholesky[T]{engine: e} }

// Factorize computes the factorization of a, which is not changed; a former
// factorization is replaced and its memory used again. Of a matrix in memory
// only the stored triangle is read, of a Full *blocked.Matrix the upper one.
//
// The error is a *NonFiniteError, a *NotPositiveDefiniteError with LAPACK's
// value, an *exec.TaskError that names a version that has failed, or
// exec.ErrClosed. c is then empty.
//
// Reference: LAPACK xPOTRF.
func (c *Cholesky[T]) Factorize(a SymmetricSource[T]) error {
	return c.FactorizeContext(context.Background(), a)
}

// FactorizeContext is Factorize in a context. When ctx ends it returns the
// cause as soon as the kernels that run have returned; c is then empty.
func (c *Cholesky[T]) FactorizeContext(ctx context.Context, a SymmetricSource[T]) error {
	n := a.SymmetricDim()
	u := c.u
	if u == nil {
		u = c.spare
	}
	c.u, c.spare, c.norm, c.exp = nil, u, norms{}, 0
	if err := c.engine.ready(ctx); err != nil {
		return err
	}
	nb, one := TileSize[T](c.engine, OpCholesky, n, n)
	nb = max(1, nb)
	a = c.upper(a, nb)
	if !fits(u, n, n, nb) {
		u = nil
	}
	r := read(c.engine, u, Source[T](a), blocked.SymUpper, nb, one, false)
	c.spare = r.a
	if err := r.refused(); err != nil {
		return err
	}
	err := c.decompose(ctx, c.engine, r)
	exp := excess[T](r.stats.Max)
	if _, npd := errors.AsType[*NotPositiveDefiniteError](err); exp == 0 || err != nil && !npd {
		return err
	}
	v, stats := blocked.From(Source[T](a), blocked.SymUpper, nb, c.engine.copying(true))
	stats, exp = moderated(c.engine, v, stats)
	if err := c.decompose(ctx, c.engine, &reading[T]{a: v, stats: stats}); err != nil {
		return err
	}
	c.exp = exp
	return nil
}

// decompose makes c the factorization, computed on e, of the matrix that r reads,
// of which the upper half is stored, and which becomes c's.
func (c *Cholesky[T]) decompose(ctx context.Context, e *Engine, r *reading[T]) error {
	u := r.a
	c.u, c.spare, c.norm, c.exp = nil, u, norms{}, 0
	n := u.Dim()
	var err error
	switch t, _ := u.Tiles(); {
	case n == 0:
	case t == 1 && goesDirect[T](e, OpCholesky, n) && !u.IsDistributed():
		err = direct(ctx, e, kernels.For[T](e.ops()).Op("potrf"), &op.Potrf{Uplo: blas.Upper}, u.Tile(0, 0))
	default:
		err = run(ctx, e, func(p *blocked.Program[T]) error {
			r.priority = blocked.PotrfLoads(t)
			if err := r.submit(p); err != nil {
				return err
			}
			return p.Potrf(u)
		})
	}
	if err = r.end(err); err != nil {
		return err
	}
	c.u, c.spare, c.norm = u, nil, newNorms(r.stats.Columns)
	return nil
}

// upper returns a, or if it has no upper half one that has.
func (c *Cholesky[T]) upper(a SymmetricSource[T], nb int) SymmetricSource[T] {
	if m, ok := any(a).(*blocked.Matrix[T]); ok && m.Kind() == blocked.TriLower {
		a, _ = blocked.From[T](m, blocked.SymLower, nb, c.engine.copying(false))
	}
	return a
}

// valid panics with ErrNotFactorized if there is no factorization.
func (c *Cholesky[T]) valid() {
	if c.u == nil {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether c is without a factorization.
func (c *Cholesky[T]) IsEmpty() bool { return c.u == nil }

// SymmetricDim returns n. It panics with ErrNotFactorized, as all methods but
// Factorize, FactorizeContext, FactorizeCheckpoint, IsEmpty, Reset and Clone do,
// if there is no factorization.
func (c *Cholesky[T]) SymmetricDim() int {
	c.valid()
	return c.u.Dim()
}

// Reset drops the factorization. Its memory is kept for the next one of the
// same size; to free it, drop c.
func (c *Cholesky[T]) Reset() {
	if c.u != nil {
		c.spare = c.u
	}
	c.u, c.norm, c.exp = nil, norms{}, 0
}

// Clone makes c a copy of src, on src's engine. It panics with
// ErrNotFactorized if src is without a factorization.
func (c *Cholesky[T]) Clone(src *Cholesky[T]) {
	src.valid()
	*c = Cholesky[T]{engine: src.engine, u: src.u.Clone(), norm: newNorms(src.norm.columns), exp: src.exp}
}

// SolveTo solves A·X = B for X, dst = X, where B is n×nrhs. dst may be b; an
// empty *mat.Dense takes the shape of b.
//
// The error is a *ShapeError, an *OverflowError if B is finite and the solution is not (dst
// is then as it was, but for the shape), or a mat.Condition if A is singular to
// working precision, as [Solve] finds it out, at the first solution; dst then holds a solution whose digits may all be wrong. Otherwise it is an *exec.TaskError that names a version that
// has failed, or exec.ErrClosed; dst is then as it was, but for the shape.
// SolveTo panics with ErrNotFactorized if there is no factorization.
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
	if err := c.divide(context.Background(), c.engine, x); err != nil {
		return err
	}
	if err := inRange(context.Background(), c.engine, x, b); err != nil {
		return err
	}
	condition := c.conditionError(context.Background())
	if unset(condition) {
		return condition
	}
	x.CopyTo(to, c.engine.options().Workers)
	return condition
}

// divide overwrites x with A⁻¹·x, on e.
func (c *Cholesky[T]) divide(ctx context.Context, e *Engine, x *blocked.Matrix[T]) error {
	return moderately(ctx, e, x, c.exp, func() error { return c.solve(ctx, e, x) })
}

// solve overwrites x with (Uᵀ·U)⁻¹·x, on e.
func (c *Cholesky[T]) solve(ctx context.Context, e *Engine, x *blocked.Matrix[T]) error {
	mt, _ := x.Tiles()
	n, nrhs := x.Dims()
	return perform(ctx, e, solvesDirect[T](e, mt, n, nrhs) && distributed[T](c.u, x) == 0, func(s *stage[T]) {
		s.trsm(blas.Upper, blas.Trans, blas.NonUnit, c.u, x)
		s.trsm(blas.Upper, blas.NoTrans, blas.NonUnit, c.u, x)
	})
}

// SolveVecTo solves A·x = b for one right-hand side, dst = x, as SolveTo does.
func (c *Cholesky[T]) SolveVecTo(dst VectorSink[T], b VectorSource[T]) error {
	c.valid()
	return solveVector("A", c.u.Dim(), c.u.Dim(), dst, b, c.SolveTo)
}

// InverseTo computes dst = A⁻¹. An empty *mat.SymDense takes the shape of A.
// Solving with A is cheaper and more accurate than multiplying by its inverse.
//
// The errors and the panic are those of SolveTo, but after an *OverflowError, or when a
// version has failed or the engine was closed, dst is undefined.
//
// Reference: LAPACK xPOTRI.
func (c *Cholesky[T]) InverseTo(dst SymmetricSink[T]) error {
	c.valid()
	n, nb := c.u.Dim(), c.u.NB()
	if err := give[T]("InverseTo", "inverse", dst, n, n); err != nil {
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

// invert computes the inverse in the symmetric v, on e; w is scratch.
func (c *Cholesky[T]) invert(ctx context.Context, e *Engine, w, v *blocked.Matrix[T]) error {
	n := c.u.Dim()
	t := tiles.Count(n, c.u.NB())
	err := perform(ctx, e, t == 1 && goesDirect[T](e, OpCholesky, n) && !c.u.IsDistributed(), func(s *stage[T]) {
		if s.p != nil {
			s.err = s.p.Potri(c.u, w, v)
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

// LTo copies the factor L to dst, in which elements below the range of T are rounded, which must be lower triangular; an empty
// *mat.TriDense is made so. It panics with ErrNotFactorized, with mat.ErrShape
// if dst is not n×n, and with mat.ErrTriangle if it is upper triangular or its
// diagonal is all ones.
func (c *Cholesky[T]) LTo(dst TriangularSink[T]) { c.factorTo(dst, mat.Lower) }

// UTo copies the factor U to dst, which must be upper triangular; it panics as
// LTo does.
func (c *Cholesky[T]) UTo(dst TriangularSink[T]) { c.factorTo(dst, mat.Upper) }

func (c *Cholesky[T]) factorTo(dst TriangularSink[T], kind mat.TriKind) {
	c.valid()
	if _, empty := shapeTriangle(dst, c.u.Dim(), kind, false); empty {
		return
	}
	u := c.u
	if c.exp != 0 {
		u = u.Clone()
		multiply(u, c.exp/2)
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

// Cond estimates the condition number of A in the 1-norm, ‖A‖₁·‖A⁻¹‖₁. The
// estimate is a lower bound, but for rounding, that is rarely below a third of
// the truth; +Inf if one of the norms is out of range. The first call costs a few
// solutions, on the engine; if they fail, as those of a closed engine do, it is NaN.
//
// Reference: LAPACK xPOCON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (c *Cholesky[T]) Cond() float64 {
	c.valid()
	if c.u.Dim() == 0 {
		return 0
	}
	k, err := cond[T](c.norm, c.inverse(context.Background(), c.engine))
	if err != nil {
		return math.NaN()
	}
	return k
}

// inverse returns what solves with A for estimates, on e if U is on its nodes.
func (c *Cholesky[T]) inverse(ctx context.Context, e *Engine) inverse {
	v := inverse{n: c.u.Dim()}
	if c.u.IsDistributed() {
		v.apply = onVectors(c.u.NB(), func(x *blocked.Matrix[T]) error { return c.solve(ctx, e, x) })
		v.transposed = v.apply
		return v
	}
	s := newSubstitution[T](ctx, e)
	divide := func(trans ...blas.Transpose) func(x ...[]float64) error {
		return func(x ...[]float64) error {
			return inT(x, func(x [][]T) error {
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

// conditionError returns a mat.Condition if A is singular to working precision, or an error of the
// solutions that tell. The condition number of U is the root of that of A.
func (c *Cholesky[T]) conditionError(ctx context.Context) error {
	return nearSingular(c.u, c.u.Dim(), 2, false, func() error { return judge[T](c.norm, c.inverse(ctx, c.engine)) })
}

// epsilon returns LAPACK's eps of T: half the distance from 1 to the next
// number.
func epsilon[T Element]() float64 { return scalar.Eps[T]() }
