package cpu

import "gonum.org/v1/gonum/blas"

// Trsm implements [Routines].
func (p *Packed[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T) {
	if trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	trsmSplit(p, p.Leaf, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, work)
}

// trsmTrivial checks the arguments of trsm or trmm, and does the call and reports
// true if there is nothing to solve or to multiply.
func trsmTrivial[T Element](side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) bool {
	checkSide(side)
	checkUplo(uplo)
	checkTranspose(trans)
	checkDiag(diag)
	order := m
	if side == blas.Right {
		order = n
	}
	checkMatrix(m, n, len(b), ldb)
	checkMatrix(order, order, len(a), lda)

	if m == 0 || n == 0 {
		return true
	}
	if alpha == 0 {
		scale(m, n, 0, b, ldb)
		return true
	}
	return false
}

// trsmSplit is trsm, with its arguments checked and alpha not zero, from the
// parts of r: it splits the triangle down to the order leaf.
func trsmSplit[T Element](r trsmParts[T], leaf int, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T) {
	scale(m, n, alpha, b, ldb)
	s, order := newTriangular(r, leaf, side, uplo, trans, diag, m, n, lda, ldb)
	s.alpha, s.work = -1, work
	s.split(order, a, b)
}
