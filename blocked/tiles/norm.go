package tiles

import (
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/lapack"
)

// Norm returns a norm of a: the largest magnitude (lapack.MaxAbs, not a matrix
// norm), the largest sum of magnitudes of a column (lapack.MaxColumnSum, the
// 1-norm) or a row (lapack.MaxRowSum, the ∞-norm), or the square root of the
// sum of squares (lapack.Frobenius). Both halves of a symmetric matrix count, and
// only the triangle of a triangular one. The norm of a matrix without elements is
// 0. If there is a NaN, the norm is NaN.
//
// Norms are summed in float64 for both types. The Frobenius norm is scaled if
// squares would overflow or vanish. The other sums are not scaled, and are +Inf if
// they overflow. At most workers goroutines work (0 or less: GOMAXPROCS), and all
// have ended when Norm returns. The result does not depend on workers. Norm panics
// with ErrKind if norm is none of the four.
//
// Reference: LAPACK xLANGE, xLANSY, xLANTR; xLASSQ for the scaling.
func (a *Matrix[T]) Norm(norm lapack.MatrixNorm, workers int) float64 {
	switch norm {
	case lapack.MaxColumnSum:
		return a.sums(workers).Norm1()
	case lapack.MaxRowSum:
		return a.sums(workers).NormInf()
	case lapack.MaxAbs:
		return a.normMax(workers)
	case lapack.Frobenius:
		return a.squares(workers).Frobenius()
	}
	panic(ErrKind)
}

// Stats returns the [Stats] of a, computed on at most workers goroutines.
func (a *Matrix[T]) Stats(workers int) Stats { return a.sums(workers).Stats() }

// ColumnSums returns the sum of the magnitudes of each column of a, added as in [Matrix.Norm] on at
// most workers goroutines.
func (a *Matrix[T]) ColumnSums(workers int) []float64 { return a.sums(workers).Columns() }

// UpperColumnSums is ColumnSums of the upper triangle of the leading k×k block of a Full matrix a, such
// as R after Geqrf. It panics as [Matrix.Leading] does.
func (a *Matrix[T]) UpperColumnSums(k, workers int) []float64 {
	r := a.Leading(k, k)
	r.kind = TriUpper
	return r.ColumnSums(workers)
}

// RowSums is ColumnSums for the rows of a.
func (a *Matrix[T]) RowSums(workers int) []float64 { return a.sums(workers).Rows() }

// sums returns the sums of the magnitudes in a, added on at most workers goroutines.
func (a *Matrix[T]) sums(workers int) *Sums[T] {
	s := NewSums(a, a.kind)
	a.EachTile(workers, func(i, j int) {
		t := a.here(i*a.nt + j)
		s.add(t, i, j, 0, t.Rows)
	})
	return s
}

// ColumnMax returns the largest magnitude in each column of a Full matrix; NaN
// if the column has one. At most the given number of goroutines work (0 or
// less: GOMAXPROCS). It panics with ErrKind if a is not Full.
func (a *Matrix[T]) ColumnMax(workers int) []float64 {
	if a.kind != Full {
		panic(ErrKind)
	}
	return a.maxima(workers).Columns()
}

// maxima returns the largest magnitude of each column of each tile, for Columns and Max.
func (a *Matrix[T]) maxima(workers int) *Magnitudes[T] { return a.magnitudes(workers, NewMaxima(a)) }

// squares returns the sum of squares of each tile, for Frobenius.
func (a *Matrix[T]) squares(workers int) *Magnitudes[T] { return a.magnitudes(workers, NewSquares(a)) }

// magnitudes returns m, computed on at most workers goroutines.
func (a *Matrix[T]) magnitudes(workers int, m *Magnitudes[T]) *Magnitudes[T] {
	a.EachTile(workers, func(i, j int) {
		to, x := m.Tile(i, j)
		op.Measure(x, a.here(i*a.nt+j), to)
	})
	return m
}

// normMax returns the largest magnitude of a, or NaN if there is one.
func (a *Matrix[T]) normMax(workers int) float64 {
	tops := make([]float64, len(a.tiles))
	a.EachTile(workers, func(i, j int) {
		uplo, _ := a.kind.part(i, j)
		tops[i*a.nt+j] = op.MaxMagnitude(uplo, a.here(i*a.nt+j))
	})
	norm := 0.0
	for _, v := range tops {
		norm = max(norm, v)
	}
	return norm
}
