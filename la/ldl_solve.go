package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// SolveTo solves A·X = B for X, dst = X, where B is n×nrhs. dst may be b; an empty *mat.Dense takes the shape of b.
//
// The error is one of:
//   - a *ShapeError;
//   - a *SingularError if a block of D is zero;
//   - an *OverflowError if B is finite and the solution is not;
//   - a mat.Condition if A is singular to working precision (see [Solve]): if it is finite, dst holds
//     a solution whose digits may all be wrong; +Inf says that D is out of range;
//   - an *exec.TaskError that names the version that failed, or exec.ErrClosed.
//
// But for the finite mat.Condition an error leaves dst unchanged, except for its shape. SolveTo panics with
// ErrNotFactorized if there is no factorization. The option is [WithContext].
//
// Reference: LAPACK xSYTRS_3.
func (f *LDL[T]) SolveTo(dst Destination[T], b Source[T], opts ...CallOption) error {
	f.check()
	ctx, err := contextOf("LDL.SolveTo", opts)
	if err != nil {
		return err
	}
	return f.solveTo(ctx, dst, b)
}

// solveTo is SolveTo in a context.
func (f *LDL[T]) solveTo(ctx context.Context, dst Destination[T], b Source[T]) error {
	n := f.a.Dim()
	to, err := checkSystem("SolveTo", n, n, dst, b)
	if err != nil {
		return err
	}
	if _, nrhs := b.Dims(); n == 0 || nrhs == 0 {
		return nil
	}
	condition := f.conditionError(ctx)
	if noSolution(condition) {
		return condition
	}
	x, _ := blocked.From(b, blocked.Full, f.tileSize(), copying(f.engine))
	if err := f.solveOverwrite(ctx, x); err != nil {
		return err
	}
	if err := inRange(ctx, f.engine, x, b); err != nil {
		return err
	}
	x.CopyTo(to, f.engine.Options().Workers)
	return condition
}

// SolveVecTo solves A·x = b for one right-hand side, dst = x, as SolveTo does.
func (f *LDL[T]) SolveVecTo(dst VectorSink[T], b VectorSource[T], opts ...CallOption) error {
	f.check()
	ctx, err := contextOf("LDL.SolveVecTo", opts)
	if err != nil {
		return err
	}
	if f.exp == 0 {
		done, err := substituteVector(ctx, f.engine, f.a.Dim(), f.a.Dim(), dst, b, f.conditionError, func(s *substitution[T], x [][]T) error {
			return f.substitute(s, x)
		})
		if done || err != nil {
			return err
		}
	}
	return solveVector(ctx, "A", f.a.Dim(), f.a.Dim(), dst, b, f.solveTo)
}

// solveOverwrite overwrites x, in tiles of f's tile size, with A⁻¹·x.
func (f *LDL[T]) solveOverwrite(ctx context.Context, x *blocked.Matrix[T]) error {
	return withScaledColumns(ctx, f.engine, x, f.exp, func() error { return f.solve(ctx, x) })
}

// solve is solveOverwrite for A divided by 2^exp.
func (f *LDL[T]) solve(ctx context.Context, x *blocked.Matrix[T]) error {
	n, nrhs := x.Dims()
	mt, _ := x.Tiles()
	u := f.factor(blocked.Full, x.NB())
	direct := engine.SolvesDirect[T](f.engine, mt, n, nrhs)
	row := func(i int) func(j int) []T {
		return func(j int) []T { return x.Tile(i/x.NB(), j).Row(i % x.NB()) }
	}
	_, nt := x.Tiles()
	exchange := func(k int) {
		if p := f.pivots.Rows[k]; p != k {
			for j := range nt {
				a, b := row(k)(j), row(p)(j)
				for c, v := range a {
					a[c], b[c] = b[c], v
				}
			}
		}
	}
	for k := range n {
		exchange(k)
	}
	if err := execute(ctx, f.engine, direct, func(s *executor[T]) {
		s.trsm(blas.Upper, blas.Trans, blas.Unit, u, x)
	}); err != nil {
		return err
	}
	d, e := f.diagonal()
	for k := 0; k < n; k++ {
		for j := range nt {
			if e[k] == 0 {
				divide(d[k], row(k)(j))
			} else {
				divideBlock(d[k], e[k], d[k+1], row(k)(j), row(k+1)(j))
			}
		}
		if e[k] != 0 {
			k++
		}
	}
	err := execute(ctx, f.engine, direct, func(s *executor[T]) {
		s.trsm(blas.Upper, blas.NoTrans, blas.Unit, u, x)
	})
	for k := n - 1; k >= 0; k-- {
		exchange(k)
	}
	return err
}

// divide divides x by d.
func divide[T Element](d T, x []T) {
	for i := range x {
		x[i] /= d
	}
}

// divideBlock overwrites the rows x and y with their products by the inverse of a block of order 2.
func divideBlock[T Element](p, e, q T, x, y []T) {
	p, q = p/e, q/e
	scale := 1 / (p*q - 1)
	for i, v := range x {
		a, b := v/e, y[i]/e
		x[i], y[i] = scale*(q*a-b), scale*(p*b-a)
	}
}

// InverseTo computes dst = A⁻¹. An empty *mat.SymDense takes the shape of A. A solution with A is cheaper and more
// accurate than a product with its inverse.
//
// The errors, the panic and the option are those of SolveTo.
func (f *LDL[T]) InverseTo(dst SymmetricSink[T], opts ...CallOption) error {
	f.check()
	ctx, err := contextOf("LDL.InverseTo", opts)
	if err != nil {
		return err
	}
	n := f.a.Dim()
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
	v := blocked.New[T](blocked.Full, n, n, f.tileSize())
	v.SetIdentity()
	if err := f.solve(ctx, v); err != nil {
		return err
	}
	if err := rescale(ctx, f.engine, v, -f.exp, nil); err != nil {
		return err
	}
	if err := inRange(ctx, f.engine, v, nil); err != nil {
		return err
	}
	v.CopyTo(Source[T](dst), f.engine.Options().Workers)
	return condition
}

// Cond estimates the condition number of A in the 1-norm, ‖A‖₁·‖A⁻¹‖₁. But for rounding the estimate is a lower bound,
// which is rarely below a third of the true value. It is +Inf if A is singular or one of the norms out of range, and NaN
// if a solution fails, for example on a closed engine. The first call computes a few solutions. It panics with an
// *OptionsError for an option other than [WithContext].
//
// Reference: LAPACK xSYCON_3, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (f *LDL[T]) Cond(opts ...CallOption) float64 {
	f.check()
	return condOf[T](mustContext("LDL.Cond", opts), f.a.Dim(), f.singular(), f.norm, f.inverse)
}

// inverse returns A⁻¹ for the condition estimators.
func (f *LDL[T]) inverse(ctx context.Context) inverse {
	s := newSubstitution[T](ctx, f.engine)
	apply := func(x ...[]float64) error {
		return convertVectors(x, func(x [][]T) error { return f.substitute(s, x) })
	}
	return inverse{n: f.a.Dim(), apply: apply, transposed: apply}
}

// substitute overwrites each vector x with (L·D·Lᵀ)⁻¹·x in the order of the pivots.
func (f *LDL[T]) substitute(s *substitution[T], vectors [][]T) error {
	d, e := f.diagonal()
	for _, x := range vectors {
		exchange(x, f.pivots.Rows)
	}
	if err := s.solve(blas.Upper, blas.Trans, blas.Unit, f.tiles, vectors); err != nil {
		return err
	}
	for _, x := range vectors {
		for k := 0; k < len(d); k++ {
			if e[k] == 0 {
				x[k] /= d[k]
				continue
			}
			divideBlock(d[k], e[k], d[k+1], x[k:k+1], x[k+1:k+2])
			k++
		}
	}
	if err := s.solve(blas.Upper, blas.NoTrans, blas.Unit, f.tiles, vectors); err != nil {
		return err
	}
	for _, x := range vectors {
		exchangeBack(x, f.pivots.Rows)
	}
	return nil
}

// conditionError returns a *SingularError, a mat.Condition if A is singular to working precision, or an error of the
// estimator's solutions. As in [nearSingular], a row of A that depends on those before it in the order of the pivots,
// but for rounding, shows in D·Lᵀ.
func (f *LDL[T]) conditionError(ctx context.Context) error {
	return f.norm.check(func() error { return f.nearSingular(ctx) })
}

// nearSingular is conditionError without what is known already.
func (f *LDL[T]) nearSingular(ctx context.Context) error {
	if err := f.singular(); err != nil {
		return err
	}
	ratio, inRange := f.dependence()
	switch {
	case !inRange:
		return mat.Condition(math.Inf(1))
	case ratio >= 1/(8*scalar.Eps[T]()):
		return mat.Condition(min(ratio, math.MaxFloat64))
	}
	return checkCondition[T](f.norm, f.inverse(ctx))
}

// dependence returns the largest ratio of an element of D·Lᵀ above the diagonal and the block of D in its column, for
// columns whose block is small against the largest one. It reports whether all elements that it has read are finite.
func (f *LDL[T]) dependence() (ratio float64, inRange bool) {
	n := f.a.Dim()
	if n == 0 {
		return 0, true
	}
	d, e := f.diagonal()
	u := f.a.Tile(0, 0)
	size := func(k int) float64 { // of the block that has row k
		s := math.Abs(float64(d[k]))
		if e[k] != 0 {
			s = max(s, math.Abs(float64(e[k])))
		}
		if k > 0 && e[k-1] != 0 {
			s = max(s, math.Abs(float64(e[k-1])))
		}
		return s
	}
	top := 0.0
	for k := range n {
		s := size(k)
		if s-s != 0 {
			return 0, false
		}
		top = max(top, s)
	}
	limit := 1 / (8 * scalar.Eps[T]())
	for k := 0; k < n && ratio < limit; k++ {
		s := size(k)
		if top/s < math.Sqrt(limit) {
			continue
		}
		for i := range k {
			x := float64(d[i]) * float64(u.Row(i)[k])
			if e[i] != 0 && i+1 < k {
				x += float64(e[i]) * float64(u.Row(i + 1)[k])
			}
			if i > 0 && e[i-1] != 0 {
				x += float64(e[i-1]) * float64(u.Row(i - 1)[k])
			}
			if x-x != 0 {
				return ratio, false
			}
			ratio = max(ratio, math.Abs(x)/s)
		}
	}
	return ratio, true
}
