package cpu

import "gonum.org/v1/gonum/blas"

// trsmParts is what trsmSplit puts a trsm together from.
type trsmParts[T Element] interface {
	Gemm(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, work []T)
	// trsmLeaf overwrites B with the solution for the triangle at a, which is
	// of order n ≤ s.leaf.
	trsmLeaf(s triangular[T], n int, a, b []T)
}

// triangular is what stays the same while trsm or trmm splits its triangle. It
// is passed by value so that it need not live on the heap.
type triangular[T Element] struct {
	parts    trsmParts[T]
	leaf     int
	side     blas.Side
	uplo     blas.Uplo
	trans    blas.Transpose
	diag     blas.Diag
	product  bool // trmm
	alpha    T    // of the updates
	rhs      int  // order of B across the triangle
	lda, ldb int
	work     []T
	leafWork []T // of trmm
}

// newTriangular returns what the arguments say of the triangle, and its order.
func newTriangular[T Element](r trsmParts[T], leaf int, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n, lda, ldb int) (s triangular[T], order int) {
	s = triangular[T]{parts: r, leaf: leaf, side: side, uplo: uplo, trans: trans, diag: diag, rhs: n, lda: lda, ldb: ldb}
	if !s.left() {
		s.rhs = m
		return s, n
	}
	return s, m
}

func (s triangular[T]) left() bool       { return s.side == blas.Left }
func (s triangular[T]) transposed() bool { return s.trans != blas.NoTrans }

// lower reports whether op(A) is lower triangular.
func (s triangular[T]) lower() bool { return (s.uplo == blas.Lower) != s.transposed() }

// forward reports whether the first unknown depends on no other.
func (s triangular[T]) forward() bool { return s.left() == s.lower() }

// split overwrites B with the solution for the triangle of order n at a, whose
// unknowns are the rows (left) or columns (right) of b, or with alpha times its
// product with the triangle. It halves the triangle, so that nearly all of the
// work is in large updates:
//
//	left, lower:   A11·X1 = B1        right, lower:   X2·A22 = B2
//	               A22·X2 = B2−A21·X1                 X1·A11 = B1−X2·A21
//
//	left, lower:   B2 = A22·B2 + A21·B1     right, lower:   B1 = B1·A11 + B2·A21
//	               B1 = A11·B1                              B2 = B2·A22
//
// and the other way round for an upper op(A).
func (s triangular[T]) split(n int, a, b []T) {
	if n <= s.leaf {
		if s.product {
			s.productLeaf(n, a, b)
		} else {
			s.parts.trsmLeaf(s, n, a, b)
		}
		return
	}
	n1 := half(n, s.leaf)
	n2 := n - n1
	a22 := a[n1*s.lda+n1:]
	b2 := b[n1:]
	if s.left() {
		b2 = b[n1*s.ldb:]
	}
	// The off-diagonal block of A: A21 if it is lower, A12 if upper.
	off := a[n1:]
	if s.uplo == blas.Lower {
		off = a[n1*s.lda:]
	}
	// What an update reads is solved before it, but multiplied after it.
	secondFirst := s.forward() == s.product
	if secondFirst {
		s.split(n2, a22, b2)
	} else {
		s.split(n1, a, b)
	}
	if s.forward() {
		s.update(n2, n1, off, b, b2)
	} else {
		s.update(n1, n2, off, b2, b)
	}
	if secondFirst {
		s.split(n1, a, b)
	} else {
		s.split(n2, a22, b2)
	}
}

// update computes B += alpha·op(A)·X (left) or B += alpha·X·op(A) (right) for the
// nb unknowns at b and the nx others at x.
func (s triangular[T]) update(nb, nx int, a, x, b []T) {
	if s.left() {
		s.parts.Gemm(s.trans, blas.NoTrans, nb, s.rhs, nx, s.alpha, a, s.lda, x, s.ldb, 1, b, s.ldb, s.work)
	} else {
		s.parts.Gemm(blas.NoTrans, s.trans, s.rhs, nb, nx, s.alpha, x, s.ldb, a, s.lda, 1, b, s.ldb, s.work)
	}
}

// half returns where to cut a triangle of order n into two that are about as
// large: at a multiple of the leaf, which makes nearly all leaves whole, but
// if the leaf is so large that it would make the parts unequal, at a multiple
// of the widest strip of any vector kernel.
func half(n, leaf int) int {
	if leaf > 256 {
		leaf = 48
	}
	return min(n-1, roundUp((n+1)/2, leaf))
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

// productLeaf is split for a triangle that is multiplied as a square, with the
// zeros and ones that are not stored. It goes through a copy of B.
func (s triangular[T]) productLeaf(n int, a, b []T) {
	square, x := s.leafWork[:n*n], s.leafWork[roundUp(n*n, 16):]
	squareTriangle(n, s.uplo, s.diag, a, s.lda, square)
	for v := 0; v < s.rhs; v += trmmRHS {
		w := min(trmmRHS, s.rhs-v)
		if s.left() {
			bv := b[v:]
			copyRows(x, 0, 1, w, bv, 0, 1, s.ldb, w, n)
			s.parts.Gemm(s.trans, blas.NoTrans, n, w, n, s.alpha, square, n, x, w, 0, bv, s.ldb, s.work)
		} else {
			bv := b[v*s.ldb:]
			copyRows(x, 0, 1, n, bv, 0, 1, s.ldb, n, w)
			s.parts.Gemm(blas.NoTrans, s.trans, w, n, n, s.alpha, x, n, square, n, 0, bv, s.ldb, s.work)
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

// squareTrapezoid copies the upper trapezoid of the m×n matrix A into dst,
// whose rows lie n apart, with zeros below.
func squareTrapezoid[T Element](m, n int, a []T, lda int, dst []T) {
	for i := range m {
		row := dst[i*n : i*n+n]
		clear(row[:i])
		copy(row[i:], a[i*lda+i:i*lda+n])
	}
}
