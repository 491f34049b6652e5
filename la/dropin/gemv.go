package dropin

import (
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Dgemv computes
//
//	y = alpha·op(A)·x + beta·y
//
// for an m×n A, which it reads once, in parts for each core if A is large. Small matrices are gonum's. It panics
// as gonum's does.
//
// Reference: BLAS xGEMV.
func (b BLAS) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if b.core.small(tinyGemv, m, n) || !gemv(b.core, b.core.host64(), tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		b.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Sgemv is Dgemv in float32. It leaves the elements of y behind the product alone, which gonum's overwrites with zeros if
// A is transposed and beta is 0.
func (b BLAS) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if rows, _ := shape(tA, m, n); incY == 1 && 0 <= rows && rows < len(y) {
		y = y[:rows]
	}
	if b.core.small(tinyGemv, m, n) || !gemv(b.core, b.core.host32(), tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		b.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// tinyGemv is the largest m·n left to gonum by default, and smallGemv the least one of a part for a core.
const (
	tinyGemv  = 16 * 16
	smallGemv = 1 << 17
)

// gemv does what it can do faster than gonum, and reports whether that is all.
func gemv[T la.Element](
	co *core, k *cpu.Packed[T],
	tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int,
) bool {
	rows, cols := shape(tA, m, n) // op(A)
	if incX <= 0 || incY <= 0 || !transpose(tA) || !fits(m, n, a, lda) ||
		len(x) <= (cols-1)*incX || len(y) <= (rows-1)*incY {
		return false
	}
	if m*n <= smallGemv {
		k.Gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return true
	}
	parallel(co, rows, max(smallGemv/2/cols, 16), func(lo, hi int) {
		if tA == blas.NoTrans {
			k.Gemv(tA, hi-lo, n, alpha, a[lo*lda:], lda, x, incX, beta, y[lo*incY:], incY)
		} else {
			k.Gemv(tA, m, hi-lo, alpha, a[lo:], lda, x, incX, beta, y[lo*incY:], incY)
		}
	})
	return true
}
