package la

import "github.com/tessera-la/tessera/blocked"

// Element is the element types: float32 and float64.
type Element = blocked.Element

// Destination is where a result goes: a [Sink]; a [VectorSink] such as *mat.VecDense for a result
// of one column; or a [SymmetricSink] for the inverse of a symmetric matrix. Go has no type for
// "one of these". Their common method is Zero, which sources lack: so the compiler refuses a
// transpose, a mat.Matrix or another [Source]. A type with Zero that is none of the three, such
// as *mat.BandDense, is a *ShapeError, and so is a sink of a kind that the result does not fit.
type Destination[T Element] interface {
	Source[T]
	// Zero sets all elements to zero.
	Zero()
}

// Sink is a matrix that can be written; *mat.Dense is a Sink[float64]. An
// empty *mat.Dense takes the shape of the result.
type Sink[T Element] interface {
	Destination[T]
	// Set sets element (i, j).
	Set(i, j int, v T)
}

// Matrices that can be read or written, as package blocked defines them. Every gonum mat.Matrix
// is a Source[float64], every mat.Symmetric a SymmetricSource[float64], every mat.Triangular a
// TriangularSource[float64]; *mat.SymDense is a SymmetricSink[float64] and *mat.TriDense a
// TriangularSink[float64]. One goroutine at a time reads a Source that is not in memory, through
// At. That may be a worker of the engine, so At must not compute on that engine.
type (
	Source[T Element]           = blocked.Source[T]
	SymmetricSource[T Element]  = blocked.SymmetricSource[T]
	SymmetricSink[T Element]    = blocked.SymmetricSink[T]
	TriangularSource[T Element] = blocked.TriangularSource[T]
	TriangularSink[T Element]   = blocked.TriangularSink[T]
)

// General, Symmetric and Triangular are matrices in row-major memory of the caller, with a
// stride:
//
//	General[T]{Rows: m, Cols: n, Data: data, Stride: ld}
//	Symmetric[T]{Uplo: blas.Upper, N: n, Data: data, Stride: ld}
//	Triangular[T]{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Data: data, Stride: ld}
//
// Element (i, j) is Data[i*Stride+j]. Only the Uplo triangle of the latter two is read or
// written. Package blocked has functions that make them and check the fields.
type (
	General[T Element]    = blocked.General[T]
	Symmetric[T Element]  = blocked.Symmetric[T]
	Triangular[T Element] = blocked.Triangular[T]
)

// VectorSource is a vector that can be read; every gonum mat.Vector is a
// VectorSource[float64].
type VectorSource[T Element] interface {
	// Len returns the number of elements.
	Len() int
	// AtVec returns element i, counted from 0.
	AtVec(i int) T
}

// VectorSink is a vector that can be written; *mat.VecDense is a
// VectorSink[float64]. An empty *mat.VecDense takes the length of the result.
type VectorSink[T Element] interface {
	VectorSource[T]
	// SetVec sets element i.
	SetVec(i int, v T)
}

// Vector is a vector in the caller's memory.
type Vector[T Element] []T

// Dims returns the number of elements and 1: a vector is a column.
func (v Vector[T]) Dims() (r, c int) { return len(v), 1 }

// At returns element (i, 0).
func (v Vector[T]) At(i, _ int) T { return v[i] }

// Len returns the number of elements.
func (v Vector[T]) Len() int { return len(v) }

// AtVec returns element i.
func (v Vector[T]) AtVec(i int) T { return v[i] }

// Zero sets all elements to zero.
func (v Vector[T]) Zero() { clear(v) }

// SetVec sets element i.
func (v Vector[T]) SetVec(i int, x T) { v[i] = x }
