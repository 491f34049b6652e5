package dropin

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Dgelqf computes the LQ factorization of the m×n matrix A in place,
//
//	A = L·Q,  Q = H(k-1)·…·H(1)·H(0),  H(i) = I − tau(i)·v·vᵀ,  k = min(m, n).
//
// L overwrites the lower triangle of A, the elements i+1 to n-1 of v row i
// beside the diagonal; v(i) is 1. It is the QR factorization of a transposed
// copy. tau has k elements, and work lwork, at least m; with lwork = -1 work[0]
// becomes the best lwork and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xGELQF.
func (l LAPACK) Dgelqf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	co, k := l.blas.core, min(m, n)
	if co.smallCube(smallGeqrf, m, n, k) || !fits(m, n, a, lda) || len(tau) < k || lwork < m || len(work) < lwork {
		l.Implementation.Dgelqf(m, n, a, lda, tau, work, lwork)
		return
	}
	va := la.General[float64]{Rows: m, Cols: n, Stride: lda, Data: a}
	t := newGeneral(n, m)
	transposeTo(co, t, va)
	nb, ib := reflectorSizes(co, n, m, k)
	geqrf(co, "Dgelqf", t, tau[:k], nb, ib)
	transposeTo(co, va, t)
	l.Implementation.Dgelqf(m, n, a, lda, tau, work, -1) // sets work[0]
}

// Dormlq computes the product with the orthogonal matrix of an LQ
// factorization,
//
//	C = op(Q)·C (side = Left) or C = C·op(Q) (side = Right),
//
// for an m×n C and the k reflectors that [LAPACK.Dgelqf] has left in the rows of
// a and in tau. work is as for [LAPACK.Dormqr]. It panics as gonum's does.
//
// Reference: LAPACK xORMLQ.
func (l LAPACK) Dormlq(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64, lwork int) {
	co := l.blas.core
	order, others := orders(side, m, n)
	if co.smallCube(smallOrm(others), m, n, k) || !fitsOrm(side, trans, order, others, k, tau, work, lwork) ||
		!fits(k, order, a, lda) || !fits(m, n, c, ldc) {
		l.Implementation.Dormlq(side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	v := newGeneral(order, k)
	transposeTo(co, v, la.General[float64]{Rows: k, Cols: order, Stride: lda, Data: a})
	// Q = H(k-1)·…·H(0) is the transpose of what Dgeqrf makes.
	ormqr(co, "Dormlq", side, scalar.Flip[float64](trans), v, tau, la.General[float64]{Rows: m, Cols: n, Stride: ldc, Data: c})
	l.Implementation.Dormlq(side, trans, m, n, k, a, lda, tau, c, ldc, work, -1) // sets work[0]
}

// Dorglq overwrites the m×n matrix A, m ≤ n, with the first m rows of the
// orthogonal matrix Q of an LQ factorization, whose first k ≤ m reflectors
// [LAPACK.Dgelqf] has left in a and tau. work has lwork elements, at least m;
// with lwork = -1 work[0] becomes the best lwork and nothing is computed. It
// panics as gonum's does.
//
// Reference: LAPACK xORGLQ.
func (l LAPACK) Dorglq(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	co := l.blas.core
	if co.smallCube(smallOrgqr, m, n, k) || !fits(m, n, a, lda) || k <= 0 || k > m || m > n || len(tau) != k ||
		lwork < m || len(work) < lwork {
		l.Implementation.Dorglq(m, n, k, a, lda, tau, work, lwork)
		return
	}
	v, q := newGeneral(n, k), newGeneral(n, m)
	transposeTo(co, v, la.General[float64]{Rows: k, Cols: n, Stride: lda, Data: a})
	orgqr(co, "Dorglq", v, tau, q)
	transposeTo(co, la.General[float64]{Rows: m, Cols: n, Stride: lda, Data: a}, q)
	l.Implementation.Dorglq(m, n, k, a, lda, tau, work, -1) // sets work[0]
}

// transposeTo computes B = Aᵀ, in blocks that keep the lines of both in cache.
func transposeTo(co *core, b, a la.General[float64]) {
	const block = 16
	parallel(co, b.Rows, max(block, copyGrain/max(b.Cols, 1)), func(lo, hi int) {
		for i0 := lo; i0 < hi; i0 += block {
			for j0 := 0; j0 < b.Cols; j0 += block {
				for i := i0; i < min(i0+block, hi); i++ {
					row := b.Data[i*b.Stride : i*b.Stride+b.Cols]
					for j := j0; j < min(j0+block, b.Cols); j++ {
						row[j] = a.Data[j*a.Stride+i]
					}
				}
			}
		}
	})
}
