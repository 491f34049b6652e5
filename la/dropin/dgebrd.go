package dropin

import (
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dgebrd reduces the m×n matrix A to bidiagonal form in place,
//
//	Qᵀ·A·P = B,  Q = H(0)·H(1)·…,  P = G(0)·G(1)·…,  H(i) = I − tauQ[i]·v·vᵀ,  G(i) = I − tauP[i]·u·uᵀ,
//
// with the diagonal d of B and e above it if m ≥ n, or below it. d and e are also left in a, and so are v, in the
// columns below them, and u, in the rows right of them, without their ones. d, tauQ and tauP have at least k = min(m,
// n) elements, and e k−1; tau without a reflector becomes 0. An A with m < n needs as much memory again.
//
// work and lwork are as gonum's: lwork at least max(1, m, n); with lwork = −1 work[0] becomes gonum's best one and nothing is
// computed. It panics as gonum's does.
//
// Reference: LAPACK xGEBRD.
func (l LAPACK) Dgebrd(m, n int, a []float64, lda int, d, e, tauQ, tauP, work []float64, lwork int) {
	co, k := l.blas.core, min(m, n)
	if co.smallCube(smallCondensed, m, n, k) || k < 1 || !fits(m, n, a, lda) || len(d) < k || len(e) < k-1 || len(tauQ) < k ||
		len(tauP) < k || lwork < max(m, n) || len(work) < lwork || !squarable(l.Dlange(lapack.MaxAbs, m, n, a, lda, nil)) {
		l.Implementation.Dgebrd(m, n, a, lda, d, e, tauQ, tauP, work, lwork)
		return
	}
	kernel := cpu.NewBidiagonal(co.host64(), newTeam(co))
	scratch := make([]float64, cpu.GebrdWork(max(m, n), k))
	if m >= n {
		kernel.Gebrd(m, n, a, lda, d[:k], e[:k-1], tauQ[:k], tauP[:k], scratch)
		tauP[k-1] = 0
	} else { // that of Aᵀ, which has the reflectors of the other side
		t := newGeneral(n, m)
		whole := la.General[float64]{Rows: m, Cols: n, Stride: lda, Data: a}
		transposeTo(co, t, whole)
		kernel.Gebrd(n, m, t.Data, t.Stride, d[:k], e[:k-1], tauP[:k], tauQ[:k], scratch)
		tauQ[k-1] = 0
		transposeTo(co, whole, t)
	}
	l.Implementation.Dgebrd(m, n, a, lda, d, e, tauQ, tauP, work, -1) // gonum's best lwork
}

// Dorgbr overwrites a with the first n columns of Q or, if vect is lapack.GeneratePT, the first m rows of Pᵀ of a
// reduction to bidiagonal form of an m×k or a k×n matrix, whose reflectors [LAPACK.Dgebrd] has left in a and tau. work
// has lwork elements, at least max(1, min(m, n)); with lwork = −1 work[0] becomes gonum's best lwork and nothing is
// computed. It panics as gonum's does.
//
// Reference: LAPACK xORGBR.
func (l LAPACK) Dorgbr(vect lapack.GenOrtho, m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	valid := fits(m, n, a, lda) && k > 0 && lwork >= min(m, n) && len(work) >= lwork
	switch {
	case vect == lapack.GenerateQ && valid && n <= m && n >= min(m, k) && len(tau) >= min(m, k):
		if m >= k {
			l.Dorgqr(m, n, k, a, lda, tau[:k], work, lwork)
		} else { // a square Q, and the columns of reflectors begin one before theirs
			l.orgShifted(m, 1, m, a, lda, tau[:m-1], work, lwork)
		}
		lwork = -1 // gonum's best lwork
	case vect == lapack.GeneratePT && valid && m <= n && m >= min(n, k) && len(tau) >= min(n, k):
		if k < n {
			l.Dorglq(m, n, k, a, lda, tau[:k], work, lwork)
		} else {
			for i := n - 1; i > 0; i-- {
				copy(a[i*lda+i:][:n-i], a[(i-1)*lda+i:])
			}
			border(n, 1, n, a, lda)
			if n > 1 {
				l.Dorglq(n-1, n-1, n-1, a[lda+1:], lda, tau[:n-1], work, lwork)
			}
		}
		lwork = -1
	}
	l.Implementation.Dorgbr(vect, m, n, k, a, lda, tau, work, lwork)
}

// Dormbr computes the product with the Q or, if vect is lapack.ApplyP, the P of a reduction to bidiagonal form,
//
//	C = op(Q)·C (side = Left) or C = C·op(Q) (side = Right),
//
// for an m×n C. Q is that of a matrix with k columns, and P that of one with k rows, whose reflectors [LAPACK.Dgebrd]
// has left in a and tau. work has lwork elements, at least n (Left) or m (Right); with lwork = −1 work[0] becomes
// gonum's best lwork and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xORMBR.
func (l LAPACK) Dormbr(vect lapack.ApplyOrtho, side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64, lwork int) {
	order, others := orders(side, m, n)
	count, offset := k, 0 // of reflectors, and of their first elements
	rows, cols := order, min(order, k)
	if vect == lapack.ApplyP {
		rows, cols = cols, rows
	}
	if order < k || order == k && vect == lapack.ApplyP {
		count, offset = order-1, 1
	}
	if (vect != lapack.ApplyQ && vect != lapack.ApplyP) || count < 1 || len(tau) < min(order, k) || !fits(rows, cols, a, lda) || !fits(m, n, c, ldc) ||
		!fitsOrm(side, trans, order-offset, others, count, tau[:count], work, lwork) {
		l.Implementation.Dormbr(vect, side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	mi, ni, part := m, n-offset, c[offset:]
	if side == blas.Left {
		mi, ni, part = m-offset, n, c[offset*ldc:]
	}
	if vect == lapack.ApplyQ {
		l.Dormqr(side, trans, mi, ni, count, a[offset*lda:], lda, tau[:count], part, ldc, work, lwork)
	} else {
		opposite := blas.Trans // rows hold the reflectors of Pᵀ
		if trans == blas.Trans {
			opposite = blas.NoTrans
		}
		l.Dormlq(side, opposite, mi, ni, count, a[offset:], lda, tau[:count], part, ldc, work, lwork)
	}
	l.Implementation.Dormbr(vect, side, trans, m, n, k, a, lda, tau, c, ldc, work, -1) // gonum's best lwork
}
