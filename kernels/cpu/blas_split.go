//go:build cgo && (openblas || mkl)

package cpu

import "gonum.org/v1/gonum/blas"

// BLASSplit returns the routines of [BLAS] with trsm and potrf put together
// anew: they split down to small leaves, so that most of their work is in the
// library's gemm, and no leaf is solved from the right.
//
// OpenBLAS 0.3.21 has no trsm kernels of its own for AVX-512. One core, nb =
// 256, float64, core SkylakeX, GFLOP/s as the library has them and split:
// trsm from the left 26 and 44, from the right 19 and 34, potrf lower 17 and
// 22, upper 26 and 27; gemm 60. Core Haswell gains nothing: 30 and 30, 39 and
// 32, 26 and 23, 35 and 29 (Xeon, model 167, go test -tags openblas -bench
// 'Dtrsm|Dpotrf' ./kernels/cpu).
func BLASSplit[T Element]() (r Routines[T], ok bool) {
	return split[T]{newNetlib[T]()}, true
}

// split overrides what it splits.
type split[T Element] struct{ *netlibBLAS[T] }

const (
	trsmLeafOrder  = 32
	potrfLeafOrder = 32
	// transposeRHS is the number of right-hand sides that are transposed at a
	// time.
	transposeRHS = 128
)

// Work implements [Routines].
func (split[T]) Work(dim int) int { return min(dim, trsmLeafOrder) * min(dim, transposeRHS) }

func (r split[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T) {
	if !trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		trsmSplit(r, trsmLeafOrder, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, work)
	}
}

// trsmLeaf solves a leaf by the library's trsm from the left. One from the
// right is transposed into scratch: OpenBLAS solves small triangles three times
// as fast that way round.
func (r split[T]) trsmLeaf(s triangular[T], n int, a, b []T) {
	if s.left() {
		r.netlibBLAS.Trsm(blas.Left, s.uplo, s.trans, s.diag, n, s.rhs, 1, a, s.lda, b, s.ldb, nil)
		return
	}
	trans := blas.Trans
	if s.transposed() {
		trans = blas.NoTrans
	}
	most := min(s.rhs, transposeRHS)
	checkWork(len(s.work), n*most)
	for v0 := 0; v0 < s.rhs; v0 += most {
		w := min(most, s.rhs-v0)
		x := s.work[:n*w]
		rows := b[v0*s.ldb:]
		transposeIn(x, rows, s.ldb, n, w)
		r.netlibBLAS.Trsm(blas.Left, s.uplo, trans, s.diag, n, w, 1, a, s.lda, x, w, nil)
		transposeOut(rows, x, s.ldb, n, w)
	}
}

// transposeIn stores the transpose of the w×n matrix b in x, eight rows of b
// at a time, so that both sides are read and written by cache lines.
func transposeIn[T Element](x, b []T, ldb, n, w int) {
	v := 0
	for ; v+8 <= w; v += 8 {
		r := b[v*ldb:]
		r0, r1, r2, r3 := r[:n], r[ldb:ldb+n], r[2*ldb:2*ldb+n], r[3*ldb:3*ldb+n]
		r4, r5, r6, r7 := r[4*ldb:4*ldb+n], r[5*ldb:5*ldb+n], r[6*ldb:6*ldb+n], r[7*ldb:7*ldb+n]
		for u, y := range r0 {
			d := (*[8]T)(x[u*w+v:])
			d[0], d[1], d[2], d[3] = y, r1[u], r2[u], r3[u]
			d[4], d[5], d[6], d[7] = r4[u], r5[u], r6[u], r7[u]
		}
	}
	for ; v < w; v++ {
		for u, y := range b[v*ldb : v*ldb+n] {
			x[u*w+v] = y
		}
	}
}

// transposeOut undoes transposeIn.
func transposeOut[T Element](b, x []T, ldb, n, w int) {
	v := 0
	for ; v+8 <= w; v += 8 {
		r := b[v*ldb:]
		r0, r1, r2, r3 := r[:n], r[ldb:ldb+n], r[2*ldb:2*ldb+n], r[3*ldb:3*ldb+n]
		r4, r5, r6, r7 := r[4*ldb:4*ldb+n], r[5*ldb:5*ldb+n], r[6*ldb:6*ldb+n], r[7*ldb:7*ldb+n]
		for u := range r0 {
			d := (*[8]T)(x[u*w+v:])
			r0[u], r1[u], r2[u], r3[u] = d[0], d[1], d[2], d[3]
			r4[u], r5[u], r6[u], r7[u] = d[4], d[5], d[6], d[7]
		}
	}
	for ; v < w; v++ {
		y := b[v*ldb : v*ldb+n]
		for u := range y {
			y[u] = x[u*w+v]
		}
	}
}

func (r split[T]) Potrf(uplo blas.Uplo, n int, a []T, lda int, work []T) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	return potrfSplit(r, potrfLeafOrder, uplo, n, a, lda, work)
}

func (r split[T]) potrfLeaf(uplo blas.Uplo, n int, a []T, lda int, _ []T) (info int) {
	return r.netlibBLAS.Potrf(uplo, n, a, lda, nil)
}
