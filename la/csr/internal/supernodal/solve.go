package supernodal

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// SolveScratch returns the number of elements of scratch that Solve needs for so many right-hand sides.
func (f *Factor[T]) SolveScratch(nrhs int) int {
	most := f.mostRows()
	return most*nrhs + f.r.Work(max(most, nrhs))
}

// Solve overwrites the right-hand sides x, an n×nrhs matrix whose rows are in the order of the factor, with the
// solutions. scratch has SolveScratch elements.
func (f *Factor[T]) Solve(x []T, nrhs int, scratch []T) {
	n := int32(f.Supernodes())
	for s := range n {
		f.forward(s, x, nrhs, scratch)
	}
	for s := n - 1; s >= 0; s-- {
		f.backward(s, x, nrhs, scratch)
	}
}

// forward computes the part of Uᵀ·y = b that belongs to supernode s.
func (f *Factor[T]) forward(s int32, x []T, nrhs int, scratch []T) {
	rows, columns := f.rows(s)
	n := len(rows)
	below := n - columns
	panel := f.Panels[f.Panel[s]:f.Panel[s+1]]
	own := x[int(rows[0])*nrhs : (int(rows[0])+columns)*nrhs]
	sum, work := scratch[:below*nrhs], scratch[below*nrhs:]
	if nrhs == 1 {
		f.r.Trsv(blas.Upper, blas.Trans, blas.NonUnit, columns, panel, n, own)
		if below > 0 {
			f.r.Gemv(blas.Trans, columns, below, 1, panel[columns:], n, own, 1, 0, sum, 1)
		}
	} else {
		f.r.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, columns, nrhs, 1, panel, n, own, nrhs, work)
		if below > 0 {
			f.r.Gemm(blas.Trans, blas.NoTrans, below, nrhs, columns, 1, panel[columns:], n, own, nrhs, 0, sum, nrhs, work)
		}
	}
	for i, row := range rows[columns:] {
		to := x[int(row)*nrhs : (int(row)+1)*nrhs]
		for j, v := range sum[i*nrhs : (i+1)*nrhs] {
			to[j] -= v
		}
	}
}

// backward computes the part of U·x = y that belongs to supernode s.
func (f *Factor[T]) backward(s int32, x []T, nrhs int, scratch []T) {
	rows, columns := f.rows(s)
	n := len(rows)
	below := n - columns
	panel := f.Panels[f.Panel[s]:f.Panel[s+1]]
	own := x[int(rows[0])*nrhs : (int(rows[0])+columns)*nrhs]
	known, work := scratch[:below*nrhs], scratch[below*nrhs:]
	for i, row := range rows[columns:] {
		copy(known[i*nrhs:(i+1)*nrhs], x[int(row)*nrhs:])
	}
	if nrhs == 1 {
		if below > 0 {
			f.r.Gemv(blas.NoTrans, columns, below, -1, panel[columns:], n, known, 1, 1, own, 1)
		}
		f.r.Trsv(blas.Upper, blas.NoTrans, blas.NonUnit, columns, panel, n, own)
		return
	}
	if below > 0 {
		f.r.Gemm(blas.NoTrans, blas.NoTrans, columns, nrhs, below, -1, panel[columns:], n, known, nrhs, 1, own, nrhs, work)
	}
	f.r.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, columns, nrhs, 1, panel, n, own, nrhs, work)
}

// LogDet returns the logarithm of the determinant of the matrix.
func (f *Factor[T]) LogDet() float64 {
	sum := 0.0
	f.diagonal(func(d T) { sum += math.Log(float64(d)) })
	return 2 * sum
}

// diagonal calls visit for each element of the diagonal of the factor.
func (f *Factor[T]) diagonal(visit func(T)) {
	for s := range int32(f.Supernodes()) {
		rows, columns := f.rows(s)
		for k := range columns {
			visit(f.Panels[f.Panel[s]+k*(len(rows)+1)])
		}
	}
}
