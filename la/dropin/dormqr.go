package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// smallOrmqr is the largest product of the dimensions and the number of
// reflectors left to gonum by default; smallWide is that of a C of which wide
// rows or more are multiplied, for which gonum's code calls products.
const (
	smallOrmqr = 48 * 48 * 48
	smallWide  = 160 * 160 * 160
	wide       = 32
)

// smallOrm is the limit for a C with so many rows that Q multiplies, or columns.
func smallOrm(others int) int {
	if others >= wide {
		return smallWide
	}
	return smallOrmqr
}

// Dormqr computes the product with the orthogonal matrix of a QR factorization,
//
//	C = op(Q)·C (side = Left) or C = C·op(Q) (side = Right),
//
// for an m×n C and the k reflectors that [LAPACK.Dgeqrf] has left in a and tau.
// work has lwork elements, at least n (Left) or m (Right); with lwork = -1
// work[0] becomes the best lwork and nothing is computed. It panics as gonum's
// does.
//
// Reference: LAPACK xORMQR.
func (l LAPACK) Dormqr(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64, lwork int) {
	co := l.blas.core
	order, others := orders(side, m, n)
	if co.smallCube(smallOrm(others), m, n, k) || !fitsOrm(side, trans, order, others, k, tau, work, lwork) ||
		!fits(order, k, a, lda) || !fits(m, n, c, ldc) {
		l.Implementation.Dormqr(side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	ormqr(co, "Dormqr", side, trans, la.General[float64]{Rows: order, Cols: k, Stride: lda, Data: a}, tau,
		la.General[float64]{Rows: m, Cols: n, Stride: ldc, Data: c})
	l.Implementation.Dormqr(side, trans, m, n, k, a, lda, tau, c, ldc, work, -1) // sets work[0]
}

// fitsOrm reports whether the arguments that xORMQR and xORMLQ have in common
// are right, but for the matrices. others is the dimension of C that is not
// the order of Q.
func fitsOrm(side blas.Side, trans blas.Transpose, order, others, k int, tau, work []float64, lwork int) bool {
	return (side == blas.Left || side == blas.Right) && (trans == blas.NoTrans || trans == blas.Trans) &&
		k > 0 && k <= order && others > 0 && len(tau) == k && lwork >= others && len(work) >= lwork
}

// ormqr overwrites c with its product with Q, whose reflectors are in v and tau.
func ormqr(co *core, routine string, side blas.Side, trans blas.Transpose, v la.General[float64], tau []float64, c la.General[float64]) {
	others := c.Cols
	if side == blas.Right {
		others = c.Rows
	}
	vs, t := factored(co, v, others)
	// Slices of C go their ways without one another.
	w := (others + 2*co.workers() - 1) / (2 * co.workers())
	w = min(max(w, 64), 512, others)
	var cs *qr.Slices[float64]
	if side == blas.Left {
		cs = qr.SliceColumns(c, w)
	} else {
		cs = qr.SliceRows(c, w)
	}
	run(co, routine, func(p *blocked.Program[float64]) error {
		if err := qr.SetTau(p, t, vs, tau); err != nil {
			return err
		}
		return qr.OrmqrColumns(p, side, trans, vs, t, cs)
	})
}
