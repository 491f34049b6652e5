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
	for j := 0; j < k; j += ib {
		b := min(ib, k-j)
		p := panel[T]{sh: trapezoid, m: m - j, a: a[j*lda+j:], lda: lda, t: t[j:], ldt: ldt}
		q.factor(p, b, &s)
		q.update(p, b, b, n-j-b, &s)
	}
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
	step := ldc // from one row of V to the next, in C
	if !left {
		order, width = n, m
		step = 1
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
	for i := range blocks(k, ib) {
		j := block(i, k, ib, left == transposed)
		b := min(ib, k-j)
		h := q.block(trapezoid, left, order-j, 0, b, v[j*ldv+j:], ldv, t[j:], ldt, nil, 0, c[j*step:], ldc, &s)
		q.apply(h, left, transposed, width, &s)
	}
}

// blocks returns the number of blocks of ib columns in k.
func blocks(k, ib int) int { return (k-1)/ib + 1 }

// block returns the first column of the block that is applied as number i:
// the first block goes first in Qᵀ·C and in C·Q, the last in the others.
func block(i, k, ib int, forward bool) int {
	if !forward {
		i = blocks(k, ib) - 1 - i
	}
	return i * ib
}
