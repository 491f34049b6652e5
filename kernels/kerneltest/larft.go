package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// Larft compares the triangular factor with that of LAPACK's xLARFT, from vectors whose
// inner products are given.
func (s *suite[T]) Larft(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5, 16} {
		for column := range 3 {
			rows := n + 4
			v := make([]float64, rows*max(n, 1))
			x, g, tau, out := newTile[T](rows, n, 0), newTile[T](n, n, 1), newTile[T](1, n, 2), newTile[T](n+1, column+n+2, 1)
			for _, a := range []*kernels.Tile[T]{x, g, tau, out} {
				s.fill(a, 1, nil)
			}
			for i := range rows { // unit lower trapezoidal
				for j := range n {
					switch {
					case i == j:
						v[i*n+j] = 1
					case i > j:
						v[i*n+j] = float64(x.At(i, j))
					}
				}
			}
			factors := make([]float64, n)
			for j := range n {
				factors[j] = float64(tau.At(0, j))
				for i := range j + 1 {
					sum := 0.0
					for r := range rows {
						sum += v[r*n+i] * v[r*n+j]
					}
					g.Set(i, j, T(sum))
				}
			}
			want := make([]float64, n*n)
			if n > 0 {
				gonum.Implementation{}.Dlarft(lapack.Forward, lapack.ColumnWise, rows, n, v, n, factors, want, n)
			}
			s.mark(out, nil)
			before := clone(out)
			s.must(t, &op.Larft{Column: column}, g, tau, out)
			top := 0.0
			for _, w := range want {
				top = max(top, math.Abs(w))
			}
			for i := range n {
				for j := i; j < n; j++ {
					if d := math.Abs(float64(out.At(i, column+j)) - want[i*n+j]); !(d <= 1000*eps[T]()*float64(n)*top) {
						t.Fatalf("n = %d: T(%d, %d) is %v, want %v", n, i, j, out.At(i, column+j), want[i*n+j])
					}
				}
			}
			untouched(t, "larft", out, before, func(i, j int) bool { return i < n && j >= column+i && j < column+n })
		}
	}
	s.work(t, 9, &op.Larft{}, newTile[T](3, 3, 0), newTile[T](1, 3, 0), newTile[T](3, 3, 0))
}
