package la

import (
	"context"
	"math"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/mat"
)

// Pivots returns the permutation P of A = P·L·U as gonum's mat.LU.RowPivots does: row i of A is
// row p[i] of L·U, so P has its ones at (i, p[i]). If dst is not nil the result goes there;
// Pivots panics with ErrSliceLength unless dst has m elements. For LAPACK's form see [LU.Swaps].
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
	exchangeBack(dst, f.Swaps(nil))
	return dst
}

// exchange makes the interchanges of elements i and swaps[i] of x, for i = 0, 1, ….
func exchange[V any](x []V, swaps []int) {
	for i, r := range swaps {
		x[i], x[r] = x[r], x[i]
	}
}

// exchangeBack undoes exchange.
func exchangeBack[V any](x []V, swaps []int) {
	for i, r := range slices.Backward(swaps) {
		x[i], x[r] = x[r], x[i]
	}
}

// Swaps returns the row interchanges as LAPACK's xGETRF does, but counted from 0: row i was
// exchanged with row s[i] ≥ i, for i = 0, 1, …, min(m, n)−1. If dst is not nil the result goes
// there; Swaps panics with ErrSliceLength unless dst has min(m, n) elements.
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

// FactorTo copies both factors to dst, m×n, as LAPACK's xGETRF stores them: U on and above the
// diagonal, L without its unit diagonal below. An empty *mat.Dense takes the shape. FactorTo
// panics with mat.ErrShape if dst has another one.
func (f *LU[T]) FactorTo(dst Sink[T]) {
	m, n := f.Dims()
	shape[T](dst, m, n)
	if r, c := dst.Dims(); r != m || c != n {
		panic(mat.ErrShape)
	}
	f.factors().CopyTo(dst, f.engine.Options().Workers)
}

// factors returns L and U of A: U is scaled back.
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

// LTo copies the factor L to dst, which must be lower triangular; an empty *mat.TriDense becomes
// lower triangular. LTo sets the diagonal of dst to ones, unless dst has a unit diagonal. It
// panics with mat.ErrShape if dst is not m×m or m > n, as L is then not triangular (see
// [LU.FactorTo]), and with mat.ErrTriangle if dst is upper triangular.
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

// UTo copies the factor U to dst, which must be upper triangular; an empty *mat.TriDense becomes
// upper triangular. It panics with mat.ErrShape if dst is not n×n or m < n, as U is then not
// triangular (see [LU.FactorTo]), and with mat.ErrTriangle if dst is lower triangular or has a
// unit diagonal.
func (f *LU[T]) UTo(dst TriangularSink[T]) {
	m, n := f.Dims()
	if m < n {
		panic(mat.ErrShape)
	}
	f.triangleTo(dst, n, mat.Upper, false)
}

// triangleTo copies a triangle of the leading k×k block to dst, and reports whether dst has a
// unit diagonal.
func (f *LU[T]) triangleTo(dst TriangularSink[T], k int, kind mat.TriKind, unitAllowed bool) (unit bool) {
	unit, empty := shapeTriangle(dst, k, kind, unitAllowed)
	if empty {
		return true
	}
	f.factors().Leading(k, k).CopyTo(dst, f.engine.Options().Workers)
	return unit
}

// maxima returns the largest magnitudes in the tile columns of L and in the tile rows of U.
func (f *LU[T]) maxima(ctx context.Context, factors *blocked.Matrix[T]) (l, u []float64, err error) {
	if !factors.IsDistributed() {
		l, u = lu.FactorMaxima(factors, f.engine.Options().Workers)
		return l, u, nil
	}
	var tops *blocked.Magnitudes[T]
	err = engine.Run(ctx, f.engine, func(p *blocked.Program[T]) (err error) {
		tops, err = p.ColumnMax(factors)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	l, u = lu.FactorMaximaOf(factors, tops)
	return l, u, nil
}

// Det returns the determinant of A: 0 if A is singular or the determinant underflows, an infinity
// if it overflows. It panics with mat.ErrSquare if A is not square.
func (f *LU[T]) Det() float64 {
	logAbs, sign := f.LogDet()
	if sign == 0 {
		return 0
	}
	return math.Exp(logAbs) * sign
}

// LogDet returns the logarithm of the magnitude of the determinant of A, and
// its sign, 1 or -1. The determinant of a singular matrix has logarithm -Inf
// and sign 0. LogDet panics with mat.ErrSquare if A is not square.
func (f *LU[T]) LogDet() (logAbs, sign float64) {
	n := f.order()
	sign = 1
	for i, r := range f.Swaps(nil) {
		if r != i {
			sign = -sign
		}
	}
	for i := range n {
		d := float64(f.lu.At(i, i))
		if d == 0 {
			return math.Inf(-1), 0
		}
		if d < 0 {
			sign = -sign
		}
		logAbs += math.Log(math.Abs(d))
	}
	return logAbs + float64(n*f.exp)*math.Ln2, sign
}

// Growth returns the growth factor of the factorization, the largest magnitude in U divided by
// that in A; 1 for a matrix of zeros. The error of L·U is proportional to it. Partial pivoting
// bounds it by 2ⁿ⁻¹; in practice it rarely exceeds √n for random matrices or 10 for others. It is
// NaN if nodes with factors of a distributed matrix are lost.
//
// Reference: N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 9.4.
func (f *LU[T]) Growth() float64 {
	f.valid()
	if f.top == 0 {
		return 1
	}
	_, u, err := f.maxima(context.Background(), f.lu)
	if err != nil {
		return math.NaN()
	}
	return slices.Max(u) / f.top
}
