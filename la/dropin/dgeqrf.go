package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

// smallGeqrf is the largest product m·n·min(m, n) left to gonum by default. On a
// 2-core Xeon (model 167) that was also doing other work the factorization of
// mat.QR took 1.35 times as long as gonum's at 64 and 0.80 times at 128
// (BenchmarkMat).
const smallGeqrf = 88 * 88 * 88

// Dgeqrf computes the QR factorization of the m×n matrix A in place,
//
//	A = Q·R,  Q = H(0)·H(1)·…·H(k-1),  H(i) = I − tau(i)·v·vᵀ,  k = min(m, n).
//
// R overwrites the upper triangle of A, the elements i+1 to m-1 of v column i
// below the diagonal; v(i) is 1. These are the reflectors that xGEQR2 makes.
// tau has k elements, and work lwork, at least n; with lwork = -1 work[0]
// becomes the best lwork and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xGEQRF.
func (l LAPACK) Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	co, k := l.blas.core, min(m, n)
	if co.smallCube(smallGeqrf, m, n, k) || !fits(m, n, a, lda) || len(tau) != k || lwork < n || len(work) < lwork {
		l.Implementation.Dgeqrf(m, n, a, lda, tau, work, lwork)
		return
	}
	nb, ib := reflectorSizes(co, m, n, k)
	va := la.General[float64]{Rows: m, Cols: n, Stride: lda, Data: a}
	geqrf(co, "Dgeqrf", va, tau, nb, ib)
	l.Implementation.Dgeqrf(m, n, a, lda, tau, work, -1) // sets work[0]
}

// geqrf factors a in slices of nb columns.
func geqrf(co *core, routine string, a la.General[float64], tau []float64, nb, ib int) {
	t := qr.NewReflectors[float64](a.Rows, a.Cols, nb, ib)
	if nb >= a.Cols {
		tile := &kernels.Tile[float64]{Rows: a.Rows, Cols: a.Cols, Stride: a.Stride, Data: a.Data}
		co.call(routine, ops[float64](co).Op("geqrt"), &op.Geqrt{IB: t.IB()}, tile, t.Tile(0))
		t.Tau(tau)
		return
	}
	v := qr.SliceColumns(a, nb)
	run(co, routine, func(p *blocked.Program[float64]) error { return qr.GeqrfColumns(p, v, t) })
	t.Tau(tau)
}

// reflectorSizes returns the width of slices for k reflectors of order m that
// are applied to n columns, and of the block reflectors in them. If the problem
// is better given to one kernel, the slice is as wide as there are columns.
func reflectorSizes(co *core, m, n, k int) (nb, ib int) {
	nb, whole := tileSize[float64](co, engine.OpQR, mean(n, k), m, n, k)
	if whole {
		nb = max(n, k)
	}
	ib = 32
	if nb >= 96 {
		ib = 64
	}
	return nb, min(ib, nb)
}

// factored returns reflectors in LAPACK's form as a Program works with them: the
// k columns of v, which are m high, and tau.
func factored(co *core, v la.General[float64], n int) (*qr.Slices[float64], *qr.Reflectors[float64]) {
	nb, ib := reflectorSizes(co, v.Rows, n, v.Cols)
	nb = min(nb, v.Cols)
	return qr.SliceColumns(v, nb), qr.NewReflectors[float64](v.Rows, v.Cols, nb, min(ib, nb))
}
