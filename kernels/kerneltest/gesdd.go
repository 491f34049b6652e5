package kerneltest

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Gesdd judges by residual and orthogonality, as LAPACK's own tests do, and values alone by those that
// come with vectors.
func (s *suite[T]) Gesdd(t *testing.T) {
	for _, shape := range [][2]int{{0, 0}, {3, 0}, {1, 1}, {2, 2}, {3, 3}, {5, 4}, {9, 1}, {32, 32}, {33, 33}, {70, 37}, {100, 30}, {90, 90}} {
		m, n := shape[0], shape[1]
		for _, c := range s.spectral() {
			a := newTile[T](m, n, 2)
			for i, j := range cells(m, n) {
				a.Set(i, j, T(c.at(i, j)))
			}
			was := clone(a)
			var sigma *kernels.Tile[T]
			for _, rows := range []int{n, m} {
				if rows == m && m == n && sigma != nil {
					continue
				}
				for _, way := range []op.Reduction{op.TwoStages, op.OneStage} {
					if way == op.TwoStages && n < 49 && c.name != "random" {
						continue // the band is the whole matrix
					}
					u, v := newTile[T](rows, m, 3), newTile[T](n, n, 1)
					sigma = newTile[T](1, n, 1)
					s.mark(u, func(int, int) bool { return true })
					beforeU, beforeV := clone(u), clone(v)
					s.must(t, &op.Gesdd{Reduction: way}, clone(was), sigma, u, v)
					untouched(t, "gesdd: U", u, beforeU, func(i, j int) bool { return true })
					untouched(t, "gesdd: V", v, beforeV, func(i, j int) bool { return true })
					residual, loss := spectralErrors(was, sigma, u, v)
					if !(residual < 30 && loss < 30) {
						t.Errorf("%s, %d×%d, %d left vectors, %d stages: residual %.3g, orthogonality %.3g", c.name, m, n, rows, way, residual, loss)
					}
				}
			}
			norm := 0.0
			for i := range n {
				x := float64(sigma.At(0, i))
				norm = max(norm, x)
				if !(x >= 0) || i > 0 && x > float64(sigma.At(0, i-1)) {
					t.Errorf("%s, %d×%d: value %d is %v", c.name, m, n, i, x)
				}
			}
			for _, way := range []op.Reduction{op.OneStage, op.TwoStages} {
				alone := newTile[T](1, n, 1)
				s.must(t, &op.Gesdd{Values: true, Reduction: way}, clone(was), alone)
				sameValues(t, fmt.Sprintf("%s, %d×%d, %d stages", c.name, m, n, way), alone, sigma, norm)
			}
		}
	}
	s.work(t, 252, &op.Gesdd{}, newTile[T](3, 3, 0), newTile[T](1, 3, 0), newTile[T](3, 3, 0), newTile[T](3, 3, 0))
	s.work(t, 72, &op.Gesdd{Values: true}, newTile[T](3, 3, 0), newTile[T](1, 3, 0))
}
