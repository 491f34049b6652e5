package dropin

import (
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Dgemv computes
//
//	y = alpha·op(A)·x + beta·y
//
// for an m×n A. Memory bounds it: gonum's routine does it, on parts of A for
// each core if A is large. It panics as gonum's does.
//
// Reference: BLAS xGEMV.
func (b BLAS) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if b.core.small(smallGemv, m, n) {
		b.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	gemv(b.core, b.Implementation.Dgemv, tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Sgemv is Dgemv in float32.
func (b BLAS) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if b.core.small(smallGemv, m, n) {
		b.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	gemv(b.core, b.Implementation.Sgemv, tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// smallGemv is the largest product m·n left to the calling goroutine by
// default, and the least one of a part.
const smallGemv = 1 << 17

// gemv computes a large xGEMV by gonum's routine f, in parts of the result.
func gemv[T la.Element](co *core, f func(tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int),
	tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int,
) {
	rows, cols := shape(tA, m, n) // op(A)
	if incX <= 0 || incY <= 0 || !transpose(tA) || !fits(m, n, a, lda) ||
		len(x) <= (cols-1)*incX || len(y) <= (rows-1)*incY {
		f(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	grain := max(smallGemv/2/cols, 16)
	parallel(co, rows, grain, func(lo, hi int) {
		if tA == blas.NoTrans {
			f(tA, hi-lo, n, alpha, a[lo*lda:], lda, x, incX, beta, y[lo*incY:], incY)
		} else {
			f(tA, m, hi-lo, alpha, a[lo:], lda, x, incX, beta, y[lo*incY:], incY)
		}
	})
}
