package cpu

import "gonum.org/v1/gonum/blas"

// Trmm implements [Routines].
func (p *Packed[T]) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T) {
	if trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	leaf := trmmWork(max(m, n))
	if len(work) < leaf {
		panic(ErrWork)
	}
	s, order := newTriangular[T](p, trmmLeaf, side, uplo, trans, diag, m, n, lda, ldb)
	s.product, s.alpha = true, alpha
	s.leafWork, s.work = work[:leaf], work[leaf:]
	s.split(order, a, b)
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
