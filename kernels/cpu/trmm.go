package cpu

import "gonum.org/v1/gonum/blas"

// Trmm implements [Routines].
func (p *Packed[T]) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T) {
	if trmmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	t := triangularProduct[T]{
		r:    p,
		side: side, uplo: uplo, trans: trans, diag: diag,
		alpha: alpha,
		rhs:   n,
		lda:   lda, ldb: ldb,
	}
	order := m
	if side == blas.Right {
		order, t.rhs = n, m
	}
	leaf := trmmWork(max(m, n))
	if len(work) < leaf {
		panic(ErrWork)
	}
	t.leafWork, t.work = work[:leaf], work[leaf:]
	t.multiply(order, a, b)
}

// trmmTrivial checks the arguments of trmm, and does the call and reports true
// if there is nothing to multiply.
func trmmTrivial[T Element](side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) bool {
	return trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
}

const (
	// trmmLeaf is the order of the triangle at which trmm stops splitting. A
	// leaf is multiplied as a square, so it costs twice its flops: an eighth
	// more in all at order 256.
	trmmLeaf = 32
	// trmmRHS is the number of vectors of B that a leaf takes at a time.
	trmmRHS = 256
)

// trmmWork returns the scratch that trmm needs beside that of gemm.
func trmmWork(dim int) int {
	order := min(dim, trmmLeaf)
	return roundUp(order*order, 16) + roundUp(order*min(dim, trmmRHS), 16)
}

// triangularProduct is what stays the same while trmm splits its triangle. It
// is passed by value so that it need not live on the heap.
type triangularProduct[T Element] struct {
	r        *Packed[T]
	side     blas.Side
	uplo     blas.Uplo
	trans    blas.Transpose
	diag     blas.Diag
	alpha    T
	rhs      int // order of B across the triangle
	lda, ldb int
	leafWork []T
	work     []T
}

func (t triangularProduct[T]) left() bool { return t.side == blas.Left }

// lower reports whether op(A) is lower triangular.
func (t triangularProduct[T]) lower() bool {
	return (t.uplo == blas.Lower) == (t.trans == blas.NoTrans)
}

// multiply overwrites B with alpha times its product with the triangle of
// order n at a. It halves the triangle, so that nearly all of the work is in
// large products:
//
//	left, lower:   B2 = A22·B2 + A21·B1     right, lower:   B1 = B1·A11 + B2·A21
//	               B1 = A11·B1                              B2 = B2·A22
//
// and the other way round for an upper op(A).
func (t triangularProduct[T]) multiply(n int, a, b []T) {
	if n <= trmmLeaf {
		t.leaf(n, a, b)
		return
	}
	n1 := half(n, trmmLeaf)
	n2 := n - n1
	a22 := a[n1*t.lda+n1:]
	b2 := b[n1:]
	if t.left() {
		b2 = b[n1*t.ldb:]
	}
	// The off-diagonal block of A: A21 if it is lower, A12 if upper.
	off := a[n1:]
	if t.uplo == blas.Lower {
		off = a[n1*t.lda:]
	}
	if t.left() == t.lower() {
		t.multiply(n2, a22, b2)
		t.update(n2, n1, off, b, b2)
		t.multiply(n1, a, b)
	} else {
		t.multiply(n1, a, b)
		t.update(n1, n2, off, b2, b)
		t.multiply(n2, a22, b2)
	}
}

// update computes B += alpha·op(A)·X (left) or B += alpha·X·op(A) (right) for
// the nb vectors at b and the nx vectors at x.
func (t triangularProduct[T]) update(nb, nx int, a, x, b []T) {
	if t.left() {
		t.r.Gemm(t.trans, blas.NoTrans, nb, t.rhs, nx, t.alpha, a, t.lda, x, t.ldb, 1, b, t.ldb, t.work)
	} else {
		t.r.Gemm(blas.NoTrans, t.trans, t.rhs, nb, nx, t.alpha, x, t.ldb, a, t.lda, 1, b, t.ldb, t.work)
	}
}

// leaf is multiply for a triangle that is multiplied as a square, with the
// zeros and ones that are not stored. It goes through a copy of B.
func (t triangularProduct[T]) leaf(n int, a, b []T) {
	square, x := t.leafWork[:n*n], t.leafWork[roundUp(n*n, 16):]
	squareTriangle(n, t.uplo, t.diag, a, t.lda, square)
	for v := 0; v < t.rhs; v += trmmRHS {
		w := min(trmmRHS, t.rhs-v)
		if t.left() {
			bv := b[v:]
			copyRows(x, 0, 1, w, bv, 0, 1, t.ldb, w, n)
			t.r.Gemm(t.trans, blas.NoTrans, n, w, n, t.alpha, square, n, x, w, 0, bv, t.ldb, t.work)
		} else {
			bv := b[v*t.ldb:]
			copyRows(x, 0, 1, n, bv, 0, 1, t.ldb, n, w)
			t.r.Gemm(blas.NoTrans, t.trans, w, n, n, t.alpha, x, n, square, n, 0, bv, t.ldb, t.work)
		}
	}
}

// squareTriangle copies the uplo triangle of the n×n matrix A into dst, whose
// rows lie n apart, with zeros in the other one and, if diag is Unit, ones on
// the diagonal.
func squareTriangle[T Element](n int, uplo blas.Uplo, diag blas.Diag, a []T, lda int, dst []T) {
	// A unit diagonal is not read: above the V of a tile that is applied here
	// another task may be writing R.
	skip := 0
	if diag == blas.Unit {
		skip = 1
	}
	for i := range n {
		row := dst[i*n : i*n+n]
		lo, hi := 0, i+1-skip
		if uplo == blas.Upper {
			lo, hi = i+skip, n
		}
		clear(row[:lo])
		copy(row[lo:hi], a[i*lda+lo:i*lda+hi])
		clear(row[hi:])
		if diag == blas.Unit {
			row[i] = 1
		}
	}
}
