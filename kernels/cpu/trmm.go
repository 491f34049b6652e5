package cpu

import "gonum.org/v1/gonum/blas"

// Trmm implements [Routines].
func (p *Packed[T]) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T) {
	if trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	leaf := trmmWork(max(m, n))
	checkWork(len(work), leaf)
	s, order := newTriangular[T](p, trmmLeaf, side, uplo, trans, diag, m, n, lda, ldb)
	s.product, s.alpha = true, alpha
	s.leafWork, s.work = work[:leaf], work[leaf:]
	s.split(order, a, b)
}
