package dropin

import (
	"slices"

	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dsytrd reduces the symmetric n×n matrix A, of which only the uplo triangle is read and written, to tridiagonal form
// in place,
//
//	Qᵀ·A·Q = T,  H(i) = I − tau[i]·v·vᵀ,
//
// with the diagonal d of T and e beside it. With uplo = Lower Q is H(0)·…·H(n−2), and the elements i+2 to n−1 of v
// overwrite column i of a; v(i+1) is 1. With uplo = Upper Q is H(n−2)·…·H(0), and the elements 0 to i−1 of v overwrite
// column i+1; v(i) is 1.
//
// It needs as much memory as A. work and lwork are as gonum's: lwork at least 1; with lwork = −1 work[0] becomes
// gonum's best one and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xSYTRD.
func (l LAPACK) Dsytrd(uplo blas.Uplo, n int, a []float64, lda int, d, e, tau, work []float64, lwork int) {
	co := l.blas.core
	if co.smallCube(smallCondensed, n, n, n) || !triangle(uplo) || n < 2 || !fits(n, n, a, lda) || len(d) < n || len(e) < n-1 ||
		len(tau) < n-1 || lwork < 1 || len(work) < lwork || !squarable(l.Dlansy(lapack.MaxAbs, uplo, n, a, lda, nil)) {
		l.Implementation.Dsytrd(uplo, n, a, lda, d, e, tau, work, lwork)
		return
	}
	ld := n + 8 - n%8
	if ld%64 == 0 {
		ld += 8 // rows that are powers of two apart share few lines of the cache
	}
	b := make([]float64, n*ld)
	mirror := func(f func(b, a *float64)) {
		parallel(co, n, max(16, 1<<14/n), func(lo, hi int) { mirrored(uplo, n, lo, hi, b, ld, a, lda, f) })
	}
	mirror(func(b, a *float64) { *b = *a })
	cpu.NewTridiagonal(co.host64(), newTeam(co)).Sytrd(n, b, ld, d[:n], e[:n-1], tau[:n-1], make([]float64, cpu.SytrdWork(n)))
	mirror(func(b, a *float64) { *a = *b })
	if uplo == blas.Upper {
		slices.Reverse(d[:n])
		slices.Reverse(e[:n-1])
		slices.Reverse(tau[:n-1])
	}
	l.Implementation.Dsytrd(uplo, n, a, lda, d, e, tau, work, -1) // gonum's best lwork
}

// mirrored calls f for the elements of the upper triangle of b in rows lo to hi−1, and those of the uplo triangle of a
// that the kernel takes for them. It reduces upper triangles, and leaves reflectors in their rows: those of the columns
// of a lower triangle. An upper one becomes a lower one by the reverse order of rows and columns.
func mirrored(uplo blas.Uplo, n, lo, hi int, b []float64, ld int, a []float64, lda int, f func(b, a *float64)) {
	const block = 16
	from, row, col := 0, 1, lda
	if uplo == blas.Upper {
		from, row, col = (n-1)*(lda+1), -1, -lda
	}
	for first := lo; first < hi; first += block {
		for j := first; j < n; j++ {
			for i := first; i < min(first+block, hi, j+1); i++ {
				f(&b[i*ld+j], &a[from+i*row+j*col])
			}
		}
	}
}

// Dorgtr overwrites a with the n×n matrix Q of a reduction to tridiagonal form, whose reflectors [LAPACK.Dsytrd] has
// left in the uplo triangle of a and in tau; gonum's does those of an upper one. work has lwork elements, at least
// max(1, n−1); with lwork = −1 work[0] becomes gonum's best lwork and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xORGTR.
func (l LAPACK) Dorgtr(uplo blas.Uplo, n int, a []float64, lda int, tau, work []float64, lwork int) {
	if uplo == blas.Lower && n > 1 && fits(n, n, a, lda) && len(tau) >= n-1 && lwork >= n-1 && len(work) >= lwork {
		l.orgShifted(n, 1, n, a, lda, tau[:n-1], work, lwork)
		lwork = -1 // gonum's best lwork
	}
	l.Implementation.Dorgtr(uplo, n, a, lda, tau, work, lwork)
}
