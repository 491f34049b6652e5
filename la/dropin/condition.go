package dropin

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// smallCon is the square of the largest order whose condition is left to
// gonum by default.
const smallCon = 64 * 64

// Dpocon estimates the reciprocal of the condition number of a symmetric
// positive definite n×n matrix of 1-norm anorm from its Cholesky factor, the
// uplo triangle of A. It needs work of 3·n elements and iwork of n, and panics
// as gonum's does.
//
// Reference: LAPACK xPOCON.
func (l LAPACK) Dpocon(uplo blas.Uplo, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64 {
	if l.blas.core.small(smallCon, n, n) || !triangle(uplo) || !fits(n, n, a, lda) || !(anorm > 0) ||
		len(work) < 3*n || len(iwork) < n {
		return l.Implementation.Dpocon(uplo, n, a, lda, anorm, work, iwork)
	}
	first, then := blas.Trans, blas.NoTrans
	if uplo == blas.Lower {
		first, then = then, first
	}
	s := system{l, n, a, lda, work[:n], work[2*n : 3*n]}
	inverse, ok := s.norm1(work, iwork, safeMin, func(int) float64 {
		return s.solve(uplo, first, blas.NonUnit) * s.solve(uplo, then, blas.NonUnit)
	})
	return reciprocal(inverse, ok, anorm)
}

// Dgecon estimates the reciprocal of the condition number, in the norm given,
// of an n×n matrix of norm anorm from its LU factorization, as
// [LAPACK.Dgetrf] leaves it in A. It needs work of 4·n elements and iwork of
// n, and panics as gonum's does.
//
// Reference: LAPACK xGECON.
func (l LAPACK) Dgecon(norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64 {
	if l.blas.core.small(smallCon, n, n) || (norm != lapack.MaxColumnSum && norm != lapack.MaxRowSum) ||
		!fits(n, n, a, lda) || !(anorm > 0) || math.IsInf(anorm, 1) || len(work) < 4*n || len(iwork) < n {
		return l.Implementation.Dgecon(norm, n, a, lda, anorm, work, iwork)
	}
	s := system{l, n, a, lda, work[:n], work[2*n : 3*n]}
	inverse, ok := s.norm1(work, iwork, safeMin, func(kase int) float64 {
		if (kase == 1) == (norm == lapack.MaxColumnSum) {
			return s.solve(blas.Lower, blas.NoTrans, blas.Unit) * s.solve(blas.Upper, blas.NoTrans, blas.NonUnit)
		}
		return s.solve(blas.Upper, blas.Trans, blas.NonUnit) * s.solve(blas.Lower, blas.Trans, blas.Unit)
	})
	return reciprocal(inverse, ok, anorm)
}

// Dtrcon estimates the reciprocal of the condition number, in the norm given,
// of the n×n triangular matrix in the uplo triangle of A. It needs work of 3·n
// elements and iwork of n, and panics as gonum's does.
//
// Reference: LAPACK xTRCON.
func (l LAPACK) Dtrcon(norm lapack.MatrixNorm, uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int, work []float64, iwork []int) float64 {
	if l.blas.core.small(smallCon, n, n) || (norm != lapack.MaxColumnSum && norm != lapack.MaxRowSum) || !triangle(uplo) ||
		(diag != blas.Unit && diag != blas.NonUnit) || !fits(n, n, a, lda) || len(work) < 3*n || len(iwork) < n {
		return l.Implementation.Dtrcon(norm, uplo, diag, n, a, lda, work, iwork)
	}
	anorm := l.Dlantr(norm, uplo, diag, n, n, a, lda, work)
	switch {
	case anorm == 0:
		return 0
	case math.IsNaN(anorm):
		return l.Implementation.Dtrcon(norm, uplo, diag, n, a, lda, work, iwork)
	}
	s := system{l, n, a, lda, work[:n], work[2*n : 3*n]}
	inverse, ok := s.norm1(work, iwork, safeMin*float64(n), func(kase int) float64 {
		if (kase == 1) == (norm == lapack.MaxColumnSum) {
			return s.solve(uplo, blas.NoTrans, diag)
		}
		return s.solve(uplo, blas.Trans, diag)
	})
	return reciprocal(inverse, ok, anorm)
}

// safeMin is the least positive float64 whose reciprocal does not overflow, and
// large the largest element of a solution that is not scaled down: xLATRS's
// bound.
const (
	safeMin = 0x1p-1022
	large   = 0x1p970
)

// system is triangular systems with the n×n matrix in a.
type system struct {
	l     LAPACK
	n     int
	a     []float64
	lda   int
	x     []float64 // right-hand side and solution, n elements
	spare []float64 // n elements
}

// norm1 estimates the 1-norm of the inverse that apply multiplies x by,
// but for the factor that it returns; its transpose, if kase is 2. ok is false
// if a product is so large that the norm cannot be represented. work[n:] and
// iwork are scratch.
//
// Reference: LAPACK xLACN2.
func (s *system) norm1(work []float64, iwork []int, small float64, apply func(kase int) (scale float64)) (norm float64, ok bool) {
	x, v := s.x, work[s.n:2*s.n]
	var state [3]int
	for kase := 0; ; {
		if norm, kase = s.l.Dlacn2(s.n, v, x, iwork, norm, kase, &state); kase == 0 {
			return norm, true
		}
		if scale := apply(kase); scale != 1 {
			if top := maxAbs(x); scale == 0 || scale < top*small {
				return 0, false
			}
			s.l.Drscl(s.n, scale, x, 1)
		}
	}
}

// reciprocal returns the reciprocal of the condition number.
func reciprocal(inverse float64, ok bool, norm float64) float64 {
	if !ok || inverse == 0 {
		return 0
	}
	return 1 / inverse / norm
}

// solve overwrites x with scale times the solution of a triangular system;
// scale is less than 1 where the solution would overflow.
//
// LAPACK's xLATRS bounds the growth of the solution beforehand, which says next
// to nothing where there are many columns, and then solves with care, column by
// column. Here the system is solved without care first: if no element of the
// solution is too large, nothing has overflowed on the way.
func (s *system) solve(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag) (scale float64) {
	copy(s.spare, s.x)
	s.l.blas.Dtrsv(uplo, trans, diag, s.n, s.a, s.lda, s.x, 1)
	if maxAbs(s.x) <= large {
		return 1
	}
	copy(s.x, s.spare)
	return s.l.Dlatrs(uplo, trans, diag, false, s.n, s.a, s.lda, s.x, s.spare)
}

// maxAbs returns the largest magnitude in x, or NaN if there is one.
func maxAbs(x []float64) float64 {
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(v))
	}
	return top
}
