package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// smallGetrf is the largest product m·n·min(m, n) left to gonum by default.
const smallGetrf = 24 * 24 * 24

// Dgetrf computes the LU factorization with partial pivoting of the m×n matrix
// A in place,
//
//	A = P·L·U;
//
// row i was exchanged with row ipiv[i], for i = 0, 1, … min(m, n)-1. It returns
// false if U has a zero on its diagonal; the factorization is complete
// nevertheless. It panics as gonum's does.
//
// Reference: LAPACK xGETRF.
func (l LAPACK) Dgetrf(m, n int, a []float64, lda int, ipiv []int) (ok bool) {
	co := l.blas.core
	k := min(m, n)
	if co.smallCube(smallGetrf, m, n, k) || !fits(m, n, a, lda) || len(ipiv) != k {
		return l.Implementation.Dgetrf(m, n, a, lda, ipiv)
	}
	_, whole := tileSize[float64](co, engine.OpLU, k, m, n, k)
	if whole {
		v := &kernels.Pivots{Rows: ipiv[:0:k]}
		t := &kernels.Tile[float64]{Rows: m, Cols: n, Stride: lda, Data: a}
		if m < n {
			// The panel ends where the rows do; the rest is solved for.
			t.Cols = m
		}
		co.call("Dgetrf", ops[float64](co).Op("getrf"), &op.Getrf{}, t, v)
		copy(ipiv, v.Rows)
		if m < n {
			l.swapRows(false, n-m, a[m:], lda, ipiv)
			l.blas.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, m, n-m, 1, a, lda, a[m:], lda)
		}
		return v.Info == 0
	}
	e := co.enter()
	nb, _ := la.NewLU[float64](e).TileSize(m, n) // that for square ones is too narrow for a tall matrix
	co.leave()
	v := lu.NewPivots(m, n, nb)
	va := view(m, n, a, lda, nb)
	run(co, "Dgetrf", func(p *blocked.Program[float64]) error { return lu.Getrf(p, va, v) })
	v.Swaps(ipiv)
	return v.Info() == 0
}

// swapRows applies the interchanges of ipiv to the n columns in b, in reverse
// order if inverse.
func (l LAPACK) swapRows(inverse bool, n int, b []float64, ldb int, ipiv []int) {
	step := 1
	if inverse {
		step = -1
	}
	k := len(ipiv)
	parallel(l.blas.core, n, max(64, 1<<16/max(k, 1)), func(lo, hi int) {
		l.Dlaswp(hi-lo, b[lo:], ldb, 0, k-1, ipiv, step)
	})
}
