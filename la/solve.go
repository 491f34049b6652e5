package la

import (
	"context"
	"errors"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Method is how [Solve] and [Inverse] treat a matrix.
type Method uint8

// The methods, with what they take for an n×n matrix to leading order.
const (
	// MethodNone: there was nothing to solve, or an error came before a method was chosen.
	MethodNone Method = iota
	// MethodDiagonal divides by the diagonal.
	MethodDiagonal
	// MethodTriangular substitutes, in n² flops for each right-hand side.
	MethodTriangular
	// MethodCholesky is that of [Cholesky]: n³/3 flops.
	MethodCholesky
	// MethodLU is that of [LU] with partial pivoting: 2n³/3 flops.
	MethodLU
	// MethodQR is that of [QR], for matrices that are not square: 2n²(m−n/3)
	// flops of an m×n one with m ≥ n.
	MethodQR
)

func (m Method) String() string {
	return nameOf([]string{"none", "diagonal", "triangular", "Cholesky", "LU", "QR"}, uint8(m), "Method")
}

// SolveReport tells how a system was solved.
type SolveReport struct {
	// Method is the method that gave the solution, or the error.
	Method Method
	// Minor is not 0 if a symmetric matrix with a positive diagonal turned out
	// not to be positive definite, and was then treated by MethodLU: the order
	// of the minor that is not, as in [NotPositiveDefiniteError].
	Minor int
}

// Solve solves A·X = B, dst = X, where A is m×n and B m×nrhs, by the method that
// A calls for:
//
//	m = n, diagonal                 division
//	m = n, triangular               substitution
//	m = n, symmetric, all aᵢᵢ > 0   Cholesky, or LU where that fails
//	m = n, any other                LU
//	m > n                           QR: X minimizes ‖b−A·x‖₂ for each column
//	m < n                           QR: of all solutions X has the smallest ‖x‖₂
//
// What A looks like is seen from its type, or else from its elements; a matrix
// that is almost symmetric is not. Bands are not made use of. Who knows the
// method and solves more than once keeps the factorization instead: see
// [Cholesky], [LU] and [QR]; see [SolveSPD] and [SolveGeneral] for large systems.
//
// dst may share memory with A and B; an empty *mat.Dense becomes n×nrhs.
//
// A distributed A (blocked.Distributed, on the engine's runtime) is what its kind says; its
// elements are not looked at. It stays as it is: a copy is factored on the nodes, which need
// the memory for that; [LU.FactorizeInPlace] and others do without. B is copied to the nodes.
// A distributed dst is written by tasks, wherever A is.
//
// The error is a *ShapeError; a *NonFiniteError for A; an *OverflowError if B is finite and
// the solution is not; for a square A whose factor U has a zero on the diagonal a
// *SingularError, and for one that is not square and has not full rank, or whose factors are
// out of range, a mat.Condition of +Inf. Any other mat.Condition says that A is singular to
// working precision: its condition number in the 1-norm is beyond mat.ConditionTolerance (2·10⁷ in
// float32), also if each column is scaled to norm 1, or a column depends on others but for rounding.
// Only then is dst set, to a solution whose digits may all be wrong. Otherwise the error is the
// cause of the context's end, an *exec.TaskError that names a version that has failed, or
// exec.ErrClosed. But for the finite mat.Condition dst is as it was, its shape excepted.
//
// Reference: LAPACK xPOSV, xGESV, xGELS, xTRTRS; gonum's mat.Dense.Solve.
func Solve[T Element](ctx context.Context, e *Engine, dst Destination[T], a, b Source[T]) (SolveReport, error) {
	m, n := a.Dims()
	to, e, end, err := begin(ctx, e, "Solve", m, n, dst, b)
	if err != nil || to == nil {
		return SolveReport{}, err
	}
	defer end()
	if m != n {
		x, err := solveQR(ctx, e, a, b)
		return deliver(ctx, e, SolveReport{Method: MethodQR}, to, x, b, err)
	}
	d, err := divide(ctx, e, a)
	defer d.close()
	if err != nil {
		return d.report, err
	}
	x, err := d.load(ctx, e, b)
	if err == nil {
		err = d.solve(x)
	}
	if err != nil {
		closed(x)
		return d.report, err
	}
	return deliver(ctx, e, d.report, to, x, b, d.condition())
}

// begin returns where the solution of A·X = B goes, with A m×n, and the engine that makes it,
// until end is called. There is no such place if there is nothing to solve, or an error.
func begin[T Element](ctx context.Context, e *Engine, op string, m, n int, dst Destination[T], b Source[T]) (to Sink[T], _ *Engine, end func(), err error) {
	if to, err = checkSystem(op, m, n, dst, b); err == nil {
		err = e.ready(ctx)
	}
	if _, nrhs := b.Dims(); err != nil || n == 0 || nrhs == 0 {
		return nil, nil, nil, err
	}
	e, end = e.session()
	return to, e, end, nil
}

// deliver copies a solution for b, if there is one, to where it belongs, and closes it. With
// an error but a finite mat.Condition there is none. b is nil if the operands are finite.
func deliver[T Element](ctx context.Context, e *Engine, report SolveReport, dst Sink[T], x *blocked.Matrix[T], b Source[T], err error) (SolveReport, error) {
	defer closed(x)
	if x == nil || unset(err) {
		return report, err
	}
	if overflow := inRange(ctx, e, x, b); overflow != nil {
		return report, overflow
	}
	switch to := spread[T](e, dst); to {
	case nil:
		x.CopyTo(dst, e.options().Workers)
	default:
		if failed := scatter(ctx, e, to, x); failed != nil {
			return report, failed
		}
	}
	return report, err
}

// checkSystem checks the shapes of A·X = B, with A m×n, and gives dst its own. It returns dst
// as what can be written.
func checkSystem[T Element](op string, m, n int, dst Destination[T], b Source[T]) (Sink[T], error) {
	mb, nrhs := b.Dims()
	if mb != m {
		return nil, &ShapeError{op, fmt.Sprintf("A is %d×%d and b %d×%d", m, n, mb, nrhs)}
	}
	to, err := sink(op, "dst", dst)
	if err != nil {
		return nil, err
	}
	return to, give[T](op, "solution", to, n, nrhs)
}

// give gives dst the shape of what it is to hold, or returns a *ShapeError.
func give[T Element](op, what string, dst Source[T], m, n int) error {
	shape(dst, m, n)
	if r, c := dst.Dims(); r != m || c != n {
		return &ShapeError{op, fmt.Sprintf("the %s is %d×%d and dst %d×%d", what, m, n, r, c)}
	}
	return nil
}

// solveVector solves for one right-hand side as solve does for several: it looks
// at the lengths for a matrix of rows×cols, called name, and gives dst its own.
func solveVector[T Element](name string, rows, cols int, dst VectorSink[T], b VectorSource[T], solve func(dst Destination[T], b Source[T]) error) error {
	if b.Len() != rows {
		return &ShapeError{"SolveVecTo", fmt.Sprintf("%s is %d×%d and b has %d elements", name, rows, cols, b.Len())}
	}
	to := columnSink[T]{column[T]{dst}, dst}
	if shape[T](to, cols, 1); dst.Len() != cols {
		return &ShapeError{"SolveVecTo", fmt.Sprintf("the solution has %d elements and dst %d", cols, dst.Len())}
	}
	return solve(to, column[T]{b})
}

// copying returns the options of a conversion for e.
func (e *Engine) copying(stats bool) blocked.CopyOptions {
	return blocked.CopyOptions{Workers: e.options().Workers, Stats: stats}
}

// retiled returns x in tiles of nb×nb.
func retiled[T Element](x *blocked.Matrix[T], nb int, e *Engine) *blocked.Matrix[T] {
	if x.NB() != nb {
		x, _ = blocked.From[T](x, blocked.Full, nb, e.copying(false))
	}
	return x
}

// divisor is a square matrix that can be divided by.
type divisor[T Element] struct {
	report SolveReport
	nb     int                // tile size of what is divided
	spread *blocked.Matrix[T] // A, if it is distributed: all is where it is
	end    func() error       // closes the factors; nil if there is nothing to close
	// solve overwrites x with A⁻¹·x, and transposed with A⁻ᵀ·x.
	solve, transposed func(x *blocked.Matrix[T]) error
	// condition returns a mat.Condition if A is singular to working precision.
	condition func() error
	// inverse, if not nil, writes A⁻¹ to a Full v in fewer flops than solve;
	// symmetric writes it to a SymLower v, with a TriLower w as scratch.
	inverse   func(v *blocked.Matrix[T]) error
	symmetric func(w, v *blocked.Matrix[T]) error
}

// close has the nodes forget the factors.
func (d *divisor[T]) close() {
	if d.end != nil {
		d.end()
	}
}

// divide looks at the n×n matrix a and factors it, on an engine that is not nil
// or a session's. What it returns must be closed.
func divide[T Element](ctx context.Context, e *Engine, a Source[T]) (divisor[T], error) {
	if m := spread(e, a); m != nil {
		return divideSpread(ctx, e, m)
	}
	workers := e.options().Workers
	n, _ := a.Dims()
	if d, ok := a.(interface{ Diag() int }); ok && d.Diag() == n {
		return divideDiagonal(a)
	}
	nb, _ := TileSize[T](e, OpTrsm, n, n)
	v, trans, ok := tiles.ViewOf(a, nb)
	if !ok {
		kind := blocked.Full
		if t, ok := a.(TriangularSource[T]); ok {
			kind = triangleKind(t)
		}
		v, _ = blocked.From(a, kind, nb, e.copying(false))
		a, trans = v, blas.NoTrans
	}
	s := v.Structure(workers)
	switch {
	case s.Lower && s.Upper:
		return divideDiagonal(a)
	case s.Lower || s.Upper:
		return divideTriangular(ctx, e, v, trans, s.Upper)
	case s.Symmetric && positiveDiagonal(v):
		d, err := divideCholesky[T](ctx, e, v)
		var npd *NotPositiveDefiniteError
		if !errors.As(err, &npd) {
			return d, err
		}
		d, err = divideLU(ctx, e, a)
		d.report.Minor = npd.Minor
		return d, err
	}
	return divideLU(ctx, e, a)
}

func positiveDiagonal[T Element](a *blocked.Matrix[T]) bool {
	for i := range a.Dim() {
		if !(a.At(i, i) > 0) {
			return false
		}
	}
	return true
}

func divideDiagonal[T Element](a Source[T]) (divisor[T], error) {
	n, _ := a.Dims()
	diag := make([]T, n)
	for i := range diag {
		diag[i] = a.At(i, i)
	}
	d := divisor[T]{report: SolveReport{Method: MethodDiagonal}, nb: n}
	if err := checkDiagonal(diag); err != nil {
		return d, err
	}
	d.solve = func(x *blocked.Matrix[T]) error {
		for i, j := range x.StoredTiles() {
			t := x.Tile(i, j)
			for r := range t.Rows {
				row := t.Row(r)
				for c := range row {
					row[c] /= diag[i*x.NB()+r]
				}
			}
		}
		return nil
	}
	d.transposed = d.solve
	// A diagonal matrix is as well conditioned as its scaling: every element
	// of the solution is right.
	d.condition = func() error { return nil }
	return d, nil
}

// checkDiagonal returns a *NonFiniteError or a *SingularError.
func checkDiagonal[T Element](diag []T) error {
	for i, v := range diag {
		if v-v != 0 {
			return &NonFiniteError{Row: i, Col: i}
		}
	}
	for i, v := range diag {
		if v == 0 {
			return &SingularError{Column: i + 1, diagonal: true}
		}
	}
	return nil
}

// divideTriangular divides by op(v), of which one triangle is zero or not
// stored. upper says that it is v's upper triangle that is not.
func divideTriangular[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], trans blas.Transpose, upper bool) (divisor[T], error) {
	n := v.Dim()
	d := divisor[T]{report: SolveReport{Method: MethodTriangular}, nb: v.NB()}
	away := spread[T](e, v) != nil
	top, err := largest(ctx, e, v, trans)
	if err != nil {
		return d, err
	}
	diag := make([]T, n)
	for i := range diag {
		diag[i] = v.At(i, i)
	}
	if err := checkDiagonal(diag); err != nil {
		return d, err
	}
	exp := excess[T](top)
	if exp != 0 {
		if v, d.end, err = shifted(ctx, e, v, -exp); err != nil {
			return d, err
		}
	}
	uplo := blas.Lower
	if upper {
		uplo = blas.Upper
	}
	substitute := func(trans blas.Transpose) func(x *blocked.Matrix[T]) error {
		return func(x *blocked.Matrix[T]) error {
			mt, _ := x.Tiles()
			_, nrhs := x.Dims()
			return moderately(ctx, e, x, exp, func() error {
				return perform(ctx, e, !away && solvesDirect[T](e, mt, n, nrhs), func(s *stage[T]) {
					s.trsm(uplo, trans, blas.NonUnit, v, x)
				})
			})
		}
	}
	d.solve, d.transposed = substitute(trans), substitute(scalar.Compose[T](trans, blas.Trans))
	d.condition = func() error {
		columns, err := columnSums(ctx, e, v, trans)
		if err != nil {
			return err
		}
		return judge[T](newNorms(columns), triangularInverse(ctx, e, uplo, trans, v))
	}
	return d, nil
}

// columnSums returns the 1-norms of the columns of op(v), wherever v is.
func columnSums[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], trans blas.Transpose) ([]float64, error) {
	byRows := trans != blas.NoTrans
	if spread[T](e, v) == nil {
		if workers := e.options().Workers; byRows {
			return v.RowSums(workers), nil
		} else {
			return v.ColumnSums(workers), nil
		}
	}
	s, err := sums(ctx, e, v)
	switch {
	case err != nil:
		return nil, err
	case byRows:
		return s.Rows(), nil
	}
	return s.Columns(), nil
}

// inRange returns an *OverflowError if x, the solution for b, has an element that is not
// finite although b has none. A nil b has none.
func inRange[T Element](ctx context.Context, e *Engine, x *blocked.Matrix[T], b Source[T]) error {
	err := finite(ctx, e, x, blas.NoTrans)
	var bad *NonFiniteError
	if !errors.As(err, &bad) {
		return err
	}
	if b != nil && !finiteSource(e, b) {
		return nil
	}
	return &OverflowError{bad.Row, bad.Col}
}

// finiteSource reports whether every element of b is finite.
func finiteSource[T Element](e *Engine, b Source[T]) bool {
	top := Norm(e, b, lapack.MaxAbs)
	return top-top == 0
}

// finite returns a *NonFiniteError if op(v) holds an element that is not finite, wherever v
// is, or an error of the tasks that look.
func finite[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], trans blas.Transpose) error {
	_, err := largest(ctx, e, v, trans)
	return err
}

// largest returns the largest magnitude in op(v), or the error of finite.
func largest[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], trans blas.Transpose) (float64, error) {
	if spread[T](e, v) == nil {
		top := v.Norm(lapack.MaxAbs, e.options().Workers)
		if top-top != 0 {
			return 0, nonFinite(v, trans)
		}
		return top, nil
	}
	r, err := measured(ctx, e, v)
	if err != nil {
		return 0, err
	}
	return r.stats.Max, nil
}

// nonFinite returns the *NonFiniteError of op(v), which is here.
func nonFinite[T Element](v *blocked.Matrix[T], trans blas.Transpose) error {
	m, n := v.Dims()
	if trans != blas.NoTrans {
		m, n = n, m
	}
	for i := range m {
		for j := range n {
			p, q := i, j
			if trans != blas.NoTrans {
				p, q = q, p
			}
			if s := v.At(p, q); s-s != 0 {
				return &NonFiniteError{Row: i, Col: j}
			}
		}
	}
	return nil
}

func divideCholesky[T Element](ctx context.Context, e *Engine, a SymmetricSource[T]) (divisor[T], error) {
	d := divisor[T]{report: SolveReport{Method: MethodCholesky}}
	c := &Cholesky[T]{engine: e}
	if err := c.FactorizeContext(ctx, a); err != nil {
		return d, err
	}
	return dividedBy(ctx, e, c), nil
}

// dividedBy returns the divisor of a factorization.
func dividedBy[T Element](ctx context.Context, e *Engine, c *Cholesky[T]) divisor[T] {
	d := divisor[T]{report: SolveReport{Method: MethodCholesky}, nb: c.u.NB()}
	d.solve = func(x *blocked.Matrix[T]) error { return c.divide(ctx, e, x) }
	d.transposed = d.solve
	d.condition = func() error { return c.conditionError(ctx) }
	d.symmetric = func(w, v *blocked.Matrix[T]) error { return c.invert(ctx, e, w, v) }
	return d
}

func divideLU[T Element](ctx context.Context, e *Engine, a Source[T]) (divisor[T], error) {
	d := divisor[T]{report: SolveReport{Method: MethodLU}}
	f := &LU[T]{engine: e}
	if err := f.FactorizeContext(ctx, a); err != nil {
		return d, err
	}
	return dividedByLU(ctx, f), nil
}

// dividedByLU is dividedBy for LU.
func dividedByLU[T Element](ctx context.Context, f *LU[T]) divisor[T] {
	d := divisor[T]{report: SolveReport{Method: MethodLU}, nb: f.lu.NB()}
	d.solve = func(x *blocked.Matrix[T]) error { return f.quotient(ctx, blas.NoTrans, x) }
	d.transposed = func(x *blocked.Matrix[T]) error { return f.quotient(ctx, blas.Trans, x) }
	d.condition = func() error { return f.conditionError(ctx) }
	d.inverse = func(v *blocked.Matrix[T]) error { return f.invert(ctx, v) }
	return d
}
