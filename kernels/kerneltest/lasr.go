package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// Lasr compares with gonum's Dlasr: each rotation of a row rounds like one step of a dot product.
func (s *suite[T]) Lasr(t *testing.T) {
	for m, n := range pairs([]int{0, 1, 2, 7, 33}, []int{0, 1, 2, 3, 16, 65}) {
		for _, direct := range []lapack.Direct{lapack.Forward, lapack.Backward} {
			k := max(n-1, 0)
			rotations, a := newTile[T](2, k, 1), s.random(m, n, 2)
			cosines, sines := make([]float64, k), make([]float64, k)
			for j := range k {
				sin, cos := math.Sincos(s.rnd.NormFloat64())
				rotations.Set(0, j, T(cos))
				rotations.Set(1, j, T(sin))
				cosines[j], sines[j] = float64(T(cos)), float64(T(sin))
			}
			want := make([]float64, m*n)
			top := 0.0
			for i, j := range cells(m, n) {
				want[i*n+j] = float64(a.At(i, j))
				top = max(top, math.Abs(want[i*n+j]))
			}
			gonum.Implementation{}.Dlasr(blas.Right, lapack.Variable, direct, m, n, cosines, sines, want, max(n, 1))
			s.mark(a, nil)
			was, rotationsWere := clone(a), clone(rotations)
			s.must(t, &op.Lasr{Backward: direct == lapack.Backward}, rotations, a)
			for i, j := range cells(m, n) {
				if d := math.Abs(float64(a.At(i, j)) - want[i*n+j]); !(d <= 8*eps[T]()*float64(n)*top) {
					t.Fatalf("%d×%d, %c: (%d, %d) is %v, want %v", m, n, direct, i, j, a.At(i, j), want[i*n+j])
				}
			}
			untouched(t, "lasr", a, was, func(i, j int) bool { return true })
			identical(t, "lasr: G", rotations, rotationsWere)
		}
	}
	s.checkRepeatable(t, &op.Lasr{}, s.random(2, 8, 0), s.random(5, 9, 1))
	// A rotation of two elements is four products and two sums; there are four rotations of three rows.
	s.work(t, 6*3*4, &op.Lasr{}, newTile[T](2, 4, 0), newTile[T](3, 5, 0))
}
