package dropin

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

const (
	// smallPstrf is the cube of the largest order left to gonum by default.
	smallPstrf = 64 * 64 * 64
	// pstrfPanel is the number of rows of U that are computed before the rest of the matrix is updated.
	pstrfPanel = 64
)

// Dpstrf computes the Cholesky factorization with complete pivoting of the symmetric positive semidefinite n×n matrix A
// in place,
//
//	Pᵀ·A·P = Uᵀ·U (uplo = Upper) or Pᵀ·A·P = L·Lᵀ (uplo = Lower),
//
// in its uplo triangle; the other one is neither read nor written. P[piv[k], k] is 1. Each step takes the largest
// diagonal element of what is left, and the first of equal ones. If it is not above tol, or above n·ε·max A[i, i] for a
// tol below 0, the rank is the number of steps before, and ok false; the factor's rows (Upper) or columns (Lower) from
// rank on are then of no use. The first step asks only for an element above 0. work holds at least 2·n elements. It
// panics as gonum's does.
//
// Reference: LAPACK xPSTRF.
func (l LAPACK) Dpstrf(uplo blas.Uplo, n int, a []float64, lda int, piv []int, tol float64, work []float64) (rank int, ok bool) {
	if l.blas.core.smallCube(smallPstrf, n, n, n) || !triangle(uplo) || !fits(n, n, a, lda) || len(piv) != n || len(work) < 2*n {
		return l.Implementation.Dpstrf(uplo, n, a, lda, piv, tol, work)
	}
	f := pivotedCholesky{blas: l.blas, n: n, a: a, lda: lda, rows: lda, cols: 1, piv: piv, left: work[:n], row: work[n : 2*n]}
	if uplo == blas.Lower {
		f.rows, f.cols = 1, lda
	}
	for i := range piv {
		piv[i] = i
	}
	return f.factor(tol)
}

// pivotedCholesky is a factorization Pᵀ·A·P = Uᵀ·U. Element (i, j) of U, i ≤ j, is a[i*rows+j*cols]: Lᵀ is a U.
type pivotedCholesky struct {
	blas       BLAS
	n          int
	a          []float64
	lda        int
	rows, cols int
	piv        []int
	left       []float64 // the diagonal of what is left of A
	row        []float64 // work
	swaps      [pstrfPanel]int
}

// factor does Dpstrf's work.
func (f *pivotedCholesky) factor(tol float64) (rank int, ok bool) {
	for k := 0; k < f.n; k += pstrfPanel {
		jb := min(pstrfPanel, f.n-k)
		for i := k; i < f.n; i++ {
			f.left[i] = f.a[i*(f.rows+f.cols)]
		}
		for j := k; j < k+jb; j++ {
			p, pivot := largestFrom(f.left, j)
			if j == 0 {
				if !(pivot > 0) {
					return 0, false
				}
				if tol < 0 {
					tol = float64(f.n) * 0x1p-53 * pivot
				}
			} else if pivot <= tol || !(pivot > 0) {
				f.exchangeAbove(k, j)
				f.a[j*(f.rows+f.cols)] = pivot
				return j, false
			}
			f.swaps[j-k] = p
			f.exchange(k, j, p)
			f.rowOf(k, j, math.Sqrt(pivot))
		}
		f.exchangeAbove(k, k+jb)
		f.update(k, k+jb)
	}
	return f.n, true
}

// largestFrom returns the index of the largest of x[j:], the first one of equal ones, and the element.
func largestFrom(x []float64, j int) (at int, top float64) {
	at, top = j, x[j]
	for i, v := range x[j:] {
		if v > top {
			at, top = j+i, v
		}
	}
	return at, top
}

// at returns the memory from element (i, j) of U on.
func (f *pivotedCholesky) at(i, j int) []float64 { return f.a[i*f.rows+j*f.cols:] }

// exchange exchanges rows and columns j and p ≥ j of A, of which rows from k on are left. Those of U above k follow
// later.
func (f *pivotedCholesky) exchange(k, j, p int) {
	if p == j {
		return
	}
	f.left[p] = f.left[j]
	f.piv[j], f.piv[p] = f.piv[p], f.piv[j]
	f.a[p*(f.rows+f.cols)] = f.a[j*(f.rows+f.cols)]
	swap(j-k, f.at(k, j), f.rows, f.at(k, p), f.rows)
	swap(p-j-1, f.at(j, j+1), f.cols, f.at(j+1, p), f.rows)
	if p+1 < f.n {
		swap(f.n-p-1, f.at(j, p+1), f.cols, f.at(p, p+1), f.cols)
	}
}

// exchangeAbove exchanges the columns that steps k to end−1 have exchanged in the rows of U above row k: row by row, if
// its elements are neighbours.
func (f *pivotedCholesky) exchangeAbove(k, end int) {
	if f.cols == 1 {
		for i := range k {
			u := f.a[i*f.lda:]
			for c, p := range f.swaps[:end-k] {
				u[k+c], u[p] = u[p], u[k+c]
			}
		}
		return
	}
	for c, p := range f.swaps[:end-k] {
		swap(k, f.at(0, k+c), 1, f.at(0, p), 1)
	}
}

// swap exchanges n elements of x and y.
func swap(n int, x []float64, incX int, y []float64, incY int) {
	if incX == 1 && incY == 1 {
		x, y = x[:n], y[:n]
		for i, v := range x {
			x[i], y[i] = y[i], v
		}
		return
	}
	for i := range n {
		x[i*incX], y[i*incY] = y[i*incY], x[i*incX]
	}
}

// rowOf computes row j of U, which has d on the diagonal, from those of the panel that begins at k, and what it leaves
// of the diagonal of A.
func (f *pivotedCholesky) rowOf(k, j int, d float64) {
	f.a[j*(f.rows+f.cols)] = d
	m := f.n - j - 1
	if m == 0 {
		return
	}
	u := f.at(j, j+1)
	if f.cols == 1 {
		u = u[:m]
		f.blas.Dgemv(blas.Trans, j-k, m, -1, f.at(k, j+1), f.lda, f.at(k, j), f.lda, 1, u, 1)
		f.blas.Dscal(m, 1/d, u, 1)
	} else {
		to := u
		u = f.row[:m]
		for i := range u {
			u[i] = to[i*f.lda]
		}
		f.blas.Dgemv(blas.NoTrans, m, j-k, -1, f.at(k, j+1), f.lda, f.at(k, j), 1, 1, u, 1)
		f.blas.Dscal(m, 1/d, u, 1)
		for i, v := range u {
			to[i*f.lda] = v
		}
	}
	left := f.left[j+1:][:m]
	for i, v := range u {
		left[i] -= v * v
	}
}

// update subtracts what rows k to j−1 of U are in A from what is left.
func (f *pivotedCholesky) update(k, j int) {
	switch m := f.n - j; {
	case m == 0:
	case f.cols == 1:
		f.blas.Dsyrk(blas.Upper, blas.Trans, m, j-k, -1, f.at(k, j), f.lda, 1, f.at(j, j), f.lda)
	default:
		f.blas.Dsyrk(blas.Lower, blas.NoTrans, m, j-k, -1, f.at(k, j), f.lda, 1, f.at(j, j), f.lda)
	}
}
