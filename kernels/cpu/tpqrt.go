package cpu

import "gonum.org/v1/gonum/blas"

// Tpqrt computes the QR factorization of an upper triangle A of order n on top
// of the m×n matrix B,
//
//	⎡A⎤       ⎡R⎤
//	⎣B⎦ = Q · ⎣0⎦,
//
// in block reflectors of ib ≥ 1 columns. B is full (l = 0), or upper
// trapezoidal as a whole (l = m ≤ n). R overwrites the upper triangle of A;
// what is below it is neither read nor written. V, which is a unit matrix on
// top of a matrix of the shape of B, overwrites B; what is below the diagonal
// of an upper trapezoidal one is neither read nor written. T is min(ib, n)×n.
// Numbers of all sizes, NaN and infinities are treated as by [QR.Geqrt].
// Reference: LAPACK xTPQRT.
func (q *QR[T]) Tpqrt(m, n, l, ib int, a []T, lda int, b []T, ldb int, t []T, ldt int, work []T) {
	checkBlock(ib)
	checkMatrix(n, n, len(a), lda)
	checkMatrix(m, n, len(b), ldb)
	checkMatrix(min(ib, n), n, len(t), ldt)
	sh := checkL(l, m, n)
	if n == 0 {
		return
	}
	s := q.scratch(work, max(m, n), ib)
	f := s.reflectors(sh, m, n, ib, b, ldb)
	q.factorBlocks(&f, n, a, lda, b, ldb, t, ldt, &s)
}

// Tpmqrt computes, with the orthogonal factor Q of k reflectors that
// [QR.Tpqrt] left in V and T for the same l and ib,
//
//	⎡A⎤         ⎡A⎤
//	⎣B⎦ = op(Q)·⎣B⎦  (side = Left,  V m×k, A k×n)
//
//	[A B] = [A B]·op(Q)  (side = Right, V n×k, A m×k)
//
// for the m×n matrix B. Reference: LAPACK xTPMQRT.
func (q *QR[T]) Tpmqrt(side blas.Side, trans blas.Transpose, m, n, k, l, ib int, v []T, ldv int, t []T, ldt int, a []T, lda int, b []T, ldb int, work []T) {
	left, transposed := checkApply(side, trans, ib)
	order, width := m, n
	checkMatrix(m, n, len(b), ldb)
	if left {
		checkMatrix(k, n, len(a), lda)
	} else {
		checkMatrix(m, k, len(a), lda)
		order, width = n, m
	}
	checkMatrix(order, k, len(v), ldv)
	checkMatrix(min(ib, k), k, len(t), ldt)
	sh := checkL(l, order, k)
	if width == 0 || k == 0 {
		return
	}
	s := q.scratch(work, max(m, n, k), ib)
	f := s.reflectors(sh, order, k, ib, v, ldv)
	f.loadAll(t, ldt)
	q.apply(&f, left, transposed, width, a, lda, b, ldb, &s)
}
