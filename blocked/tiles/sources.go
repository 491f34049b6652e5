package tiles

import "gonum.org/v1/gonum/mat"

// Source is a matrix that can be read. Every gonum mat.Matrix is a
// Source[float64].
type Source[T Element] interface {
	// Dims returns the number of rows and of columns.
	Dims() (r, c int)
	// At returns element (i, j), counted from 0.
	At(i, j int) T
}

// Sink is a matrix that can be written. *mat.Dense is a Sink[float64].
type Sink[T Element] interface {
	Source[T]
	Set(i, j int, v T)
}

// SymmetricSource is a symmetric matrix that can be read. Every gonum
// mat.Symmetric is a SymmetricSource[float64].
type SymmetricSource[T Element] interface {
	Source[T]
	// SymmetricDim returns the order.
	SymmetricDim() int
}

// SymmetricSink is a symmetric matrix that can be written. *mat.SymDense is a SymmetricSink[float64].
type SymmetricSink[T Element] interface {
	SymmetricSource[T]
	// SetSym sets elements (i, j) and (j, i).
	SetSym(i, j int, v T)
}

// TriangularSource is a triangular matrix that can be read. Every gonum
// mat.Triangular is a TriangularSource[float64].
type TriangularSource[T Element] interface {
	Source[T]
	// Triangle returns the order and which triangle is there.
	Triangle() (n int, kind mat.TriKind)
}

// TriangularSink is a triangular matrix that can be written, in its triangle.
// *mat.TriDense is a TriangularSink[float64].
type TriangularSink[T Element] interface {
	TriangularSource[T]
	// SetTri sets element (i, j), which is in the triangle.
	SetTri(i, j int, v T)
}
