package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels/op"
)

// Syevd judges by residual and orthogonality, as LAPACK's own tests do, and eigenvalues alone by those
// that come with vectors.
func (s *suite[T]) Syevd(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 10, 47, 48, 49, 100, 130} {
		for _, c := range s.spectral() {
			a, whole := newTile[T](n, n, 2), newTile[T](n, n, 2)
			for i := range n {
				for j := range i {
					a.Set(i, j, T(math.NaN())) // below the diagonal nothing is read
				}
				for j := i; j < n; j++ {
					v := T(c.at(i, j))
					a.Set(i, j, v)
					whole.Set(i, j, v)
					whole.Set(j, i, v)
				}
			}
			was := clone(a)
			w, z := newTile[T](1, n, 1), newTile[T](n, n, 3)
			s.mark(z, func(int, int) bool { return true })
			before := clone(z)
			s.must(t, &op.Syevd{}, a, w, z)
			untouched(t, "syevd: Z", z, before, func(i, j int) bool { return true })
			residual, loss := spectralErrors(whole, w, z, z)
			if !(residual < 30 && loss < 30) {
				t.Errorf("%s, order %d: residual %.3g, orthogonality %.3g", c.name, n, residual, loss)
			}
			norm := 0.0
			for i := range n {
				norm = max(norm, math.Abs(float64(w.At(0, i))))
				if i > 0 && w.At(0, i) < w.At(0, i-1) {
					t.Errorf("%s, order %d: eigenvalue %d is less than the one before", c.name, n, i)
				}
			}
			for _, way := range []op.Reduction{op.OneStage, op.TwoStages} {
				a, v := clone(was), newTile[T](1, n, 1)
				s.must(t, &op.Syevd{Values: true, Reduction: way}, a, v)
				sameValues(t, fmt.Sprintf("%s, order %d, %d stages", c.name, n, way), v, w, norm)
			}
			if n < 49 && c.name != "random" {
				continue // the band is the whole matrix
			}
			s.must(t, &op.Syevd{Reduction: op.TwoStages}, clone(was), w, z)
			residual, loss = spectralErrors(whole, w, z, z)
			if !(residual < 30 && loss < 30) {
				t.Errorf("%s, order %d, two stages: residual %.3g, orthogonality %.3g", c.name, n, residual, loss)
			}
		}
	}
	s.syevdFew(t)
	s.work(t, 14*9, &op.Syevd{}, newTile[T](3, 3, 0), newTile[T](1, 3, 0), newTile[T](3, 3, 0))
}

// syevdFew judges few vectors of a larger matrix, whose eigenvalues may be separate or not.
func (s *suite[T]) syevdFew(t *testing.T) {
	const n, first, k = 260, 230, 20
	for _, c := range s.spectral() {
		a := newTile[T](n, n, 2)
		for i := range n {
			for j := range i + 1 {
				v := T(c.at(j, i))
				a.Set(i, j, v)
				a.Set(j, i, v)
			}
		}
		for _, way := range []op.Reduction{op.OneStage, op.TwoStages} {
			w, z := newTile[T](1, n, 1), newTile[T](n, n, 3)
			s.must(t, &op.Syevd{Part: op.EigenPart{Kind: op.EigenByIndex, First: first, Last: first + k}, Reduction: way}, clone(a), w, z)
			w.Data, w.Cols, z.Rows = w.Data[first:], k, k
			if residual, loss := spectralErrors(a, w, z, z); !(residual < 30 && loss < 30) {
				t.Errorf("%s, few vectors, %d stages: residual %.3g, orthogonality %.3g", c.name, way, residual, loss)
			}
		}
	}
}
