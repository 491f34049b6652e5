package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
)

// spectral returns matrices whose eigenvalues or singular values are hard to find in some way.
func (s *suite[T]) spectral() []recipe {
	return []recipe{
		{"random", func(int, int) float64 { return s.rnd.NormFloat64() }},
		{"zero", func(int, int) float64 { return 0 }},
		{"identity", func(i, j int) float64 { return float64(max(0, 1-(j-i)*(j-i))) }},
		{"rank one", func(int, int) float64 { return 1 }},
		{"Hilbert", func(i, j int) float64 { return 1 / float64(i+j+1) }},
		{"large", func(int, int) float64 { return s.rnd.NormFloat64() * extreme[T]() }},
		{"small", func(int, int) float64 { return s.rnd.NormFloat64() / extreme[T]() }},
	}
}

// spectralErrors returns ‖A·v − σ·u‖/(m·‖A‖·ε) and the loss of orthogonality ‖Q·Qᵀ − I‖/(m·ε) for vectors in rows,
// those of an m×n A. For eigenvectors, u is v.
func spectralErrors[T kernels.Element](a, sigma, u, v *kernels.Tile[T]) (residual, loss float64) {
	m, n := a.Rows, a.Cols
	norm := 0.0
	for i := range m {
		sum := 0.0
		for j := range n {
			sum += math.Abs(float64(a.At(i, j)))
		}
		norm = max(norm, sum)
	}
	if norm == 0 {
		norm = 1
	}
	for k, i := range cells(sigma.Cols, m) {
		sum := -float64(sigma.At(0, k)) / norm * float64(u.At(k, i))
		for j := range n {
			sum += float64(a.At(i, j)) / norm * float64(v.At(k, j))
		}
		residual = max(residual, math.Abs(sum))
	}
	for _, q := range []*kernels.Tile[T]{u, v} {
		for k := range q.Rows {
			for i := range k + 1 {
				dot := 0.0
				for j := range q.Cols {
					dot += float64(q.At(k, j)) * float64(q.At(i, j))
				}
				if i == k {
					dot--
				}
				loss = max(loss, math.Abs(dot))
			}
		}
	}
	scale := max(float64(m), 1) * 2 * eps[T]()
	return residual / scale, loss / scale
}

// sameValues fails t unless values that were computed alone are those that were computed with vectors, for a matrix of
// that norm.
func sameValues[T kernels.Element](t *testing.T, what string, alone, with *kernels.Tile[T], norm float64) {
	t.Helper()
	n := with.Cols
	for i, x := range alone.Row(0) {
		if d := math.Abs(float64(x) - float64(with.At(0, i))); !(d <= 30*float64(n)*2*eps[T]()*norm) {
			t.Errorf("%s: value %d alone is %v, with vectors %v", what, i, x, with.At(0, i))
		}
	}
}
