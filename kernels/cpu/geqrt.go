package cpu

import "gonum.org/v1/gonum/blas"

// Geqrt implements [QRRoutines].
func (q *QR[T]) Geqrt(m, n, ib int, a []T, lda int, t []T, ldt int, work []T) {
	if geqrtTrivial(m, n, ib, a, lda, t, ldt) {
		return
	}
	k := min(m, n)
	s := q.scratch(work, max(m, n), k, ib)
	f := q.reflectors(trapezoid, m, k, ib, narrowBlock, a, lda, &s)
	q.factorBlocks(&f, n, nil, 0, a, lda, t, ldt, &s)
}

// Gemqrt implements [QRRoutines].
func (q *QR[T]) Gemqrt(side blas.Side, trans blas.Transpose, m, n, k, ib int, v []T, ldv int, t []T, ldt int, c []T, ldc int, work []T) {
	left, transposed := checkApply(side, trans, ib)
	if gemqrtTrivial(left, m, n, k, ib, v, ldv, t, ldt, c, ldc) {
		return
	}
	order, width := m, n
	if !left {
		order, width = n, m
	}
	s := q.scratch(work, max(m, n), k, ib)
	f := q.factorOf(trapezoid, order, k, ib, narrowBlock, v, ldv, t, ldt, &s)
	q.apply(&f, transposed, width, target[T]{left: left, c: c, ldc: ldc}, &s)
}

// geqrtTrivial checks the arguments of geqrt, and reports true if there is
// nothing to factor.
func geqrtTrivial[T Element](m, n, ib int, a []T, lda int, t []T, ldt int) bool {
	checkBlock(ib)
	checkMatrix(m, n, len(a), lda)
	k := min(m, n)
	checkMatrix(min(ib, k), k, len(t), ldt)
	return k == 0
}

// gemqrtTrivial checks the arguments of gemqrt, and reports true if there is
// nothing to multiply.
func gemqrtTrivial[T Element](left bool, m, n, k, ib int, v []T, ldv int, t []T, ldt int, c []T, ldc int) bool {
	order := m
	if !left {
		order = n
	}
	if k < 0 || k > order {
		panic(ErrDim)
	}
	checkMatrix(m, n, len(c), ldc)
	checkMatrix(order, k, len(v), ldv)
	checkMatrix(min(ib, k), k, len(t), ldt)
	return m == 0 || n == 0 || k == 0
}
