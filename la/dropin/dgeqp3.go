package dropin

import (
	"errors"

	"github.com/tessera-la/tessera/la"
)

// smallGeqp3 is the largest product m·n·min(m, n) left to gonum by default.
const smallGeqp3 = 128 * 128 * 128

// Dgeqp3 computes the QR factorization with column pivoting of the m×n matrix A in place,
//
//	A·P = Q·R,  Q = H(0)·H(1)·…·H(k-1),  H(i) = I − tau(i)·v·vᵀ,  k = min(m, n).
//
// R overwrites the upper triangle of A, and the elements i+1 to m-1 of v column i below the diagonal; v(i) is 1. Column
// j of A·P is column jpvt[j] of A. Each step takes the column with the largest norm of what is left of it. If an element
// of jpvt is not −1 on entry, which keeps a column in front, or an element of A is not finite, gonum's Dgeqp3 does the
// work.
//
// work and lwork are as gonum's: lwork at least 3·n+1; with lwork = −1 work[0] becomes gonum's best one and nothing is
// computed. It panics as gonum's does.
//
// Reference: LAPACK xGEQP3.
func (l LAPACK) Dgeqp3(m, n int, a []float64, lda int, jpvt []int, tau, work []float64, lwork int) {
	co, k := l.blas.core, min(m, n)
	free := len(jpvt) == n
	for _, p := range jpvt {
		free = free && p == -1
	}
	if co.smallCube(smallGeqp3, m, n, k) || k == 0 || !free || !fits(m, n, a, lda) || len(tau) < k || lwork < 3*n+1 || len(work) < lwork {
		l.Implementation.Dgeqp3(m, n, a, lda, jpvt, tau, work, lwork)
		return
	}
	g := la.General[float64]{Rows: m, Cols: n, Stride: lda, Data: a[:(m-1)*lda+n]}
	f := la.NewPivotedQRWith[float64](co.enter(), la.PivotedQROptions{Exact: true})
	defer co.leave()
	err := f.Factorize(g)
	if _, ok := errors.AsType[*la.NonFiniteError](err); ok {
		l.Implementation.Dgeqp3(m, n, a, lda, jpvt, tau, work, lwork)
		return
	}
	check("Dgeqp3", err)
	f.FactorTo(g, tau[:k])
	f.Pivots(jpvt)
	work[0] = float64(2*n + (n+1)*32) // gonum's best one
}
