package dropin

import (
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// smallRank1 is the largest m·n of an update left to gonum by default.
const smallRank1 = 24 * 24

// Dger computes
//
//	A += alpha·x·yᵀ
//
// for an m×n A. Small matrices are gonum's, but not with a negative increment, which its assembly takes
// for a positive one. It panics as gonum's does.
//
// Reference: BLAS xGER.
func (b BLAS) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	if incX > 0 && incY > 0 && b.core.small(smallRank1, m, n) || !ger(b.core, b.core.host64(), m, n, alpha, x, incX, y, incY, a, lda) {
		b.Implementation.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Sger is Dger in float32.
func (b BLAS) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
	if incX > 0 && incY > 0 && b.core.small(smallRank1, m, n) || !ger(b.core, b.core.host32(), m, n, alpha, x, incX, y, incY, a, lda) {
		b.Implementation.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// magnitude returns |inc|.
func magnitude(inc int) int { return max(inc, -inc) }

// gathered returns the n elements of a vector without gaps.
func gathered[T la.Element](n int, x []T, inc int) []T {
	if inc == 1 {
		return x[:n]
	}
	all, from := make([]T, n), max(0, (1-n)*inc)
	for i := range all {
		all[i] = x[from+i*inc]
	}
	return all
}

// ger does what it can do faster than gonum, or right, and reports whether that is all.
func ger[T la.Element](co *core, k *cpu.Packed[T], m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) bool {
	if alpha == 0 || incX == 0 || incY == 0 || !fits(m, n, a, lda) ||
		len(x) <= (m-1)*magnitude(incX) || len(y) <= (n-1)*magnitude(incY) {
		return false
	}
	x, y = gathered(m, x, incX), gathered(n, y, incY)
	if m*n < 2*smallGemv {
		k.Ger(m, n, alpha, x, y, a, lda)
		return true
	}
	parallel(co, m, max(smallGemv/n, 16), func(lo, hi int) { k.Ger(hi-lo, n, alpha, x[lo:hi], y, a[lo*lda:], lda) })
	return true
}

// Dsyr computes
//
//	A += alpha·x·xᵀ
//
// for a symmetric n×n A of which the uplo triangle is stored. An x with gaps, and small matrices, are gonum's.
// It panics as gonum's does.
//
// Reference: BLAS xSYR.
func (b BLAS) Dsyr(uplo blas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int) {
	if b.core.small(smallRank1, n, n) || !syr(b.core, b.core.host64(), uplo, n, alpha, x, incX, nil, 1, a, lda) {
		b.Implementation.Dsyr(uplo, n, alpha, x, incX, a, lda)
	}
}

// Ssyr is Dsyr in float32.
func (b BLAS) Ssyr(uplo blas.Uplo, n int, alpha float32, x []float32, incX int, a []float32, lda int) {
	if b.core.small(smallRank1, n, n) || !syr(b.core, b.core.host32(), uplo, n, alpha, x, incX, nil, 1, a, lda) {
		b.Implementation.Ssyr(uplo, n, alpha, x, incX, a, lda)
	}
}

// Dsyr2 computes
//
//	A += alpha·x·yᵀ + alpha·y·xᵀ
//
// for a symmetric n×n A of which the uplo triangle is stored. Vectors with gaps, and small matrices, are
// gonum's. It panics as gonum's does.
//
// Reference: BLAS xSYR2.
func (b BLAS) Dsyr2(uplo blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	if b.core.small(smallRank1, n, n) || len(y) < n || !syr(b.core, b.core.host64(), uplo, n, alpha, x, incX, y, incY, a, lda) {
		b.Implementation.Dsyr2(uplo, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Ssyr2 is Dsyr2 in float32.
func (b BLAS) Ssyr2(uplo blas.Uplo, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
	if b.core.small(smallRank1, n, n) || len(y) < n || !syr(b.core, b.core.host32(), uplo, n, alpha, x, incX, y, incY, a, lda) {
		b.Implementation.Ssyr2(uplo, n, alpha, x, incX, y, incY, a, lda)
	}
}

// syr does what it can do of xSYR2, or of xSYR if y is nil, faster than gonum, and reports whether that is all.
func syr[T la.Element](
	co *core, k *cpu.Packed[T], uplo blas.Uplo, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int,
) bool {
	if alpha == 0 || incX != 1 || incY != 1 || !triangle(uplo) || !fits(n, n, a, lda) || len(x) < n {
		return false
	}
	row := func(i int) {
		from, to := 0, i+1
		if uplo == blas.Upper {
			from, to = i, n
		}
		r := a[i*lda:]
		switch {
		case y != nil:
			k.Axpy(alpha*x[i], y[from:to], r[from:to])
			k.Axpy(alpha*y[i], x[from:to], r[from:to])
		case x[i] != 0: // otherwise gonum leaves the row, even if x has NaN
			k.Axpy(alpha*x[i], x[from:to], r[from:to])
		}
	}
	if n*n < 4*smallGemv {
		for i := range n {
			row(i)
		}
		return true
	}
	parallel(co, (n+1)/2, max(smallGemv/n, 16), func(lo, hi int) { // a long row and a short one
		for i := lo; i < hi; i++ {
			row(i)
			if i != n-1-i {
				row(n - 1 - i)
			}
		}
	})
	return true
}
