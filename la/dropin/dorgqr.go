package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/la"
)

// smallOrgqr is the largest product of the dimensions and the number of reflectors left to gonum by default.
const smallOrgqr = 112 * 112 * 112

// Dorgqr overwrites the m×n matrix A, n ≤ m, with the first n columns of the
// orthogonal matrix Q of a QR factorization, whose first k ≤ n reflectors
// [LAPACK.Dgeqrf] has left in a and tau. A large Q needs m×k elements of memory
// beside work, which has lwork elements, at least n; with lwork = -1 work[0]
// becomes the best lwork and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xORGQR.
func (l LAPACK) Dorgqr(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	co := l.blas.core
	if co.smallCube(smallOrgqr, m, n, k) || !fits(m, n, a, lda) || k <= 0 || k > n || n > m || len(tau) != k ||
		lwork < n || len(work) < lwork {
		l.Implementation.Dorgqr(m, n, k, a, lda, tau, work, lwork)
		return
	}
	v := newGeneral(m, k)
	parallel(co, m, max(1, copyGrain/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(v.Data[i*v.Stride:i*v.Stride+k], a[i*lda:])
		}
	})
	orgqr(co, "Dorgqr", v, tau, la.General[float64]{Rows: m, Cols: n, Stride: lda, Data: a})
	l.Implementation.Dorgqr(m, n, k, a, lda, tau, work, -1) // sets work[0]
}

// orgqr overwrites q with the first columns of Q, whose reflectors are in v and
// tau.
func orgqr(co *core, routine string, v la.General[float64], tau []float64, q la.General[float64]) {
	parallel(co, q.Rows, max(1, copyGrain/q.Cols), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := q.Data[i*q.Stride : i*q.Stride+q.Cols]
			clear(row)
			if i < len(row) {
				row[i] = 1
			}
		}
	})
	nb, ib := reflectorSizes(co, v.Rows, q.Cols, v.Cols)
	t := qr.NewReflectors[float64](v.Rows, v.Cols, nb, ib)
	vs, qs := qr.SliceColumns(v, nb), qr.SliceColumns(q, nb)
	run(co, routine, func(p *blocked.Program[float64]) error {
		if err := qr.SetTau(p, t, vs, tau); err != nil {
			return err
		}
		return qr.OrgqrColumns(p, vs, t, qs)
	})
}
