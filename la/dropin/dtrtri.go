package dropin

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
)

// smallTrtri is the cube of the largest order left to gonum by default.
const smallTrtri = 48 * 48 * 48

// Dtrtri computes the inverse of the triangular n×n matrix in the uplo triangle
// of a in place; with diag = Unit its diagonal is ones and not read. It returns
// false, and does nothing, if the matrix is singular. A large inverse needs
// n·n/2 elements of memory. It panics as gonum's does.
//
// Reference: LAPACK xTRTRI; in halves, where LAPACK has blocks.
func (l LAPACK) Dtrtri(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int) (ok bool) {
	if l.blas.core.smallCube(smallTrtri, n, n, n) || !fitsTri(blas.Left, uplo, blas.NoTrans, diag) || !fits(n, n, a, lda) {
		return l.Implementation.Dtrtri(uplo, diag, n, a, lda)
	}
	if diag == blas.NonUnit && singular(n, a, lda) {
		return false
	}
	kept := spaces.Get().(*[]float64)
	defer spaces.Put(kept)
	*kept = pack((*kept)[:0], uplo, diag, n, a, lda)
	l.trtri(uplo, diag, n, a, lda)
	if !inRange(uplo, diag, n, a, lda, *kept) {
		unpack(uplo, diag, n, a, lda, *kept)
		l.trtriBlocks(uplo, diag, n, a, lda)
	}
	return true
}

// singular reports whether an n×n triangle has a zero on its diagonal.
func singular(n int, a []float64, lda int) bool {
	for i := range n {
		if a[i*lda+i] == 0 {
			return true
		}
	}
	return false
}

// triangleRow returns the columns of row i of a triangle that are read.
func triangleRow(uplo blas.Uplo, diag blas.Diag, n, i int) (lo, hi int) {
	unit := 0
	if diag == blas.Unit {
		unit = 1
	}
	if uplo == blas.Lower {
		return 0, i + 1 - unit
	}
	return i + unit, n
}

// pack appends the rows of a triangle to packed, one behind the other.
func pack(packed []float64, uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int) []float64 {
	packed = slices.Grow(packed, n*(n+1)/2)
	for i := range n {
		lo, hi := triangleRow(uplo, diag, n, i)
		packed = append(packed, a[i*lda+lo:i*lda+hi]...)
	}
	return packed
}

// unpack undoes pack.
func unpack(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int, packed []float64) {
	for i := range n {
		lo, hi := triangleRow(uplo, diag, n, i)
		packed = packed[copy(a[i*lda+lo:i*lda+hi], packed):]
	}
}

// inRange reports whether the triangle in a, which was computed as the inverse X
// of the packed A, is finite and would be so whatever the order of operations:
// what occurs on the way is bounded by |X|·|A|, and what two ways may differ by
// is a part of |X|·|A|·|X|.
func inRange(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int, packed []float64) bool {
	const most = 0x1p1000
	diagonal := 0.0 // that is not in the triangle
	if diag == blas.Unit {
		diagonal = 1
	}
	top := 0.0
	for i := range n {
		lo, hi := triangleRow(uplo, diag, n, i)
		top = max(top, largest(a[i*lda+lo:i*lda+hi]))
	}
	x := float64(n) * max(top, diagonal)
	both := x * max(largest(packed), diagonal)
	return both <= most && both*x <= most
}

// largest returns the largest magnitude in x, or NaN if there is one: their bits
// are ordered as magnitudes are, and NaN are above all.
func largest(x []float64) float64 {
	var t0, t1, t2, t3 uint64
	for ; len(x) >= 4; x = x[4:] {
		t0 = max(t0, math.Float64bits(x[0])&^(1<<63))
		t1 = max(t1, math.Float64bits(x[1])&^(1<<63))
		t2 = max(t2, math.Float64bits(x[2])&^(1<<63))
		t3 = max(t3, math.Float64bits(x[3])&^(1<<63))
	}
	for _, v := range x {
		t0 = max(t0, math.Float64bits(v)&^(1<<63))
	}
	return math.Float64frombits(max(t0, t1, t2, t3))
}

// trtriBlocks is gonum's Dtrtri on gonum's BLAS. With entries near the ends of
// the range it depends on the order of operations which elements of the inverse
// are finite: in its blocks the inverse of a part is multiplied by the rest
// before that is divided.
func (l LAPACK) trtriBlocks(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int) {
	nb := l.Ilaenv(1, "DTRTRI", "UD", n, -1, -1, -1)
	if nb <= 1 || nb > n {
		l.Dtrti2(uplo, diag, n, a, lda)
		return
	}
	b := l.blas.Implementation
	if uplo == blas.Upper {
		for j := 0; j < n; j += nb {
			jb := min(nb, n-j)
			b.Dtrmm(blas.Left, uplo, blas.NoTrans, diag, j, jb, 1, a, lda, a[j:], lda)
			b.Dtrsm(blas.Right, uplo, blas.NoTrans, diag, j, jb, -1, a[j*lda+j:], lda, a[j:], lda)
			l.Dtrti2(uplo, diag, jb, a[j*lda+j:], lda)
		}
		return
	}
	for j := (n - 1) / nb * nb; j >= 0; j -= nb {
		jb := min(nb, n-j)
		if next := j + jb; next < n {
			b.Dtrmm(blas.Left, uplo, blas.NoTrans, diag, n-next, jb, 1, a[next*lda+next:], lda, a[next*lda+j:], lda)
			b.Dtrsm(blas.Right, uplo, blas.NoTrans, diag, n-next, jb, -1, a[j*lda+j:], lda, a[next*lda+j:], lda)
		}
		l.Dtrti2(uplo, diag, jb, a[j*lda+j:], lda)
	}
}

// trtri inverts a triangle of order 2 at least by halves:
//
//	⎡A11    ⎤⁻¹   ⎡A11⁻¹              ⎤
//	⎣A21 A22⎦   = ⎣−A22⁻¹·A21·A11⁻¹  A22⁻¹⎦, and the transpose of it.
func (l LAPACK) trtri(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int) {
	if n < 2 || l.blas.core.smallCube(smallTrtri, n, n, n) {
		l.Dtrti2(uplo, diag, n, a, lda)
		return
	}
	h := (n/2 + 7) &^ 7
	if h >= n {
		h = n / 2
	}
	second := a[h*lda+h:]
	if uplo == blas.Lower {
		beside := a[h*lda:]
		l.blas.Dtrsm(blas.Left, uplo, blas.NoTrans, diag, n-h, h, -1, second, lda, beside, lda)
		l.blas.Dtrsm(blas.Right, uplo, blas.NoTrans, diag, n-h, h, 1, a, lda, beside, lda)
	} else {
		beside := a[h:]
		l.blas.Dtrsm(blas.Left, uplo, blas.NoTrans, diag, h, n-h, -1, a, lda, beside, lda)
		l.blas.Dtrsm(blas.Right, uplo, blas.NoTrans, diag, h, n-h, 1, second, lda, beside, lda)
	}
	l.trtri(uplo, diag, h, a, lda)
	l.trtri(uplo, diag, n-h, second, lda)
}

// Dtrtrs solves op(A)·X = B in place for the triangular n×n matrix A in the
// uplo triangle of a, and n×nrhs B. It returns false, and does nothing, if A is
// singular. It panics as gonum's does.
//
// Reference: LAPACK xTRTRS.
func (l LAPACK) Dtrtrs(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, n, nrhs int, a []float64, lda int, b []float64, ldb int) (ok bool) {
	if l.blas.core.smallCube(smallTrsm, n, n, nrhs) || !fitsTri(blas.Left, uplo, trans, diag) || !fits(n, n, a, lda) || !fits(n, nrhs, b, ldb) {
		return l.Implementation.Dtrtrs(uplo, trans, diag, n, nrhs, a, lda, b, ldb)
	}
	if diag == blas.NonUnit && singular(n, a, lda) {
		return false
	}
	l.blas.Dtrsm(blas.Left, uplo, trans, diag, n, nrhs, 1, a, lda, b, ldb)
	return true
}
