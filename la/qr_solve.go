package la

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// SolveTo solves, for each column of B,
//
//	op(A)·x = b,  op(A) = A, or Aᵀ if trans.
//
// If op(A) is higher than wide, X is the least-squares solution: it minimizes ‖b − op(A)·x‖₂. If
// op(A) is wider than high, X is the solution of minimum ‖x‖₂. op(A) is p×q, B p×nrhs and dst = X
// q×nrhs. dst may be b, or a part of it; an empty *mat.Dense takes the shape of X.
//
// If A is wider than high, the first solution also factors R, at the cost of the factorization of
// A. For solutions only, factor Aᵀ instead and solve with the opposite trans.
//
// The error is one of:
//   - a *ShapeError;
//   - an *OverflowError if B is finite and the solution is not;
//   - a mat.Condition if A is rank-deficient to working precision (see [Solve]): if it is finite, dst
//     holds a solution whose digits may all be wrong; +Inf says that R has no inverse;
//   - an *exec.TaskError that names the version that failed, or exec.ErrClosed.
//
// But for the finite mat.Condition an error leaves dst unchanged, except for its shape. SolveTo
// panics with ErrNotFactorized if there is no factorization.
//
// The options are [WithContext] and [InPlace]. In place dst and b are *blocked.Matrix, Full and in the tile size of
// the factorization, A is not wider than high, and trans is false. SolveTo overwrites b with Qᵀ·B, whose rows below
// row n have the norms of the residuals; dst may be b if A is square. Distributed matrices stay on their nodes. There is
// no *OverflowError then, and after another error dst and b are undefined, or after a mat.Condition dst is a solution
// whose digits may all be wrong.
//
// Reference: LAPACK xGELS.
func (q *QR[T]) SolveTo(dst Destination[T], trans bool, b Source[T], opts ...CallOption) error {
	q.valid()
	o, err := optionsOf("QR.SolveTo", takesInPlace, opts)
	switch {
	case err != nil:
		return err
	case o.inPlace:
		return q.solveInPlace(o.ctx, dst, trans, b)
	}
	return q.solveTo(o.ctx, dst, trans, b)
}

// solveTo is SolveTo with a copy of b.
func (q *QR[T]) solveTo(ctx context.Context, dst Destination[T], trans bool, b Source[T]) error {
	rows, cols := q.operator(trans)
	if d := q.direct(ctx, trans); d != nil {
		defer d.leave()
		if from, ok := memoryOf(b); ok && from.rows == rows {
			if to, ok := resultMemory(dst, cols, from.cols); ok && q.solveDirect(d, &to, &from) {
				return nil
			}
		}
	}
	m, nrhs := b.Dims()
	if m != rows {
		return &ShapeError{"SolveTo", fmt.Sprintf("op(A) is %d×%d and b %d×%d", rows, cols, m, nrhs)}
	}
	to, err := sink("SolveTo", "dst", dst)
	if err == nil {
		err = shapeResult[T]("SolveTo", "solution", to, cols, nrhs)
	}
	if err != nil {
		return err
	}
	if cols == 0 || nrhs == 0 {
		return nil
	}
	x, err := q.solve(ctx, trans, b)
	if x != nil {
		if overflow := inRange(ctx, q.engine, x, b); overflow != nil {
			return overflow
		}
		x.CopyTo(to, q.engine.Options().Workers)
	}
	return err
}

// SolveVecTo solves for one right-hand side, dst = x, as SolveTo does. The option is [WithContext].
func (q *QR[T]) SolveVecTo(dst VectorSink[T], trans bool, b VectorSource[T], opts ...CallOption) error {
	q.valid()
	ctx, err := contextOf("QR.SolveVecTo", opts)
	if err != nil {
		return err
	}
	rows, cols := q.operator(trans)
	f := q.f
	if m, n := f.a.Dims(); f.exp == 0 && m >= n && n > 0 && !f.a.IsDistributed() {
		done, err := substituteVector(ctx, q.engine, rows, cols, dst, b, func(ctx context.Context) error {
			return f.conditionError(ctx, q.engine)
		}, func(s *substitution[T], x [][]T) error { return f.substitute(s, trans, x[0]) })
		if done || err != nil {
			return err
		}
	}
	return solveVector(ctx, "op(A)", rows, cols, dst, b, func(ctx context.Context, dst Destination[T], b Source[T]) error {
		return q.solveTo(ctx, dst, trans, b)
	})
}

// direct returns a desk for least-squares solutions with a small factorization, or nil.
func (q *QR[T]) direct(ctx context.Context, trans bool) *desk[T] {
	m, n := q.f.a.Dims()
	if trans || m < n || n == 0 || !q.f.one || q.f.exp != 0 || q.f.a.IsDistributed() {
		return nil
	}
	return directly[T](ctx, q.engine, m)
}

// solveDirect writes the solution for b to dst, or returns false.
func (q *QR[T]) solveDirect(d *desk[T], dst, b *memory[T]) bool {
	k, err := q.f.size.get(func() ([]float64, error) { return q.f.columnSums(context.Background(), q.engine) })
	if err != nil {
		return false
	}
	m, n := q.f.a.Dims()
	v, t := q.f.a.Tile(0, 0), q.f.rotations.FirstT()
	return d.leastSquares(m, n, q.f.rotations.IB(), v.Data, v.Stride, t.Data, t.Stride, k, dst, b)
}

// solveInPlace is SolveTo in the tiles of b and dst.
func (q *QR[T]) solveInPlace(ctx context.Context, dst Destination[T], trans bool, to Source[T]) error {
	f := q.f
	m, n := f.a.Dims()
	nb := f.a.NB()
	b, ok := to.(*blocked.Matrix[T])
	x, isMatrix := dst.(*blocked.Matrix[T])
	if !ok || !isMatrix || trans {
		return &ShapeError{"SolveTo", "in place dst and b are of type *blocked.Matrix, and trans is false"}
	}
	rows, nrhs := b.Dims()
	height, width := x.Dims()
	if b.Kind() != blocked.Full || x.Kind() != blocked.Full || rows != m || height != n || width != nrhs ||
		b.NB() != nb || x.NB() != nb || m < n {
		return &ShapeError{"SolveTo",
			fmt.Sprintf("A is %d×%d in tiles of %d, B %v, %d×%d in tiles of %d, X %v, %d×%d in tiles of %d", m, n,
				nb, b.Kind(), rows, nrhs, b.NB(), x.Kind(), height, width, x.NB())}
	}

	if n == 0 || nrhs == 0 {
		return q.engine.Ready(ctx)
	}
	return q.byTriangle(ctx, b, x, func(p *blocked.Program[T], r *blocked.Matrix[T]) error {
		err := qr.Ormqr(p, blas.Left, blas.Trans, f.a, f.rotations, b)
		if err == nil && x != b {
			err = p.CopyLeading(b, x)
		}
		if err == nil {
			err = p.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 1, r, x)
		}
		return err
	})
}

// byTriangle runs steps, which make x of b with the triangle R, on numbers in range.
func (q *QR[T]) byTriangle(ctx context.Context, b, x *blocked.Matrix[T], steps func(p *blocked.Program[T], r *blocked.Matrix[T]) error) error {
	f := q.f
	if err := triangleError(f.a, f.order()); err != nil {
		return err
	}
	r, end, err := f.triangle(ctx, q.engine)
	if err != nil {
		return err
	}
	defer end()
	power, err := scaleRightSide(ctx, q.engine, b, f.exp)
	if err != nil {
		return err
	}
	err = engine.Run(ctx, q.engine, func(p *blocked.Program[T]) error { return steps(p, r) })
	if x != b {
		err = rescale(ctx, q.engine, b, -power, err)
	}
	if err = rescale(ctx, q.engine, x, -power-f.exp, err); err != nil {
		return err
	}
	return f.conditionError(ctx, q.engine)
}

// operator returns the shape of op(A).
func (q *QR[T]) operator(trans bool) (rows, cols int) {
	m, n := q.f.a.Dims()
	if trans {
		return n, m
	}
	return m, n
}

// solve returns the solution for b and, if it is a finite mat.Condition, an error with it.
func (q *QR[T]) solve(ctx context.Context, trans bool, b Source[T]) (x *blocked.Matrix[T], err error) {
	e, f := q.engine, q.f
	rows, cols := q.operator(trans)
	_, nrhs := b.Dims()
	if rows == 0 {
		return blocked.New[T](blocked.Full, cols, nrhs, f.a.NB()), e.Ready(ctx)
	}
	triangle := f
	wide := rows < cols != trans
	if wide {
		// Nobody else needs what has no factorization yet.
		q.mu.Lock()
		defer q.mu.Unlock()
		triangle = q.transposed()
	}
	x, _ = blocked.From(b, blocked.Full, f.a.NB(), copying(e))
	back := scaleColumns(x, f.exp, e.Options().Workers)
	if nrhs == 1 && !wide && !f.a.IsDistributed() && e.Plain(ctx, 1) {
		if err = triangleError(f.a, f.order()); err == nil {
			x, err = q.solveColumn(ctx, trans, x, cols)
		}
	} else {
		err = execute(ctx, e, f.direct(e, nrhs), func(s *executor[T]) {
			if wide {
				q.factorizeTransposed(s, triangle)
			}
			x = f.submitSolve(s, triangle, trans, x, cols)
		})
	}
	if err != nil {
		return nil, err
	}
	if err = triangle.conditionError(ctx, e); noSolution(err) {
		return nil, err
	}
	if back != nil {
		shiftColumns(x, x, back, e.Options().Workers)
	}
	return x, err
}

// submitSolve submits the solution for x, and returns where it will be, in cols rows. triangle is f, or the factorization Z·S
// of Rᵀ for an A that is wider than high.
func (f *qrFactors[T]) submitSolve(s *executor[T], triangle *qrFactors[T], trans bool, x *blocked.Matrix[T], cols int) *blocked.Matrix[T] {
	if s.err == nil {
		s.err = triangleError(triangle.a, triangle.order())
	}
	switch wide := triangle != f; {
	case s.err != nil:
	case !wide && !trans: // x = R⁻¹·Qᵀ·b
		x = s.resize(f.apply(s, blas.Left, blas.Trans, x), cols)
		f.solveR(s, blas.NoTrans, x)
	case !wide: // Aᵀ = Rᵀ·Qᵀ: x = Q·R⁻ᵀ·b
		f.solveR(s, blas.Trans, x)
		x = f.apply(s, blas.Left, blas.NoTrans, s.resize(x, cols))
	case !trans: // A = Q·Sᵀ·Zᵀ: x = Z·S⁻ᵀ·Qᵀ·b
		x = f.apply(s, blas.Left, blas.Trans, x)
		triangle.solveR(s, blas.Trans, x)
		x = triangle.apply(s, blas.Left, blas.NoTrans, s.resize(x, cols))
	default: // Aᵀ = Z·S·Qᵀ: x = Q·S⁻¹·Zᵀ·b
		x = s.resize(triangle.apply(s, blas.Left, blas.Trans, x), cols)
		triangle.solveR(s, blas.NoTrans, x)
		x = f.apply(s, blas.Left, blas.NoTrans, x)
	}
	return x
}

// solveColumn returns the solution for b, of one column, without tasks. A is not wider than high.
func (q *QR[T]) solveColumn(ctx context.Context, trans bool, b *blocked.Matrix[T], cols int) (*blocked.Matrix[T], error) {
	d := takeDesk[T]()
	defer d.leave()
	m, _ := q.f.a.Dims()
	d.x = atLeast(d.x, m)
	x := d.x[:m]
	clear(x[b.Rows():])
	for i := range b.Rows() {
		x[i] = b.At(i, 0)
	}
	d.triangles.ctx, d.triangles.engine = ctx, q.engine
	if err := q.f.substitute(d.triangles, trans, x); err != nil {
		return nil, err
	}
	solution := blocked.New[T](blocked.Full, cols, 1, b.NB())
	for i := range cols {
		solution.Set(i, 0, x[i])
	}
	return solution, nil
}

// transposed returns the factorization of Rᵀ for an A that is wider than high or, if that is not
// made yet, its memory filled with Rᵀ. The caller holds q.mu.
func (q *QR[T]) transposed() *qrFactors[T] {
	if q.wide != nil {
		return q.wide
	}
	m, n := q.f.a.Dims()
	nb := q.f.a.NB()
	r := blocked.New[T](blocked.Full, m, n, nb)
	q.f.copyR(r)
	return &qrFactors[T]{a: r.Transposed(), one: q.f.one, transposed: true,
		rotations: qr.NewRotations[T](n, m, nb, q.opt.rotations(q.engine))}
}

// factorizeTransposed factors z, the result of transposed, unless it is factored.
func (q *QR[T]) factorizeTransposed(s *executor[T], z *qrFactors[T]) {
	if q.wide != nil {
		return
	}
	z.submit(s)
	if s.wait(z.a); s.err == nil {
		q.wide = z
	}
}

// Cond estimates the condition number of the triangular factor in the 1-norm, ‖R‖₁·‖R⁻¹‖₁. It
// differs from that of A in the 2-norm by a factor of at most min(m, n). But for rounding the
// estimate is a lower bound, which is rarely below a third of the true value. It is +Inf if a
// norm is out of range or R has no inverse, and NaN if a solution fails, for example on a closed
// engine. The first call computes a few solutions on the engine, and for an A that is wider than
// high it also factors R. The option is [WithContext], as of [Cholesky.Cond].
//
// Reference: LAPACK xTRCON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (q *QR[T]) Cond(opts ...CallOption) float64 {
	q.valid()
	ctx := mustContext("QR.Cond", opts)
	e, close := q.engine.Session()
	defer close()
	f := q.f
	if f.order() == 0 {
		return 0
	}
	if m, n := f.a.Dims(); m < n {
		q.mu.Lock()
		defer q.mu.Unlock()
		z := q.transposed()
		err := execute(ctx, e, f.direct(e, 0), func(s *executor[T]) { q.factorizeTransposed(s, z) })
		if err != nil {
			return math.NaN()
		}
		f = z
	}
	if triangleError(f.a, f.order()) != nil {
		return math.Inf(1)
	}
	c, err := f.cond(ctx, e)
	if err != nil {
		return math.NaN()
	}
	return c
}
