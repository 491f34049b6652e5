package cpu

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// GbtrfRoom returns the numbers of diagonals below and above the main one for which a [Band] needs memory, to be
// factored by [Bands.Gbtrf] where kl and ku of them are not zero.
func GbtrfRoom(kl, ku int) (lower, upper int) {
	nb := bandPanelOf(kl)
	return kl + nb - 1, kl + ku + nb - 1
}

// GbtrfWork returns the number of elements of scratch that Gbtrf and Gbtrs need for a band with kl and ku diagonals
// below and above the main one, and nrhs right-hand sides.
func (t *Bands[T]) GbtrfWork(kl, ku, nrhs int) int {
	nb := bandPanelOf(kl)
	return max(t.lu.Work(kl+nb, nb), t.Work(max(kl+ku+nb, min(nrhs, bandColumns))))
}

// Gbtrf factors a band matrix in place with partial pivoting,
//
//	A = P·L·U.
//
// kl and ku diagonals of A below and above the main one are not zero. The band has room for those of [GbtrfRoom]; what
// is beyond kl and ku holds zeros before. U has kl+ku diagonals above the main one. L and P are as if after each panel
// of columns the rows of the earlier ones had not been exchanged: [Bands.Gbtrs] knows. Row i was exchanged with row
// ipiv[i] ≥ i. Gbtrf returns 0, or the column, from 1, of the first pivot that is exactly zero; the factorization is
// complete nevertheless. work holds at least [Bands.GbtrfWork] elements.
//
// Reference: LAPACK xGBTRF.
func (t *Bands[T]) Gbtrf(kl, ku int, a *Band[T], ipiv []int, work []T) (info int) {
	a.check(GbtrfRoom(kl, ku))
	n := a.N
	if len(ipiv) != n {
		panic(ErrPivots)
	}
	if kl <= bandNarrow {
		return t.gbtf2(kl, ku, a, ipiv)
	}
	nb, ld := bandPanelOf(kl), a.ld()
	end := 0 // of the columns that rows so far reach
	for j := 0; j < n; j += nb {
		jb := min(nb, n-j)
		m := min(jb+kl, n-j)
		panel := []Block[T]{{m, ld, a.at(j, j)}}
		p := ipiv[j : j+jb]
		if i := t.lu.Getrf(jb, panel, p, work); i != 0 && info == 0 {
			info = j + i
		}
		for _, r := range p {
			end = max(end, min(j+r+ku+1, n))
		}
		next := j + jb
		t.columns(end-next, kl+ku+nb, work, func(first, w int, work []T) {
			if w <= 0 {
				return
			}
			c := next + first
			t.lu.Laswp(w, []Block[T]{{m, ld, a.at(j, c)}}, p, false)
			t.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, jb, w, 1, a.at(j, j), ld, a.at(j, c), ld, work)
			if m > jb {
				t.Gemm(blas.NoTrans, blas.NoTrans, m-jb, w, jb, -1, a.at(next, j), ld, a.at(j, c), ld, 1, a.at(next, c), ld, work)
			}
		})
		for i := range p {
			p[i] += j
		}
	}
	return info
}

// gbtf2 is Gbtrf column by column.
func (t *Bands[T]) gbtf2(kl, ku int, a *Band[T], ipiv []int) (info int) {
	n, ld := a.N, a.ld()
	end := 0
	for j := range n {
		below := min(kl, n-1-j)
		column := a.at(j, j)
		p, top := 0, T(math.Abs(float64(column[0])))
		for i := 1; i <= below; i++ {
			if v := T(math.Abs(float64(column[i*ld]))); v > top {
				p, top = i, v
			}
		}
		ipiv[j] = j + p
		if top == 0 {
			if info == 0 {
				info = j + 1
			}
			continue
		}
		end = max(end, min(j+p+ku+1, n))
		if p != 0 {
			exchangeRows(a.row(j, j, end), a.row(j+p, j, end))
		}
		// The reciprocal of a pivot that comes again and again would have the same rounding error in all of these steps.
		pivot := column[0]
		row := a.row(j, j+1, end)
		for i := 1; i <= below; i++ {
			l := column[i*ld]
			if l == 0 {
				continue
			}
			l /= pivot
			column[i*ld] = l
			t.axpy(-l, row, a.at(j+i, j+1))
		}
	}
	return info
}

// Gbtrs overwrites the n×nrhs matrix B with op(A)⁻¹·B, for the factors of Gbtrf.
//
// Reference: LAPACK xGBTRS.
func (t *Bands[T]) Gbtrs(trans blas.Transpose, kl, ku int, a *Band[T], ipiv []int, nrhs int, b []T, ldb int, work []T) {
	a.check(GbtrfRoom(kl, ku))
	checkMatrix(a.N, nrhs, len(b), ldb)
	if nrhs == 0 {
		return
	}
	byRows := nrhs <= bandFew && ldb == 1 || kl <= bandNarrow
	nb, ld, n := bandPanelOf(kl), a.ld(), a.N
	if trans == blas.NoTrans {
		for j := 0; j < n && kl > 0; j += nb {
			jb := min(nb, n-j)
			m := min(jb+kl, n-j)
			for i, p := range ipiv[j : j+jb] {
				exchangeRowsOf(b, ldb, nrhs, j+i, p)
			}
			if byRows {
				t.solveUnitByRows(j, jb, m, a, nrhs, b, ldb)
				continue
			}
			t.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, jb, nrhs, 1, a.at(j, j), ld, b[j*ldb:], ldb, work)
			if m > jb {
				next := j + jb
				t.Gemm(blas.NoTrans, blas.NoTrans, m-jb, nrhs, jb, -1, a.at(next, j), ld, b[j*ldb:], ldb, 1, b[next*ldb:], ldb, work)
			}
		}
		if byRows {
			t.solveUpperByRows(kl+ku, a, nrhs, b, ldb)
		} else {
			t.solveUpper(nb, kl+ku, a, nrhs, b, ldb, work)
		}
		return
	}
	if byRows {
		t.solveUpperTransByRows(kl+ku, a, nrhs, b, ldb)
	} else {
		for j := 0; j < n; j += nb {
			jb := min(nb, n-j)
			next := j + jb
			t.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, jb, nrhs, 1, a.at(j, j), ld, b[j*ldb:], ldb, work)
			if w := min(kl+ku, n-next); w > 0 {
				t.Gemm(blas.Trans, blas.NoTrans, w, nrhs, jb, -1, a.at(j, next), ld, b[j*ldb:], ldb, 1, b[next*ldb:], ldb, work)
			}
		}
	}
	for j := (n - 1) / nb * nb; j >= 0 && kl > 0; j -= nb {
		jb := min(nb, n-j)
		m := min(jb+kl, n-j)
		if byRows {
			t.solveUnitTransByRows(j, jb, m, a, nrhs, b, ldb)
		} else {
			if m > jb {
				next := j + jb
				t.Gemm(blas.Trans, blas.NoTrans, jb, nrhs, m-jb, -1, a.at(next, j), ld, b[next*ldb:], ldb, 1, b[j*ldb:], ldb, work)
			}
			t.Trsm(blas.Left, blas.Lower, blas.Trans, blas.Unit, jb, nrhs, 1, a.at(j, j), ld, b[j*ldb:], ldb, work)
		}
		for i := jb - 1; i >= 0; i-- {
			exchangeRowsOf(b, ldb, nrhs, j+i, ipiv[j+i])
		}
	}
}

// exchangeRowsOf exchanges rows i and p of B.
func exchangeRowsOf[T Element](b []T, ldb, nrhs, i, p int) {
	if p != i {
		exchangeRows(b[i*ldb:][:nrhs], b[p*ldb:][:nrhs])
	}
}

// solveUnitByRows overwrites rows j to j+m−1 of B with L⁻¹·B, for the jb columns of L from j on.
func (t *Bands[T]) solveUnitByRows(j, jb, m int, a *Band[T], nrhs int, b []T, ldb int) {
	for i := 1; i < m; i++ {
		row := a.row(j+i, j, j+min(i, jb))
		if ldb == 1 {
			b[j+i] -= t.dot(row, b[j:])
			continue
		}
		x := b[(j+i)*ldb:][:nrhs]
		for c, l := range row {
			t.axpy(-l, b[(j+c)*ldb:][:nrhs], x)
		}
	}
}

// solveUnitTransByRows overwrites rows j to j+jb−1 of B with L⁻ᵀ·B, for the jb columns of L from j on.
func (t *Bands[T]) solveUnitTransByRows(j, jb, m int, a *Band[T], nrhs int, b []T, ldb int) {
	for i := m - 1; i > 0; i-- {
		row := a.row(j+i, j, j+min(i, jb))
		if ldb == 1 {
			t.axpy(-b[j+i], row, b[j:])
			continue
		}
		x := b[(j+i)*ldb:][:nrhs]
		for c, l := range row {
			t.axpy(-l, x, b[(j+c)*ldb:][:nrhs])
		}
	}
}
