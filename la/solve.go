package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// Solve solves A·X = B, dst = X, where A is m×n and B m×nrhs, by the method that A calls for:
//
//	m = n, diagonal                 division
//	m = n, triangular               substitution
//	m = n, symmetric, all aᵢᵢ > 0   Cholesky, or LU where that fails
//	m = n, any other                LU
//	m > n                           QR: X minimizes ‖b−A·x‖₂ for each column
//	m < n                           QR: of all solutions X has the smallest ‖x‖₂
//
// The type of A decides, or else its elements; a matrix that is almost symmetric is not
// symmetric. Of a matrix with a method Bandwidth, such as *mat.BandDense, *mat.SymBandDense and
// *mat.Tridiag, Solve reads and factors the band alone, if it is less than half of the diagonals; see
// [BandLU] and [BandCholesky]. To solve with one matrix several times, keep its
// factorization: see [Cholesky], [LU] and [QR]. For large systems see [SolveSPD] and
// [SolveGeneral].
//
// dst may share memory with A and B; an empty *mat.Dense becomes n×nrhs.
//
// The kind of a distributed A (blocked.Distributed, on the engine's runtime) decides the method;
// its elements do not. A does not change: the nodes factor a copy, which needs their memory;
// [LU.Factorize] and its siblings need none with [InPlace]. B is copied to the nodes. Tasks write a
// distributed dst, also if A is not distributed.
//
// The error is one of:
//   - a *ShapeError;
//   - a *NonFiniteError for A;
//   - an *OverflowError if B is finite and the solution is not;
//   - a *SingularError if A is square and its factor U has a zero on the diagonal;
//   - a mat.Condition of +Inf if A is not square and is rank-deficient, or its factors are out of range;
//   - a finite mat.Condition if A is singular to working precision: its condition number in the 1-norm
//     exceeds mat.ConditionTolerance (2·10⁷ in float32), also with each column scaled to norm 1; or
//     but for rounding a column depends on others. dst then holds a solution whose digits may all be
//     wrong;
//   - the cause of the context's end, an *exec.TaskError that names the version that failed, or
//     exec.ErrClosed.
//
// But for the finite mat.Condition an error leaves dst unchanged, except for its shape.
//
// Reference: LAPACK xPOSV, xGESV, xGELS, xTRTRS; gonum's mat.Dense.Solve.
func Solve[T Element](ctx context.Context, e *Engine, dst Destination[T], a, b Source[T]) (SolveReport, error) {
	m, n := a.Dims()
	if method := solveDirect(ctx, e, dst, m, n, a, b); method != MethodNone {
		return SolveReport{Method: method}, nil
	}
	to, e, end, err := beginSystem(ctx, e, "Solve", m, n, dst, b)
	if err != nil || to == nil {
		return SolveReport{}, err
	}
	defer end()
	if m != n {
		x, err := solveQR(ctx, e, a, b)
		return deliver(ctx, e, SolveReport{Method: MethodQR}, to, x, b, err)
	}
	d, err := newDivisor(ctx, e, a)
	defer d.close()
	if err != nil {
		return d.report, err
	}
	x, err := d.load(ctx, e, b)
	if err == nil {
		err = d.solve(x)
	}
	if err != nil {
		closeMatrix(x)
		return d.report, err
	}
	return deliver(ctx, e, d.report, to, x, b, d.condition())
}

// solveDirect is Solve for a small system, if it returns its method.
func solveDirect[T Element](ctx context.Context, e *Engine, dst Destination[T], m, n int, a, b Source[T]) Method {
	if m < n || n == 0 {
		return MethodNone
	}
	d := directlyTall[T](ctx, e, m, n)
	if d == nil {
		return MethodNone
	}
	defer d.leave()
	src, upper, symmetric := memory[T]{}, false, false
	s, ok := a.(SymmetricSource[T])
	if ok {
		src, upper, symmetric = symmetricOf(s)
	} else {
		src, ok = memoryOf(a)
	}
	from, isMemory := memoryOf(b)
	if !ok || !isMemory || src.rows != m || src.cols != n || from.rows != m {
		return MethodNone
	}
	to, ok := resultMemory(dst, n, from.cols)
	switch {
	case !ok:
	case m == n:
		return d.solveSystem(src, symmetric, upper, &to, &from)
	case d.solveTall(src, &to, &from):
		return MethodQR
	}
	return MethodNone
}

// newDivisor prepares the n×n matrix a for solutions by the method that its type or its elements
// call for; see [Solve]. e is not nil. The caller closes the divisor, also after an error.
func newDivisor[T Element](ctx context.Context, e *Engine, a Source[T]) (divisor[T], error) {
	if m := distributedOn(e, a); m != nil {
		return distributedDivisor(ctx, e, m)
	}
	workers := e.Options().Workers
	n, _ := a.Dims()
	if d, ok := a.(interface{ Diag() int }); ok && d.Diag() == n {
		return diagonalDivisor(a)
	}
	if kl, ku, ok := inBand(a); ok {
		return bandDivisor(ctx, e, a, kl, ku)
	}
	nb, _ := engine.TileSize[T](e, engine.OpTrsm, n, n)
	v, trans, ok := tiles.ViewOf(a, nb)
	if !ok {
		kind := blocked.Full
		if t, ok := a.(TriangularSource[T]); ok {
			kind = triangleKind(t)
		}
		v, _ = blocked.From(a, kind, nb, copying(e))
		a, trans = v, blas.NoTrans
	}
	s := v.Structure(workers)
	switch {
	case s.Lower && s.Upper:
		return diagonalDivisor(a)
	case s.Lower || s.Upper:
		return triangularDivisor(ctx, e, v, trans, s.Upper)
	case s.Symmetric && positiveDiagonal(v):
		d, err := choleskyDivisor[T](ctx, e, v)
		var npd *NotPositiveDefiniteError
		if !errors.As(err, &npd) {
			return d, err
		}
		d, err = luDivisor(ctx, e, a)
		d.report.Minor = npd.Minor
		return d, err
	}
	return luDivisor(ctx, e, a)
}
