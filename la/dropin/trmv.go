package dropin

import (
	"slices"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

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
	trmv(b.core, b.core.host64(), b.Implementation.Dtrmv, uplo, tA, diag, n, a, lda, x)
}

// Strmv is Dtrmv in float32.
func (b BLAS) Strmv(uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []float32, lda int, x []float32, incX int) {
	if b.core.small(smallTrsv, n, n) || incX != 1 || !fitsTri(blas.Left, uplo, tA, diag) || !fits(n, n, a, lda) || len(x) < n {
		b.Implementation.Strmv(uplo, tA, diag, n, a, lda, x, incX)
		return
	}
	trmv(b.core, b.core.host32(), b.Implementation.Strmv, uplo, tA, diag, n, a, lda, x)
}

// trmv computes x = op(A)·x in blocks of x, several at once, those on the diagonal by gonum's routine:
//
//	NoTrans:  x(k) = A(k,k)·x(k) + A(k,rest)·x(rest)
//	Trans:    x(k) = A(k,k)ᵀ·x(k) + A(rest,k)ᵀ·x(rest)
func trmv[T la.Element](
	co *core, k *cpu.Packed[T], small func(blas.Uplo, blas.Transpose, blas.Diag, int, []T, int, []T, int),
	uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []T, lda int, x []T,
) {
	old := slices.Clone(x[:n])
	each(co, (n+vectorBlock-1)/vectorBlock, func(i int) {
		lo, hi := i*vectorBlock, min((i+1)*vectorBlock, n)
		small(uplo, tA, diag, hi-lo, a[lo*lda+lo:], lda, x[lo:hi], 1)
		from, to := 0, lo // the part of op(A) beside the triangle
		if (uplo == blas.Upper) == (tA == blas.NoTrans) {
			from, to = hi, n
		}
		switch {
		case from == to:
		case tA == blas.NoTrans:
			k.Gemv(tA, hi-lo, to-from, 1, a[lo*lda+from:], lda, old[from:to], 1, 1, x[lo:hi], 1)
		default:
			k.Gemv(tA, to-from, hi-lo, 1, a[from*lda+lo:], lda, old[from:to], 1, 1, x[lo:hi], 1)
		}
	})
}
