package batch

import (
	"context"

	"github.com/tessera-la/tessera/la"
)

// Cholesky overwrites the upper triangle of each symmetric positive definite n×n A with U, A = Uᵀ·U. What is below stays.
//
// The error is a *la.ShapeError, an *[Error] whose failures are *la.NotPositiveDefiniteError, the cause of the context's
// end, or exec.ErrClosed. Reference: LAPACK xPOTRF.
func Cholesky[T la.Element](ctx context.Context, e *la.Engine, a Matrices[T]) error {
	return cholesky(ctx, e, "batch.Cholesky", a, nil)
}

// SolveSPD overwrites each n×nrhs B with A⁻¹·B, and A with what [Cholesky] makes of it. The errors are those of Cholesky.
// Reference: LAPACK xPOSV.
func SolveSPD[T la.Element](ctx context.Context, e *la.Engine, a, b Matrices[T]) error {
	return cholesky(ctx, e, "batch.SolveSPD", a, &b)
}

// CholeskySolve overwrites each n×nrhs B with (Uᵀ·U)⁻¹·B for what [Cholesky] made of A. A zero on U's diagonal gives
// infinities and NaN.
//
// The error is a *la.ShapeError, the cause of the context's end, or exec.ErrClosed. Reference: LAPACK xPOTRS.
func CholeskySolve[T la.Element](ctx context.Context, e *la.Engine, u, b Matrices[T]) error {
	const name = "batch.CholeskySolve"
	if err := complete(name, "ub", &u, &b); err != nil {
		return err
	}
	n, nrhs := u.Rows, b.Cols
	if err := shapes(name, u.Cols == n && b.Rows == n, &u, &b); err != nil || n == 0 || nrhs == 0 {
		return err
	}
	return run(ctx, e, u.Count, n, 2*float64(n)*float64(n)*float64(nrhs), func(w *worker[T], lo, hi int, interleaved bool, _ []int) {
		if !interleaved {
			for p := lo; p < hi; p++ {
				w.potrs(&u, &b, p)
			}
			return
		}
		w.gatherA(&u, lo)
		w.solve(&b, lo, func() { w.lanes.Potrs(n, nrhs, w.a, w.b) })
	}, nil)
}

// cholesky factors a, and solves for b if that is not nil.
func cholesky[T la.Element](ctx context.Context, e *la.Engine, name string, a Matrices[T], b *Matrices[T]) error {
	if err := complete(name, "ab", &a, b); err != nil {
		return err
	}
	n, nrhs := a.Rows, 0
	if b != nil {
		nrhs = b.Cols
	}
	if err := shapes(name, a.Cols == n && (b == nil || b.Rows == n), &a, b); err != nil || n == 0 {
		return err
	}
	work := float64(n) * float64(n) * (float64(n)/3 + 2*float64(nrhs))
	return run(ctx, e, a.Count, n, work, func(w *worker[T], lo, hi int, interleaved bool, infos []int) {
		if !interleaved {
			for p := lo; p < hi; p++ {
				if infos[p-lo] = w.small.Potrf(n, a.at(p), a.Stride); infos[p-lo] == 0 && nrhs > 0 {
					w.potrs(&a, b, p)
				}
			}
			return
		}
		w.gatherA(&a, lo)
		w.lanes.Potrf(n, w.a, infos)
		w.scatter(&a, n, lo, w.a)
		if nrhs > 0 {
			w.solve(b, lo, func() { w.lanes.Potrs(n, nrhs, w.a, w.b) })
		}
	}, notDefinite)
}

// potrs solves problem p with the factor in a.
func (w *worker[T]) potrs(a, b *Matrices[T], p int) {
	n, nrhs := a.Rows, b.Cols
	w.small.Trsm(false, true, false, n, nrhs, a.at(p), a.Stride, b.at(p), b.Stride)
	w.small.Trsm(false, false, false, n, nrhs, a.at(p), a.Stride, b.at(p), b.Stride)
}
