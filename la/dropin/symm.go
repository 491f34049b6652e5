package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// Dsymm computes
//
//	C = alpha·A·B + beta·C (side = Left,  A m×m),
//	C = alpha·B·A + beta·C (side = Right, A n×n),
//
// where B and C are m×n and A is symmetric, stored in its uplo triangle. A
// large A is copied as a whole matrix. It panics as gonum's does.
//
// Reference: BLAS xSYMM.
func (b BLAS) Dsymm(side blas.Side, uplo blas.Uplo, m, n int, alpha float64, a []float64, lda int, bb []float64, ldb int, beta float64, c []float64, ldc int) {
	if !symm(b.core, "Dsymm", side, uplo, m, n, alpha, a, lda, bb, ldb, beta, c, ldc) {
		b.Implementation.Dsymm(side, uplo, m, n, alpha, a, lda, bb, ldb, beta, c, ldc)
	}
}

// Ssymm is Dsymm in float32.
func (b BLAS) Ssymm(side blas.Side, uplo blas.Uplo, m, n int, alpha float32, a []float32, lda int, bb []float32, ldb int, beta float32, c []float32, ldc int) {
	if !symm(b.core, "Ssymm", side, uplo, m, n, alpha, a, lda, bb, ldb, beta, c, ldc) {
		b.Implementation.Ssymm(side, uplo, m, n, alpha, a, lda, bb, ldb, beta, c, ldc)
	}
}

// smallSymm is the largest product m²·n or m·n² left to gonum by default.
const smallSymm = 32 * 32 * 32

// symm computes xSYMM, or returns false as [gemm] does.
func symm[T la.Element](co *core, routine string, side blas.Side, uplo blas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) bool {
	order, _ := orders(side, m, n)
	if co.smallCube(smallSymm, m, n, order) || alpha == 0 || !fitsTri(side, uplo, blas.NoTrans, blas.Unit) ||
		!fits(m, n, b, ldb) || !fits(m, n, c, ldc) || !fits(order, order, a, lda) {
		return false
	}
	nb, whole := tileSize[T](co, engine.OpGemm, mean(m, n), m, n, order)
	if whole {
		nb = order
	}
	full, _ := blocked.From[T](la.Symmetric[T]{Uplo: uplo, N: order, Stride: lda, Data: a}, blocked.Full, nb, blocked.CopyOptions{})
	if whole {
		t := full.Tile(0, 0)
		if side == blas.Left {
			return gemm(co, routine, blas.NoTrans, blas.NoTrans, m, n, order, alpha, t.Data, t.Stride, b, ldb, beta, c, ldc)
		}
		return gemm(co, routine, blas.NoTrans, blas.NoTrans, m, n, order, alpha, b, ldb, t.Data, t.Stride, beta, c, ldc)
	}
	left, right := full, view(m, n, b, ldb, nb)
	if side == blas.Right {
		left, right = right, left
	}
	vc := view(m, n, c, ldc, nb)
	run(co, routine, func(p *blocked.Program[T]) error {
		return p.Gemm(blas.NoTrans, blas.NoTrans, alpha, left, right, beta, vc)
	})
	return true
}
