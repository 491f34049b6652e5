package dropin

import (
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dgehrd reduces rows and columns ilo to ihi of the n×n matrix A, which is upper triangular elsewhere, to Hessenberg
// form in place,
//
//	Qᵀ·A·Q = H,  Q = H(ilo)·…·H(ihi−1),  H(i) = I − tau[i]·v·vᵀ.
//
// The elements i+2 to ihi of v overwrite column i of a; v(i+1) is 1. tau has n−1 elements; those of no reflector become 0.
//
// work and lwork are as gonum's: lwork at least n; with lwork = −1 work[0] becomes gonum's best one and nothing is
// computed. It panics as gonum's does.
//
// Reference: LAPACK xGEHRD.
func (l LAPACK) Dgehrd(n, ilo, ihi int, a []float64, lda int, tau, work []float64, lwork int) {
	co := l.blas.core
	if co.smallCube(smallCondensed, n, n, n) || ilo < 0 || ilo >= ihi || ihi >= n || !fits(n, n, a, lda) || len(tau) != n-1 ||
		lwork < n || len(work) < lwork || !squarable(l.Dlange(lapack.MaxAbs, n, n, a, lda, nil)) {
		l.Implementation.Dgehrd(n, ilo, ihi, a, lda, tau, work, lwork)
		return
	}
	clear(tau[:ilo])
	clear(tau[ihi:])
	cpu.NewHessenberg(co.host64(), newTeam(co)).Gehrd(n, ilo, ihi, a, lda, tau, make([]float64, cpu.GehrdWork(n)))
	l.Implementation.Dgehrd(n, ilo, ihi, a, lda, tau, work, -1) // gonum's best lwork
}

// fitsHr reports whether the arguments are right that xORGHR and xORMHR have in common, for a Q of that order.
func fitsHr(order, ilo, ihi int, a []float64, lda int, tau, work []float64, lwork, least int) bool {
	return ilo >= 0 && ilo < ihi && ihi < order && fits(order, order, a, lda) && len(tau) >= order-1 && lwork >= max(1, least) &&
		len(work) >= lwork
}

// Dorghr overwrites a with the n×n matrix Q of a reduction to Hessenberg form, whose reflectors [LAPACK.Dgehrd] has
// left in a and tau. work has lwork elements, at least max(1, ihi−ilo); with lwork = −1 work[0] becomes gonum's best
// lwork and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xORGHR.
func (l LAPACK) Dorghr(n, ilo, ihi int, a []float64, lda int, tau, work []float64, lwork int) {
	if fitsHr(n, ilo, ihi, a, lda, tau, work, lwork, ihi-ilo) {
		l.orgShifted(n, ilo+1, ihi+1, a, lda, tau[ilo:ihi], work, lwork)
		lwork = -1 // gonum's best lwork
	}
	l.Implementation.Dorghr(n, ilo, ihi, a, lda, tau, work, lwork)
}

// orgShifted overwrites the n×n matrix in a with the identity in which rows and columns lo to hi−1 are the Q of hi−lo
// reflectors. The columns that hold these begin one before: the first reflector has its 1, which is not stored, as
// element lo.
func (l LAPACK) orgShifted(n, lo, hi int, a []float64, lda int, tau, work []float64, lwork int) {
	for i := lo + 1; i < hi; i++ {
		row := a[i*lda:]
		copy(row[lo:i], row[lo-1:])
	}
	border(n, lo, hi, a, lda)
	l.Dorgqr(hi-lo, hi-lo, hi-lo, a[lo*lda+lo:], lda, tau, work, lwork)
}

// border makes what is outside of rows and columns lo to hi−1 of the n×n matrix in a that of the identity.
func border(n, lo, hi int, a []float64, lda int) {
	for i := range n {
		row := a[i*lda:][:n]
		if lo <= i && i < hi {
			clear(row[:lo])
			clear(row[hi:])
			continue
		}
		clear(row)
		row[i] = 1
	}
}

// Dormhr computes the product with the Q of a reduction to Hessenberg form,
//
//	C = op(Q)·C (side = Left) or C = C·op(Q) (side = Right),
//
// for an m×n C and the reflectors that [LAPACK.Dgehrd] has left in a and tau. work has lwork elements, at least n (Left) or m
// (Right); with lwork = −1 work[0] becomes gonum's best lwork and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xORMHR.
func (l LAPACK) Dormhr(side blas.Side, trans blas.Transpose, m, n, ilo, ihi int, a []float64, lda int, tau, c []float64, ldc int, work []float64, lwork int) {
	order, others := orders(side, m, n)
	if nh := ihi - ilo; fitsHr(order, ilo, ihi, a, lda, tau, work, lwork, others) && len(tau) == order-1 &&
		fitsOrm(side, trans, nh, others, nh, tau[ilo:ihi], work, lwork) && fits(m, n, c, ldc) {
		v := a[(ilo+1)*lda+ilo:]
		if side == blas.Left {
			l.Dormqr(side, trans, nh, n, nh, v, lda, tau[ilo:ihi], c[(ilo+1)*ldc:], ldc, work, lwork)
		} else {
			l.Dormqr(side, trans, m, nh, nh, v, lda, tau[ilo:ihi], c[ilo+1:], ldc, work, lwork)
		}
		lwork = -1 // gonum's best lwork
	}
	l.Implementation.Dormhr(side, trans, m, n, ilo, ihi, a, lda, tau, c, ldc, work, lwork)
}
