package dropin

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Dsyr2k computes, in the uplo triangle of the n×n matrix C,
//
//	C = alpha·A·Bᵀ + alpha·B·Aᵀ + beta·C (tA = NoTrans, A and B n×k),
//	C = alpha·Aᵀ·B + alpha·Bᵀ·A + beta·C (otherwise,    A and B k×n).
//
// Where it does not leave a problem to gonum it computes W = alpha·A·Bᵀ, or
// alpha·Aᵀ·B, in memory of its own, and adds W + Wᵀ: as many multiplications,
// in one product. It panics as gonum's does.
//
// Reference: BLAS xSYR2K.
func (b BLAS) Dsyr2k(uplo blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, bb []float64, ldb int, beta float64, c []float64, ldc int) {
	if !syr2k(b.core, "Dsyr2k", uplo, tA, n, k, alpha, a, lda, bb, ldb, beta, c, ldc) {
		b.Implementation.Dsyr2k(uplo, tA, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
	}
}

// Ssyr2k is Dsyr2k in float32.
func (b BLAS) Ssyr2k(uplo blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int, bb []float32, ldb int, beta float32, c []float32, ldc int) {
	if !syr2k(b.core, "Ssyr2k", uplo, tA, n, k, alpha, a, lda, bb, ldb, beta, c, ldc) {
		b.Implementation.Ssyr2k(uplo, tA, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
	}
}

// smallSyr2k is the largest product n·n·k left to gonum by default.
const smallSyr2k = 32 * 32 * 32

// syr2k computes xSYR2K, or returns false as [gemm] does.
func syr2k[T la.Element](co *core, routine string, uplo blas.Uplo, tA blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) bool {
	if co.smallCube(smallSyr2k, n, n, k) || alpha == 0 || !triangle(uplo) || !transpose(tA) ||
		!fits(n, n, c, ldc) || !fitsOp(tA, n, k, a, lda) || !fitsOp(tA, n, k, b, ldb) {
		return false
	}
	w := make([]T, n*n)
	if !gemm(co, routine, tA, scalar.Flip[T](tA), n, n, k, alpha, a, lda, b, ldb, 0, w, n) {
		return false
	}
	parallel(co, n, 64, func(lo, hi int) { addSymmetric(uplo, lo, hi, n, w, beta, c, ldc) })
	return true
}

// addSymmetric computes C = beta·C + W + Wᵀ in rows lo to hi of the uplo
// triangle of the n×n C, in blocks that keep the columns of W in cache.
func addSymmetric[T la.Element](uplo blas.Uplo, lo, hi, n int, w []T, beta T, c []T, ldc int) {
	const block = 32
	for i0 := lo; i0 < hi; i0 += block {
		i1 := min(i0+block, hi)
		first, last := 0, i1
		if uplo == blas.Upper {
			first, last = i0, n
		}
		for j0 := first; j0 < last; j0 += block {
			for i := i0; i < i1; i++ {
				from, to := j0, min(j0+block, last)
				if uplo == blas.Upper {
					from = max(from, i)
				} else {
					to = min(to, i+1)
				}
				for j := from; j < to; j++ {
					s := w[i*n+j] + w[j*n+i]
					if beta != 0 {
						s += beta * c[i*ldc+j]
					}
					c[i*ldc+j] = s
				}
			}
		}
	}
}
