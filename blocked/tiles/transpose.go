package tiles

import "gonum.org/v1/gonum/mat"

// With float64 elements, these types are matrices of gonum.
var (
	_ mat.Matrix = (*Matrix[float64])(nil)
	_ mat.Matrix = General[float64]{}
	_ mat.Matrix = Symmetric[float64]{}
	_ mat.Matrix = Triangular[float64]{}
)

// T returns Aᵀ, which reads A, as gonum's matrices do. It makes a Matrix[float64] a mat.Matrix, which
// gonum reads through [Matrix.At]; float32 is widened. [Matrix.Transposed] copies.
func (a *Matrix[T]) T() mat.Matrix { return transposed[T](a) }

// T returns Gᵀ as [Matrix.T] does.
func (g General[T]) T() mat.Matrix { return transposed[T](g) }

// T returns Sᵀ, which is S, as [Matrix.T] does.
func (s Symmetric[T]) T() mat.Matrix { return transposed[T](s) }

// T returns Tᵀ as [Matrix.T] does.
func (t Triangular[T]) T() mat.Matrix { return transposed[T](t) }

func transposed[T Element](a Source[T]) mat.Matrix {
	m, ok := any(a).(mat.Matrix)
	if !ok {
		m = widened[T]{a}
	}
	return mat.Transpose{Matrix: m}
}

// widened is a matrix that converts elements to float64 when they are read.
type widened[T Element] struct{ of Source[T] }

func (w widened[T]) Dims() (r, c int)    { return w.of.Dims() }
func (w widened[T]) At(i, j int) float64 { return float64(w.of.At(i, j)) }
func (w widened[T]) T() mat.Matrix       { return mat.Transpose{Matrix: w} }
