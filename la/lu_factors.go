package la

import (
	"math"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// ErrSliceLength is the panic of a method that is given a slice of the wrong
// length.
const ErrSliceLength Error = "la: wrong length of slice"

// Pivots returns the permutation P of A = P·L·U as gonum's mat.LU.RowPivots
// does: row i of A is row p[i] of L·U, so that P has its ones at (i, p[i]). It is
// written to dst, if that is not nil; Pivots panics with ErrSliceLength unless
// dst has m elements. For LAPACK's form see [LU.Swaps].
func (f *LU[T]) Pivots(dst []int) []int {
	f.valid()
	m, _ := f.lu.Dims()
	if dst == nil {
		dst = make([]int, m)
	}
	if len(dst) != m {
		panic(ErrSliceLength)
	}
	for i := range dst {
		dst[i] = i
	}
	swaps := f.Swaps(nil)
	for i := len(swaps) - 1; i >= 0; i-- {
		r := swaps[i]
		dst[i], dst[r] = dst[r], dst[i]
	}
	return dst
}

// Swaps returns the row interchanges as LAPACK's xGETRF does, but counted from
// 0: row i was exchanged with row s[i] ≥ i, for i = 0, 1, …, min(m, n)-1. They
// are written to dst, if that is not nil; Swaps panics with ErrSliceLength unless
// dst has min(m, n) elements.
func (f *LU[T]) Swaps(dst []int) []int {
	f.valid()
	n := f.pivots.Len()
	if dst == nil {
		dst = make([]int, n)
	}
	if len(dst) != n {
		panic(ErrSliceLength)
	}
	f.pivots.Swaps(dst)
	return dst
}

// FactorTo copies both factors to dst, m×n, as LAPACK's xGETRF leaves them: U
// in and above the diagonal, L, without its ones, below. An empty *mat.Dense
// takes the shape. It panics with mat.ErrShape if dst has another one.
func (f *LU[T]) FactorTo(dst Sink[T]) {
	m, n := f.Dims()
	shape[T](dst, m, n)
	if r, c := dst.Dims(); r != m || c != n {
		panic(mat.ErrShape)
	}
	f.factors().CopyTo(dst, f.engine.options().Workers)
}

// factors returns L and U of A, with the scale that U was computed without.
func (f *LU[T]) factors() *blocked.Matrix[T] {
	if f.exp == 0 {
		return f.lu
	}
	a := f.lu.Clone()
	m, n := a.Dims()
	for i := range m {
		for j := i; j < n; j++ {
			a.Set(i, j, T(math.Ldexp(float64(a.At(i, j)), f.exp)))
		}
	}
	return a
}

// LTo copies the factor L to dst, which must be lower triangular; an empty
// *mat.TriDense is made so. A dst with a unit diagonal is left its diagonal, of
// any other it is set to ones. LTo panics with mat.ErrShape if dst is not m×m or
// m > n, for L is then not triangular (see [LU.FactorTo]), and with
// mat.ErrTriangle if dst is upper triangular.
func (f *LU[T]) LTo(dst TriangularSink[T]) {
	m, n := f.Dims()
	if m > n {
		panic(mat.ErrShape)
	}
	if !f.triangleTo(dst, m, mat.Lower, true) {
		for i := range m {
			dst.SetTri(i, i, 1)
		}
	}
}

// UTo copies the factor U to dst, which must be upper triangular; an empty
// *mat.TriDense is made so. It panics with mat.ErrShape if dst is not n×n or
// m < n, for U is then not triangular (see [LU.FactorTo]), and with
// mat.ErrTriangle if dst is lower triangular or its diagonal is all ones.
func (f *LU[T]) UTo(dst TriangularSink[T]) {
	m, n := f.Dims()
	if m < n {
		panic(mat.ErrShape)
	}
	f.triangleTo(dst, n, mat.Upper, false)
}

// triangleTo copies a triangle of the leading k×k block to dst, and reports
// whether the diagonal of dst is all ones.
func (f *LU[T]) triangleTo(dst TriangularSink[T], k int, kind mat.TriKind, unitAllowed bool) (unit bool) {
	unit, empty := shapeTriangle(dst, k, kind, unitAllowed)
	if empty {
		return true
	}
	f.factors().Leading(k, k).CopyTo(dst, f.engine.options().Workers)
	return unit
}

// shapeTriangle makes an empty *mat.TriDense a triangle of order n, or says that
// there is nothing to make. It panics unless dst is such a triangle, and returns
// whether its diagonal is all ones, which it may be if unitAllowed.
func shapeTriangle[T Element](dst TriangularSink[T], n int, kind mat.TriKind, unitAllowed bool) (unit, empty bool) {
	if d, ok := any(dst).(*mat.TriDense); ok && d.IsEmpty() {
		if n == 0 {
			return false, true
		}
		d.ReuseAsTri(n, kind)
	}
	switch d := any(dst).(type) {
	case Triangular[T]:
		unit = d.Diag == blas.Unit
	case *Triangular[T]:
		unit = d.Diag == blas.Unit
	}
	switch r, c := dst.Triangle(); {
	case r != n:
		panic(mat.ErrShape)
	case c != kind || unit && !unitAllowed:
		panic(mat.ErrTriangle)
	}
	return unit, false
}
