package cpu

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// PbtrfRoom returns the number of diagonals above the main one for which a [Band] needs memory, to be factored by
// [Bands.Pbtrf] where k of them are not zero. It needs none below.
func PbtrfRoom(k int) (upper int) { return k + bandPanelOf(k) - 1 }

// PbtrfWork returns the number of elements of scratch that Pbtrf and Pbtrs need for a band with k diagonals above the
// main one, and nrhs right-hand sides.
func (t *Bands[T]) PbtrfWork(k, nrhs int) int {
	return t.Work(max(k+bandPanelOf(k), min(nrhs, bandColumns)))
}

// Pbtrf factors a symmetric positive definite band matrix in place,
//
//	A = Uᵀ·U,
//
// in its upper triangle, of which k diagonals above the main one are not zero; those of U are the same. The band has
// room for [PbtrfRoom] diagonals; those beyond k hold zeros before and after. It returns 0, or the order of the first
// leading minor that is not positive definite; the triangle then holds intermediate values. work holds at least
// [Bands.PbtrfWork] elements.
//
// Reference: LAPACK xPBTRF.
func (t *Bands[T]) Pbtrf(k int, a *Band[T], work []T) (info int) {
	a.check(0, PbtrfRoom(k))
	if k <= bandNarrow {
		return t.pbtf2(k, a)
	}
	nb, ld, n := bandPanelOf(k), a.ld(), a.N
	for j := 0; j < n; j += nb {
		jb := min(nb, n-j)
		u := a.at(j, j)
		if info := t.Potrf(blas.Upper, jb, u, ld, work); info != 0 {
			return j + info
		}
		next := j + jb
		w := min(k, n-next) // columns of the rest that change
		if w == 0 {
			continue
		}
		t.columns(w, k+nb, work, func(first, m int, work []T) {
			t.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, jb, m, 1, u, ld, a.at(j, next+first), ld, work)
		})
		t.columns(w, k+nb, work, func(first, m int, work []T) {
			i := next + first
			x := a.at(j, i)
			t.Syrk(blas.Upper, blas.Trans, m, jb, -1, x, ld, 1, a.at(i, i), ld, work)
			if rest := w - first - m; rest > 0 {
				t.Gemm(blas.Trans, blas.NoTrans, m, rest, jb, -1, x, ld, a.at(j, i+m), ld, 1, a.at(i, i+m), ld, work)
			}
		})
	}
	return 0
}

// pbtf2 is Pbtrf row by row.
func (t *Bands[T]) pbtf2(k int, a *Band[T]) (info int) {
	n := a.N
	for j := range n {
		end := min(j+k+1, n)
		row := a.row(j, j, end)
		if !(row[0] > 0) {
			return j + 1
		}
		pivot := T(math.Sqrt(float64(row[0])))
		row[0] = pivot
		row = row[1:]
		for i := range row {
			row[i] /= pivot
		}
		for i, u := range row {
			if u != 0 {
				t.axpy(-u, row[i:], a.at(j+1+i, j+1+i))
			}
		}
	}
	return 0
}

// Pbtrs overwrites the n×nrhs matrix B with A⁻¹·B, for the factor of Pbtrf.
//
// Reference: LAPACK xPBTRS.
func (t *Bands[T]) Pbtrs(k int, a *Band[T], nrhs int, b []T, ldb int, work []T) {
	a.check(0, PbtrfRoom(k))
	checkMatrix(a.N, nrhs, len(b), ldb)
	if nrhs == 0 {
		return
	}
	if nrhs <= bandFew && ldb == 1 || k <= bandNarrow {
		t.pbtrsByRows(k, a, nrhs, b, ldb)
		return
	}
	nb, ld, n := bandPanelOf(k), a.ld(), a.N
	for j := 0; j < n; j += nb {
		jb := min(nb, n-j)
		next := j + jb
		t.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, jb, nrhs, 1, a.at(j, j), ld, b[j*ldb:], ldb, work)
		if w := min(k, n-next); w > 0 {
			t.Gemm(blas.Trans, blas.NoTrans, w, nrhs, jb, -1, a.at(j, next), ld, b[j*ldb:], ldb, 1, b[next*ldb:], ldb, work)
		}
	}
	t.solveUpper(nb, k, a, nrhs, b, ldb, work)
}

// solveUpper overwrites B with U⁻¹·B for the upper triangle U of a band with ku diagonals, from panel to panel.
func (t *Bands[T]) solveUpper(nb, ku int, a *Band[T], nrhs int, b []T, ldb int, work []T) {
	n, ld := a.N, a.ld()
	for j := (n - 1) / nb * nb; j >= 0; j -= nb {
		jb := min(nb, n-j)
		next := j + jb
		if w := min(ku, n-next); w > 0 {
			t.Gemm(blas.NoTrans, blas.NoTrans, jb, nrhs, w, -1, a.at(j, next), ld, b[next*ldb:], ldb, 1, b[j*ldb:], ldb, work)
		}
		t.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, jb, nrhs, 1, a.at(j, j), ld, b[j*ldb:], ldb, work)
	}
}

// pbtrsByRows is Pbtrs row by row.
func (t *Bands[T]) pbtrsByRows(k int, a *Band[T], nrhs int, b []T, ldb int) {
	t.solveUpperTransByRows(k, a, nrhs, b, ldb)
	t.solveUpperByRows(k, a, nrhs, b, ldb)
}

// solveUpperTransByRows overwrites B with U⁻ᵀ·B for the upper triangle U of a band with ku diagonals.
func (t *Bands[T]) solveUpperTransByRows(ku int, a *Band[T], nrhs int, b []T, ldb int) {
	n := a.N
	for j := range n {
		row := a.row(j, j, min(j+ku+1, n))
		if ldb == 1 {
			x := b[j] / row[0]
			b[j] = x
			t.axpy(-x, row[1:], b[j+1:])
			continue
		}
		x := b[j*ldb:][:nrhs]
		for c := range x {
			x[c] /= row[0]
		}
		for i, u := range row[1:] {
			t.axpy(-u, x, b[(j+1+i)*ldb:])
		}
	}
}

// solveUpperByRows overwrites B with U⁻¹·B for the upper triangle U of a band with ku diagonals.
func (t *Bands[T]) solveUpperByRows(ku int, a *Band[T], nrhs int, b []T, ldb int) {
	n := a.N
	for j := n - 1; j >= 0; j-- {
		row := a.row(j, j, min(j+ku+1, n))
		if ldb == 1 {
			b[j] = (b[j] - t.dot(row[1:], b[j+1:])) / row[0]
			continue
		}
		x := b[j*ldb:][:nrhs]
		for i, u := range row[1:] {
			t.axpy(-u, b[(j+1+i)*ldb:][:nrhs], x)
		}
		for c := range x {
			x[c] /= row[0]
		}
	}
}
