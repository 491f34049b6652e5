package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Gesdd judges by residual and orthogonality, as LAPACK's own tests do, and values alone by those that
// come with vectors.
func (s *suite[T]) Gesdd(t *testing.T) {
	for _, shape := range [][2]int{{0, 0}, {3, 0}, {1, 1}, {2, 2}, {3, 3}, {5, 4}, {9, 1}, {31, 31}, {32, 32}, {33, 33}, {60, 50}, {70, 37}, {100, 30}, {90, 90}} {
		m, n := shape[0], shape[1]
		for name, x := range map[string]func(i, j int) float64{
			"random":   func(int, int) float64 { return s.rnd.NormFloat64() },
			"zero":     func(int, int) float64 { return 0 },
			"identity": func(i, j int) float64 { return float64(min(1, max(0, 1-(j-i)*(j-i)))) },
			"rank one": func(int, int) float64 { return 1 },
			"Hilbert":  func(i, j int) float64 { return 1 / float64(i+j+1) },
			"large":    func(int, int) float64 { return s.rnd.NormFloat64() * extreme[T]() },
			"small":    func(int, int) float64 { return s.rnd.NormFloat64() / extreme[T]() },
		} {
			a := newTile[T](m, n, 2)
			for i := range m {
				for j := range n {
					a.Set(i, j, T(x(i, j)))
				}
			}
			was := clone(a)
			var sigma *kernels.Tile[T]
			for _, rows := range []int{n, m} {
				if rows == m && m == n && sigma != nil {
					continue
				}
				u, v := newTile[T](rows, m, 3), newTile[T](n, n, 1)
				sigma = newTile[T](1, n, 1)
				s.mark(u, func(int, int) bool { return true })
				beforeU, beforeV := clone(u), clone(v)
				s.must(t, &op.Gesdd{}, clone(was), sigma, u, v)
				untouched(t, "gesdd: U", u, beforeU, func(i, j int) bool { return true })
				untouched(t, "gesdd: V", v, beforeV, func(i, j int) bool { return true })
				residual, loss := singularErrors(was, sigma, u, v)
				if !(residual < 30 && loss < 30) {
					t.Errorf("%s, %d×%d, %d left vectors: residual %.3g, orthogonality %.3g", name, m, n, rows, residual, loss)
				}
			}
			norm := 0.0
			for i := range n {
				x := float64(sigma.At(0, i))
				norm = max(norm, x)
				if !(x >= 0) || i > 0 && x > float64(sigma.At(0, i-1)) {
					t.Errorf("%s, %d×%d: value %d is %v", name, m, n, i, x)
				}
			}
			alone := newTile[T](1, n, 1)
			s.must(t, &op.Gesdd{Values: true}, clone(was), alone)
			for i := range n {
				if d := math.Abs(float64(alone.At(0, i)) - float64(sigma.At(0, i))); !(d <= 30*float64(n)*2*eps[T]()*norm) {
					t.Errorf("%s, %d×%d: value %d alone is %v, with vectors %v", name, m, n, i, alone.At(0, i), sigma.At(0, i))
				}
			}
		}
	}
	s.work(t, 252, &op.Gesdd{}, newTile[T](3, 3, 0), newTile[T](1, 3, 0), newTile[T](3, 3, 0), newTile[T](3, 3, 0))
	s.work(t, 72, &op.Gesdd{Values: true}, newTile[T](3, 3, 0), newTile[T](1, 3, 0))
}

// singularErrors returns ‖A·v − σ·u‖/(m·‖A‖·ε) and the loss of orthogonality ‖Q·Qᵀ − I‖/(m·ε) for vectors in rows.
func singularErrors[T kernels.Element](a, sigma, u, v *kernels.Tile[T]) (residual, loss float64) {
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
	for k := range n {
		for i := range m {
			sum := -float64(sigma.At(0, k)) / norm * float64(u.At(k, i))
			for j := range n {
				sum += float64(a.At(i, j)) / norm * float64(v.At(k, j))
			}
			residual = max(residual, math.Abs(sum))
		}
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
