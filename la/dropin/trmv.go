package dropin

import "gonum.org/v1/gonum/blas"

// Dtrmv computes
//
//	x = op(A)·x
//
// in place for an n×n A of which only the uplo triangle is read, and not its diagonal if diag is Unit. A is read
// once and along its rows. An x with gaps, and small matrices, are gonum's. It panics as gonum's does.
//
// Reference: BLAS xTRMV.
func (b BLAS) Dtrmv(uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []float64, lda int, x []float64, incX int) {
	if b.core.small(smallTrsv, n, n) || incX != 1 || !fitsTri(blas.Left, uplo, tA, diag) || !fits(n, n, a, lda) || len(x) < n {
		b.Implementation.Dtrmv(uplo, tA, diag, n, a, lda, x, incX)
		return
	}
	vectors64(b).multiply(uplo, tA, diag, n, a, lda, x)
}

// Strmv is Dtrmv in float32.
func (b BLAS) Strmv(uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []float32, lda int, x []float32, incX int) {
	if b.core.small(smallTrsv, n, n) || incX != 1 || !fitsTri(blas.Left, uplo, tA, diag) || !fits(n, n, a, lda) || len(x) < n {
		b.Implementation.Strmv(uplo, tA, diag, n, a, lda, x, incX)
		return
	}
	vectors32(b).multiply(uplo, tA, diag, n, a, lda, x)
}

// multiply computes x = op(A)·x in blocks of x, in the order opposite to that of trsv. A is read in panels of rows:
//
//	NoTrans:  x(k) = A(k,k)·x(k) + A(k,rest)·x(rest)
//	Trans:    x(rest) += A(k,rest)ᵀ·x(k),  x(k) = A(k,k)ᵀ·x(k)
func (v vectors[T]) multiply(uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []T, lda int, x []T) {
	upper := uplo == blas.Upper
	blocks := (n + vectorBlock - 1) / vectorBlock
	for step := range blocks {
		k := step
		if upper != (tA == blas.NoTrans) {
			k = blocks - 1 - step
		}
		lo, hi := k*vectorBlock, min((k+1)*vectorBlock, n)
		from, to := 0, lo // the columns of the panel beside the triangle
		if upper {
			from, to = hi, n
		}
		xk := x[lo:hi]
		if tA != blas.NoTrans && from < to {
			v.gemv(blas.Trans, hi-lo, to-from, 1, a[lo*lda+from:], lda, xk, 1, 1, x[from:to], 1)
		}
		v.trmv(uplo, tA, diag, hi-lo, a[lo*lda+lo:], lda, xk, 1)
		if tA == blas.NoTrans && from < to {
			v.gemv(blas.NoTrans, hi-lo, to-from, 1, a[lo*lda+from:], lda, x[from:to], 1, 1, xk, 1)
		}
	}
}
