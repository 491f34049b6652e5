package batch

import (
	"context"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/la"
)

// luTwice is how many times the order that other operations interleave LU does: the rows of one matrix take longer to
// eliminate than those of a group to come from the second-level cache. One core of a Zen 4 took 14 to 17 µs for order 64,
// interleaved, and 20 to 22 otherwise (2026-11-30).
const luTwice = 2

// LU overwrites each n×n A with L and U, P·A = L·U by partial pivoting, where L has ones on its diagonal. pivots has
// Count·n elements, of which those of matrix k begin at k·n: row i was exchanged with row pivots[k·n+i], in this order of i.
//
// The error is a *la.ShapeError, an *[Error] whose failures are *la.SingularError, the cause of the context's end, or
// exec.ErrClosed. It panics with la.ErrSliceLength if pivots has another length. Reference: LAPACK xGETRF.
func LU[T la.Element](ctx context.Context, e *la.Engine, a Matrices[T], pivots []int) error {
	if len(pivots) != a.Count*a.Rows {
		panic(la.ErrSliceLength)
	}
	return factorLU(ctx, e, "batch.LU", a, pivots, nil)
}

// Solve overwrites each n×nrhs B with A⁻¹·B, and A with what [LU] makes of it. The errors are those of LU. Reference:
// LAPACK xGESV.
func Solve[T la.Element](ctx context.Context, e *la.Engine, a, b Matrices[T]) error {
	return factorLU(ctx, e, "batch.Solve", a, nil, &b)
}

// LUSolve overwrites each n×nrhs B with A⁻¹·B for what [LU] made of A and pivots. A zero on U's diagonal gives infinities
// and NaN.
//
// The error is a *la.ShapeError, also if a pivot is no row, the cause of the context's end, or exec.ErrClosed. It panics with
// la.ErrSliceLength if pivots has another length. Reference: LAPACK xGETRS.
func LUSolve[T la.Element](ctx context.Context, e *la.Engine, lu Matrices[T], pivots []int, b Matrices[T]) error {
	const name = "batch.LUSolve"
	if err := complete(name, "ab", &lu, &b); err != nil {
		return err
	}
	n, nrhs := lu.Rows, b.Cols
	if err := shapes(name, lu.Cols == n && b.Rows == n, &lu, &b); err != nil || n == 0 || nrhs == 0 {
		return err
	}
	if len(pivots) != lu.Count*n {
		panic(la.ErrSliceLength)
	}
	if i := slices.IndexFunc(pivots, func(row int) bool { return row < 0 || row >= n }); i >= 0 {
		return &la.ShapeError{Op: name, Detail: fmt.Sprintf("pivot %d is row %d of %d", i, pivots[i], n)}
	}
	return run(ctx, e, lu.Count, n/luTwice, 2*float64(n)*float64(n)*float64(nrhs), func(w *worker[T], lo, hi int, interleaved bool, _ []int) {
		if !interleaved {
			for p := lo; p < hi; p++ {
				w.getrs(&lu, pivots[p*n:(p+1)*n], &b, p)
			}
			return
		}
		lanes := w.lanes.Count()
		w.ipiv = atLeast(w.ipiv, n*lanes)
		for l := range lanes {
			copy(w.ipiv[l*n:(l+1)*n], pivots[min(lo+l, hi-1)*n:])
		}
		w.gatherA(&lu, lo)
		w.solve(&b, lo, func() { w.lanes.Getrs(n, nrhs, w.a, w.ipiv, w.b) })
	}, nil)
}

// factorLU factors a, and solves for b if that is not nil. pivots may be nil.
func factorLU[T la.Element](ctx context.Context, e *la.Engine, name string, a Matrices[T], pivots []int, b *Matrices[T]) error {
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
	work := float64(n) * float64(n) * (2*float64(n)/3 + 2*float64(nrhs))
	return run(ctx, e, a.Count, n/luTwice, work, func(w *worker[T], lo, hi int, interleaved bool, infos []int) {
		w.ipiv = atLeast(w.ipiv, n*len(infos))
		if interleaved {
			w.gatherA(&a, lo)
			w.lanes.Getrf(n, w.a, w.ipiv, infos)
			w.scatter(&a, n, lo, w.a)
			if nrhs > 0 {
				w.solve(b, lo, func() { w.lanes.Getrs(n, nrhs, w.a, w.ipiv, w.b) })
			}
		} else {
			for p := lo; p < hi; p++ {
				ipiv := w.ipiv[(p-lo)*n : (p-lo+1)*n]
				if infos[p-lo] = w.small.Getrf(n, a.at(p), a.Stride, ipiv); infos[p-lo] == 0 && nrhs > 0 {
					w.getrs(&a, ipiv, b, p)
				}
			}
		}
		if pivots != nil {
			copy(pivots[lo*n:hi*n], w.ipiv)
		}
	}, singular)
}

// getrs solves problem p with the factors in a.
func (w *worker[T]) getrs(a *Matrices[T], ipiv []int, b *Matrices[T], p int) {
	n, nrhs, x := a.Rows, b.Cols, b.at(p)
	for i, r := range ipiv {
		if r != i {
			y, z := x[i*b.Stride:][:nrhs], x[r*b.Stride:][:nrhs]
			for j, v := range y {
				y[j], z[j] = z[j], v
			}
		}
	}
	w.small.Trsm(true, false, true, n, nrhs, a.at(p), a.Stride, x, b.Stride)
	w.small.Trsm(false, false, false, n, nrhs, a.at(p), a.Stride, x, b.Stride)
}
