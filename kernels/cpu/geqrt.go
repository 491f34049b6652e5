package cpu

import "gonum.org/v1/gonum/blas"

// Geqrt computes the QR factorization of the m×n matrix A,
//
//	A = Q·R,
//
// in block reflectors of ib ≥ 1 columns. R overwrites the upper triangle (or
// trapezoid) of A, the columns of V what is below the diagonal; the ones on
// V's diagonal are not stored. T is min(ib, k)×k with k = min(m, n). Nothing
// over- or underflows that need not; a column that is zero below the diagonal
// gets the reflector H = I. NaN and infinities propagate. Reference: LAPACK
// xGEQRT.
func (q *QR[T]) Geqrt(m, n, ib int, a []T, lda int, t []T, ldt int, work []T) {
	checkBlock(ib)
	checkMatrix(m, n, len(a), lda)
	k := min(m, n)
	checkMatrix(min(ib, k), k, len(t), ldt)
	if k == 0 {
		return
	}
	s := q.scratch(work, max(m, n), ib)
	f := s.reflectors(trapezoid, m, k, ib, a, lda)
	q.factorBlocks(&f, n, nil, 0, a, lda, t, ldt, &s)
}

// Gemqrt computes, with the orthogonal factor Q of k reflectors that
// [QR.Geqrt] left in V and T for the same ib,
//
//	C = op(Q)·C  (side = Left,  V m×k)
//	C = C·op(Q)  (side = Right, V n×k)
//
// for the m×n matrix C. Of V only what is below the diagonal is read.
// Reference: LAPACK xGEMQRT.
func (q *QR[T]) Gemqrt(side blas.Side, trans blas.Transpose, m, n, k, ib int, v []T, ldv int, t []T, ldt int, c []T, ldc int, work []T) {
	left, transposed := checkApply(side, trans, ib)
	order, width := m, n
	if !left {
		order, width = n, m
	}
	if k < 0 || k > order {
		panic(ErrDim)
	}
	checkMatrix(m, n, len(c), ldc)
	checkMatrix(order, k, len(v), ldv)
	checkMatrix(min(ib, k), k, len(t), ldt)
	if m == 0 || n == 0 || k == 0 {
		return
	}
	s := q.scratch(work, max(m, n), ib)
	f := s.reflectors(trapezoid, order, k, ib, v, ldv)
	f.loadAll(t, ldt)
	q.apply(&f, left, transposed, width, nil, 0, c, ldc, &s)
}
