package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// smallTrmm is the largest product m²·n or m·n² left to gonum by default: gonum
// took 0.66 µs for 12×12 and 1.73 for 16×16, a kernel 1.11 and 0.71 (as
// smallGemm).
const smallTrmm = 13 * 13 * 13

// smallTrsm is the largest product m²·n or m·n² left to gonum by default: gonum
// took 0.39 µs for 12×12 and 0.77 for 16×16, a kernel 0.61 and 0.44 (as
// smallGemm).
const smallTrsm = 13 * 13 * 13

// trsmVector is trsm for one right-hand side.
func trsmVector[T la.Element](co *core, side blas.Side, uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, alpha T, a []T, lda int, b []T, ldb int) {
	inc := ldb
	if side == blas.Right { // x·op(A) = b
		inc, tA = 1, scalar.Flip[T](tA)
	}
	x := make([]T, n)
	for i := range x {
		x[i] = alpha * b[i*inc]
	}
	trsv(vectorsOf[T](BLAS{core: co}), uplo, tA, diag, n, a, lda, x)
	for i, v := range x {
		b[i*inc] = v
	}
}

// triangular computes xTRMM if product is set and otherwise xTRSM, or returns false as [gemm] does.
func triangular[T la.Element](co *core, routine string, product bool, side blas.Side, uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) bool {
	order, _ := orders(side, m, n)
	limit := smallTrsm
	if product {
		limit = smallTrmm
	}
	if co.smallCube(limit, m, n, order) || alpha == 0 || !fitsTri(side, uplo, tA, diag) ||
		!fits(m, n, b, ldb) || !fits(order, order, a, lda) {
		return false
	}
	if product && !finite(m, n, b, ldb) {
		// A kernel multiplies by the zeros outside the triangle, too, and would spread them.
		return false
	}
	if !product && (n == 1 && side == blas.Left || m == 1 && side == blas.Right) {
		trsmVector(co, side, uplo, tA, diag, order, alpha, a, lda, b, ldb)
		return true
	}
	nb, whole := tileSize[T](co, engine.OpTrsm, order, m, n, order)
	if whole {
		d := one[T]()
		d.trsm = op.Trsm[T]{Side: side, Uplo: uplo, Trans: tA, Diag: diag, Alpha: alpha}
		d.set(0, order, order, a, lda)
		d.set(1, m, n, b, ldb)
		if product {
			d.trmm = op.Trmm[T](d.trsm)
			d.run(co, routine, ops[T](co).Op("trmm"), &d.trmm, 2)
		} else {
			d.run(co, routine, ops[T](co).Op("trsm"), &d.trsm, 2)
		}
		return true
	}
	va, vb := view(order, order, a, lda, nb), view(m, n, b, ldb, nb)
	run(co, routine, func(p *blocked.Program[T]) error {
		if product {
			return p.Trmm(side, uplo, tA, diag, alpha, va, vb)
		}
		return p.Trsm(side, uplo, tA, diag, alpha, va, vb)
	})
	return true
}
