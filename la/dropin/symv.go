package dropin

import (
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Dsymv computes
//
//	y = alpha·A·x + beta·y
//
// for a symmetric n×n A of which one triangle is stored, and reads that once, in parts for each core. Vectors with
// gaps, and small matrices, are gonum's. It panics as gonum's does.
//
// Reference: BLAS xSYMV.
func (b BLAS) Dsymv(uplo blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if b.core.small(smallSymv, n, n) || !symv(b.core, b.core.host64(), uplo, n, alpha, a, lda, x, incX, beta, y, incY) {
		b.Implementation.Dsymv(uplo, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Ssymv is Dsymv in float32.
func (b BLAS) Ssymv(uplo blas.Uplo, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if b.core.small(smallSymv, n, n) || !symv(b.core, b.core.host32(), uplo, n, alpha, a, lda, x, incX, beta, y, incY) {
		b.Implementation.Ssymv(uplo, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// smallSymv is the largest n·n left to gonum by default.
const smallSymv = 32 * 32

// symv does what it can do faster than gonum, and reports whether that is all.
func symv[T la.Element](
	co *core, k *cpu.Packed[T], uplo blas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int,
) bool {
	if incX != 1 || incY != 1 || !triangle(uplo) || !fits(n, n, a, lda) || len(x) < n || len(y) < n {
		return false
	}
	switch y = y[:n]; beta {
	case 0:
		clear(y)
	case 1:
	default:
		k.Scal(beta, y)
	}
	k.SymvBy(func(parts, _ int, f func(part, parts int, work []T)) {
		each(co, parts, func(i int) { f(i, parts, nil) })
	}, uplo, n, alpha, a, lda, x[:n], y)
	return true
}
