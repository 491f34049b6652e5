package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Syevd judges by residual and orthogonality, as LAPACK's own tests do, and eigenvalues alone by those
// that come with vectors.
func (s *suite[T]) Syevd(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 10, 47, 48, 49, 100, 130} {
		for name, x := range map[string]func(i, j int) float64{
			"random":   func(int, int) float64 { return s.rnd.NormFloat64() },
			"zero":     func(int, int) float64 { return 0 },
			"identity": func(i, j int) float64 { return float64(min(1, max(0, 1-(j-i)))) },
			"rank one": func(int, int) float64 { return 1 },
			"Hilbert":  func(i, j int) float64 { return 1 / float64(i+j+1) },
			"large":    func(int, int) float64 { return s.rnd.NormFloat64() * extreme[T]() },
			"small":    func(int, int) float64 { return s.rnd.NormFloat64() / extreme[T]() },
		} {
			a := newTile[T](n, n, 2)
			for i := range n {
				for j := range n {
					a.Set(i, j, T(math.NaN())) // below the diagonal nothing is read
					if j >= i {
						a.Set(i, j, T(x(i, j)))
					}
				}
			}
			was := clone(a)
			w, z := newTile[T](1, n, 1), newTile[T](n, n, 3)
			s.mark(z, func(int, int) bool { return true })
			before := clone(z)
			s.must(t, &op.Syevd{}, a, w, z)
			untouched(t, "syevd: Z", z, before, func(i, j int) bool { return true })
			residual, loss := eigenErrors(was, w, z)
			if !(residual < 30 && loss < 30) {
				t.Errorf("%s, order %d: residual %.3g, orthogonality %.3g", name, n, residual, loss)
			}
			norm := 0.0
			for i := range n {
				norm = max(norm, math.Abs(float64(w.At(0, i))))
				if i > 0 && w.At(0, i) < w.At(0, i-1) {
					t.Errorf("%s, order %d: eigenvalue %d is less than the one before", name, n, i)
				}
			}
			a, v := clone(was), newTile[T](1, n, 1)
			s.must(t, &op.Syevd{Values: true}, a, v)
			for i := range n {
				if d := math.Abs(float64(v.At(0, i)) - float64(w.At(0, i))); !(d <= 30*float64(n)*2*eps[T]()*norm) {
					t.Errorf("%s, order %d: eigenvalue %d alone is %v, with vectors %v", name, n, i, v.At(0, i), w.At(0, i))
				}
			}
		}
	}
	s.work(t, 14*9, &op.Syevd{}, newTile[T](3, 3, 0), newTile[T](1, 3, 0), newTile[T](3, 3, 0))
}

// eigenErrors returns ‖A·z − w·z‖/(n·‖A‖·ε) and ‖Z·Zᵀ − I‖/(n·ε) for a symmetric A of which the upper triangle is
// stored, and vectors in rows.
func eigenErrors[T kernels.Element](a, w, z *kernels.Tile[T]) (residual, loss float64) {
	n := a.Rows
	at := func(i, j int) float64 { return float64(a.At(min(i, j), max(i, j))) }
	norm := 0.0
	for i := range n {
		sum := 0.0
		for j := range n {
			sum += math.Abs(at(i, j))
		}
		norm = max(norm, sum)
	}
	if norm == 0 {
		norm = 1
	}
	for k := range n {
		for i := range n {
			sum := -float64(w.At(0, k)) / norm * float64(z.At(k, i))
			for j := range n {
				sum += at(i, j) / norm * float64(z.At(k, j))
			}
			residual = max(residual, math.Abs(sum))
			if i <= k {
				dot := 0.0
				for j := range n {
					dot += float64(z.At(k, j)) * float64(z.At(i, j))
				}
				if i == k {
					dot--
				}
				loss = max(loss, math.Abs(dot))
			}
		}
	}
	u := max(float64(n), 1) * 2 * eps[T]()
	return residual / u, loss / u
}
