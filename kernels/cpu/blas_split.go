//go:build cgo && (openblas || mkl)

package cpu

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

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
	var zero T
	var impl any = split64{}
	if unsafe.Sizeof(zero) == 4 {
		impl = split32{}
	}
	return impl.(Routines[T]), true
}

// split32 and split64 override what they split.
type (
	split32 struct{ netlib32 }
	split64 struct{ netlib64 }
)

const (
	trsmLeafOrder  = 32
	potrfLeafOrder = 32
	// transposeRHS is the number of right-hand sides that are transposed at a
	// time.
	transposeRHS = 128
)

func splitWork(dim int) int { return min(dim, trsmLeafOrder) * min(dim, transposeRHS) }

// Work implements [Routines].
func (split32) Work(dim int) int { return splitWork(dim) }

// Work implements [Routines].
func (split64) Work(dim int) int { return splitWork(dim) }

func (r split32) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int, work []float32) {
	if !trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		trsmSplit(r, trsmLeafOrder, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, work)
	}
}

func (r split64) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, work []float64) {
	if !trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		trsmSplit(r, trsmLeafOrder, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, work)
	}
}

func (r split32) trsmLeaf(s triangularSolve[float32], n int, a, b []float32) {
	leafByRows(r.netlib32, s, n, a, b)
}

func (r split64) trsmLeaf(s triangularSolve[float64], n int, a, b []float64) {
	leafByRows(r.netlib64, s, n, a, b)
}

// leafByRows solves a leaf by r's trsm from the left. One from the right is
// transposed into scratch: OpenBLAS solves small triangles three times as
// fast that way round.
func leafByRows[T Element](r Routines[T], s triangularSolve[T], n int, a, b []T) {
	if s.left() {
		r.Trsm(blas.Left, s.uplo, s.trans, s.diag, n, s.rhs, 1, a, s.lda, b, s.ldb, nil)
		return
	}
	trans := blas.Trans
	if s.transposed() {
		trans = blas.NoTrans
	}
	most := min(s.rhs, transposeRHS)
	if len(s.work) < n*most {
		panic(ErrWork)
	}
	for v0 := 0; v0 < s.rhs; v0 += most {
		w := min(most, s.rhs-v0)
		x := s.work[:n*w]
		rows := b[v0*s.ldb:]
		transposeIn(x, rows, s.ldb, n, w)
		r.Trsm(blas.Left, s.uplo, trans, s.diag, n, w, 1, a, s.lda, x, w, nil)
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

func (r split32) Potrf(uplo blas.Uplo, n int, a []float32, lda int, work []float32) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	return potrfSplit(r, potrfLeafOrder, uplo, n, a, lda, work)
}

func (r split64) Potrf(uplo blas.Uplo, n int, a []float64, lda int, work []float64) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	return potrfSplit(r, potrfLeafOrder, uplo, n, a, lda, work)
}

func (r split32) potrfLeaf(uplo blas.Uplo, n int, a []float32, lda int, _ []float32) (info int) {
	return r.netlib32.Potrf(uplo, n, a, lda, nil)
}

func (r split64) potrfLeaf(uplo blas.Uplo, n int, a []float64, lda int, _ []float64) (info int) {
	return r.netlib64.Potrf(uplo, n, a, lda, nil)
}
