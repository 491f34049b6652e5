package dropin

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dgels solves systems with an m×n matrix A of full rank in the sense of least
// squares, or of least norm where there are many solutions,
//
//	min ‖op(A)·X − B‖.
//
// B has max(m, n) rows and nrhs columns; the solutions overwrite its first n
// rows (trans = NoTrans) or m rows (Trans), what is left of the right-hand sides
// the others. A is overwritten by its factorization, by [LAPACK.Dgeqrf] if
// m ≥ n, otherwise by [LAPACK.Dgelqf]. It returns false if A has not full rank;
// then there is no solution. work has lwork elements, at least
// mn + max(mn, nrhs) with mn = min(m, n); with lwork = -1 work[0] becomes the
// best lwork and nothing is computed. It panics as gonum's does.
//
// Matrices with elements so small or large that they have to be scaled are
// left to gonum.
//
// Reference: LAPACK xGELS.
func (l LAPACK) Dgels(trans blas.Transpose, m, n, nrhs int, a []float64, lda int, b []float64, ldb int, work []float64, lwork int) bool {
	mn := min(m, n)
	if l.blas.core.smallCube(smallOrmqr, m, n, mn) || (trans != blas.NoTrans && trans != blas.Trans) || nrhs <= 0 ||
		!fits(m, n, a, lda) || !fits(max(m, n), nrhs, b, ldb) || lwork < mn+max(mn, nrhs) || len(work) < lwork ||
		!l.moderate(m, n, a, lda) || !l.moderate(max(m, n), nrhs, b, ldb) {
		return l.Implementation.Dgels(trans, m, n, nrhs, a, lda, b, ldb, work, lwork)
	}
	tau := work[:mn]
	// Dgeqrf and its like want a little more than they use.
	scratch := make([]float64, max(m, n, nrhs))
	solve := func(uplo blas.Uplo, t blas.Transpose) bool {
		return l.Dtrtrs(uplo, t, blas.NonUnit, mn, nrhs, a, lda, b, ldb)
	}
	clearFrom := func(row int) {
		for i := row; i < max(m, n); i++ {
			clear(b[i*ldb : i*ldb+nrhs])
		}
	}
	ok := true
	if m >= n {
		l.Dgeqrf(m, n, a, lda, tau, scratch, len(scratch))
		multiply := func(t blas.Transpose) {
			l.Dormqr(blas.Left, t, m, nrhs, n, a, lda, tau, b, ldb, scratch, len(scratch))
		}
		if trans == blas.NoTrans { // R·X = Qᵀ·B
			multiply(blas.Trans)
			ok = solve(blas.Upper, blas.NoTrans)
		} else if ok = solve(blas.Upper, blas.Trans); ok { // X = Q·R⁻ᵀ·B
			clearFrom(n)
			multiply(blas.NoTrans)
		}
	} else {
		l.Dgelqf(m, n, a, lda, tau, scratch, len(scratch))
		multiply := func(t blas.Transpose) {
			l.Dormlq(blas.Left, t, n, nrhs, m, a, lda, tau, b, ldb, scratch, len(scratch))
		}
		if trans == blas.Trans { // Lᵀ·X = Q·B
			multiply(blas.NoTrans)
			ok = solve(blas.Lower, blas.Trans)
		} else if ok = solve(blas.Lower, blas.NoTrans); ok { // X = Qᵀ·L⁻¹·B
			clearFrom(m)
			multiply(blas.Trans)
		}
	}
	l.Implementation.Dgels(trans, m, n, nrhs, a, lda, b, ldb, work, -1) // sets work[0]
	return ok
}

// moderate reports whether squares of the elements of a matrix neither overflow
// nor vanish, as xGELS has it.
func (l LAPACK) moderate(m, n int, a []float64, lda int) bool {
	const small = safeMin / 0x1p-52
	top := l.Dlange(lapack.MaxAbs, m, n, a, lda, nil)
	return top >= small && top <= 1/small
}
