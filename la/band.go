package la

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// Band is a band matrix in row-major memory of the caller, with kl diagonals below and ku above the main one: element
// (i, j) is Data[i*Stride+KL+j-i] for −KL ≤ j−i ≤ KU, and zero elsewhere. Stride is at least KL+KU+1. A Band[float64] can
// be converted from and to a blas64.Band.
type Band[T Element] struct {
	Rows, Cols int
	KL, KU     int
	Data       []T
	Stride     int
}

// Dims returns the numbers of rows and columns.
func (b Band[T]) Dims() (rows, cols int) { return b.Rows, b.Cols }

// Bandwidth returns the numbers of diagonals below and above the main one.
func (b Band[T]) Bandwidth() (kl, ku int) { return b.KL, b.KU }

// At returns element (i, j). It panics with mat.ErrRowAccess or mat.ErrColAccess outside of the matrix.
func (b Band[T]) At(i, j int) T {
	checkIndexes(i, j, b.Rows, b.Cols)
	if j-i < -b.KL || j-i > b.KU {
		return 0
	}
	return b.Data[i*b.Stride+b.KL+j-i]
}

// SymmetricBand is a symmetric n×n band matrix in row-major memory of the caller, with k diagonals on each side of the
// main one. Of these one side is stored: element (i, j) is Data[i*Stride+j-i] for i ≤ j ≤ i+K if Uplo is blas.Upper, and
// Data[i*Stride+K+j-i] for i−K ≤ j ≤ i if it is blas.Lower. Stride is at least K+1. A SymmetricBand[float64] can be
// converted from and to a blas64.SymmetricBand.
type SymmetricBand[T Element] struct {
	Uplo   blas.Uplo
	N, K   int
	Data   []T
	Stride int
}

// Dims returns the order, twice.
func (b SymmetricBand[T]) Dims() (rows, cols int) { return b.N, b.N }

// SymmetricDim returns the order.
func (b SymmetricBand[T]) SymmetricDim() int { return b.N }

// Bandwidth returns the number of diagonals on each side of the main one, twice.
func (b SymmetricBand[T]) Bandwidth() (kl, ku int) { return b.K, b.K }

// At returns element (i, j). It panics with mat.ErrRowAccess or mat.ErrColAccess outside of the matrix.
func (b SymmetricBand[T]) At(i, j int) T {
	checkIndexes(i, j, b.N, b.N)
	if i > j {
		i, j = j, i
	}
	switch {
	case j-i > b.K:
		return 0
	case b.Uplo == blas.Lower:
		return b.Data[j*b.Stride+b.K+i-j]
	}
	return b.Data[i*b.Stride+j-i]
}

// checkIndexes panics unless element (i, j) is in a matrix of that shape.
func checkIndexes(i, j, rows, cols int) {
	if uint(i) >= uint(rows) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(cols) {
		panic(mat.ErrColAccess)
	}
}

// BandSource is a band matrix that can be read: every mat.Banded, such as *mat.BandDense, *mat.Tridiag and
// *mat.TriBandDense, is a BandSource[float64]; [Band] is one in memory.
type BandSource[T Element] interface {
	Source[T]
	// Bandwidth returns the numbers of diagonals below and above the main one that are not zero.
	Bandwidth() (kl, ku int)
}

// SymmetricBandSource is a symmetric band matrix that can be read: *mat.SymBandDense is a SymmetricBandSource[float64];
// [SymmetricBand] is one in memory.
type SymmetricBandSource[T Element] interface {
	SymmetricSource[T]
	// Bandwidth returns the number of diagonals on each side of the main one that are not zero, twice.
	Bandwidth() (kl, ku int)
}

// bandRows returns the function that copies elements of row i, from element (i, first) on, to a slice. Those of a
// symmetric matrix are on or above the diagonal.
func bandRows[T Element](a Source[T]) func(i, first int, to []T) {
	switch b := any(a).(type) {
	case Band[T]:
		return func(i, first int, to []T) { copy(to, b.Data[i*b.Stride+b.KL+first-i:]) }
	case SymmetricBand[T]:
		if b.Uplo == blas.Lower {
			return func(i, first int, to []T) {
				for c := range to {
					to[c] = b.Data[(first+c)*b.Stride+b.K+i-first-c]
				}
			}
		}
		return func(i, first int, to []T) { copy(to, b.Data[i*b.Stride+first-i:]) }
	case *mat.BandDense:
		raw := b.RawBand()
		if data, ok := any(raw.Data).([]T); ok {
			return func(i, first int, to []T) { copy(to, data[i*raw.Stride+raw.KL+first-i:]) }
		}
	case *mat.SymBandDense:
		raw := b.RawSymBand()
		if data, ok := any(raw.Data).([]T); ok && raw.Uplo == blas.Upper {
			return func(i, first int, to []T) { copy(to, data[i*raw.Stride+first-i:]) }
		}
	}
	return func(i, first int, to []T) {
		for c := range to {
			to[c] = a.At(i, first+c)
		}
	}
}
