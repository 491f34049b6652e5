package dropin_test

import (
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
)

// TestWork: a call leaves in work[0] what gonum's answers to a query: its best lwork.
func TestWork(t *testing.T) {
	const n = 200
	l, ref := dropin.LAPACK{}, gonum.Implementation{}
	type routines interface {
		Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int)
		Dgelqf(m, n int, a []float64, lda int, tau, work []float64, lwork int)
		Dorgqr(m, n, k int, a []float64, lda int, tau, work []float64, lwork int)
		Dorglq(m, n, k int, a []float64, lda int, tau, work []float64, lwork int)
		Dormqr(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64, lwork int)
		Dormlq(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64, lwork int)
		Dgetri(n int, a []float64, lda int, ipiv []int, work []float64, lwork int) bool
		Dgels(trans blas.Transpose, m, n, nrhs int, a []float64, lda int, b []float64, ldb int, work []float64, lwork int) bool
	}
	a, c, tau, work := make([]float64, n*n), make([]float64, n*n), make([]float64, n), make([]float64, 2*n)
	pivots := make([]int, n)
	for name, call := range map[string]func(r routines, lwork int){
		"Dgeqrf": func(r routines, lwork int) { r.Dgeqrf(n, n, a, n, tau, work, lwork) },
		"Dgelqf": func(r routines, lwork int) { r.Dgelqf(n, n, a, n, tau, work, lwork) },
		"Dorgqr": func(r routines, lwork int) { r.Dorgqr(n, n, n, a, n, tau, work, lwork) },
		"Dorglq": func(r routines, lwork int) { r.Dorglq(n, n, n, a, n, tau, work, lwork) },
		"Dormqr": func(r routines, lwork int) { r.Dormqr(blas.Left, blas.Trans, n, n, n, a, n, tau, c, n, work, lwork) },
		"Dormlq": func(r routines, lwork int) { r.Dormlq(blas.Right, blas.NoTrans, n, n, n, a, n, tau, c, n, work, lwork) },
		"Dgetri": func(r routines, lwork int) { r.Dgetri(n, a, n, pivots, work, lwork) },
		"Dgels":  func(r routines, lwork int) { r.Dgels(blas.NoTrans, n, n, n, a, n, c, n, work, lwork) },
	} {
		for i := range n {
			clear(a[i*n:][:n])
			a[i*n+i], pivots[i] = 2, i
		}
		call(l, len(work))
		got := work[0]
		if call(ref, -1); got != work[0] {
			t.Errorf("%s: work[0] is %v, and gonum's best lwork %v", name, got, work[0])
		}
	}
}
