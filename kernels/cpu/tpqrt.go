package cpu

import "gonum.org/v1/gonum/blas"

// Tpqrt implements [QRRoutines].
func (q *QR[T]) Tpqrt(m, n, l, ib int, a []T, lda int, b []T, ldb int, t []T, ldt int, work []T) {
	if tpqrtTrivial(m, n, l, ib, a, lda, b, ldb, t, ldt) {
		return
	}
	if m == 0 {
		clearT(n, ib, t, ldt)
		return
	}
	sh := shapeOf(l)
	s := q.scratch(work, max(m, n), n, ib)
	f := q.reflectors(sh, m, n, ib, narrowBlock, b, ldb, &s)
	q.factorBlocks(&f, n, a, lda, b, ldb, t, ldt, &s)
}

// Tpmqrt implements [QRRoutines].
func (q *QR[T]) Tpmqrt(side blas.Side, trans blas.Transpose, m, n, k, l, ib int, v []T, ldv int, t []T, ldt int, a []T, lda int, b []T, ldb int, work []T) {
	left, transposed := checkApply(side, trans, ib)
	if tpmqrtTrivial(left, m, n, k, l, ib, v, ldv, t, ldt, a, lda, b, ldb) {
		return
	}
	order, width := m, n
	if !left {
		order, width = n, m
	}
	sh := shapeOf(l)
	s := q.scratch(work, max(m, n, k), k, ib)
	f := q.factorOf(sh, order, k, ib, sh.widest(), v, ldv, t, ldt, &s)
	q.apply(&f, transposed, width, target[T]{left, a, lda, b, ldb}, &s)
}

// clearT makes T that of n reflectors that are all H = I, for want of rows.
func clearT[T Element](n, ib int, t []T, ldt int) {
	for j := range n {
		for i := range j%ib + 1 {
			t[i*ldt+j] = 0
		}
	}
}

// tpqrtTrivial checks the arguments of tpqrt, and reports true if there is
// nothing to factor.
func tpqrtTrivial[T Element](m, n, l, ib int, a []T, lda int, b []T, ldb int, t []T, ldt int) bool {
	checkBlock(ib)
	checkMatrix(n, n, len(a), lda)
	checkMatrix(m, n, len(b), ldb)
	checkMatrix(min(ib, n), n, len(t), ldt)
	checkL(l, m, n)
	return n == 0
}

// tpmqrtTrivial checks the arguments of tpmqrt, and reports true if there is
// nothing to multiply.
func tpmqrtTrivial[T Element](left bool, m, n, k, l, ib int, v []T, ldv int, t []T, ldt int, a []T, lda int, b []T, ldb int) bool {
	checkMatrix(m, n, len(b), ldb)
	order, width := m, n
	if left {
		checkMatrix(k, n, len(a), lda)
	} else {
		checkMatrix(m, k, len(a), lda)
		order, width = n, m
	}
	checkMatrix(order, k, len(v), ldv)
	checkMatrix(min(ib, k), k, len(t), ldt)
	checkL(l, order, k)
	return width == 0 || k == 0
}
