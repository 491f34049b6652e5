package dropin_test

import (
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
)

// TestGerIncrements: with a negative increment a vector is its elements in reverse order, for all shapes.
func TestGerIncrements(t *testing.T) {
	b := dropin.NewBLAS(dropin.Options{})
	for _, s := range [][2]int{{1, 1}, {2, 3}, {5, 4}, {30, 40}} {
		m, n := s[0], s[1]
		for _, inc := range [][2]int{{1, 1}, {-1, 1}, {1, -1}, {-2, 3}, {2, -3}, {-3, -1}} {
			x, y, a := make([]float64, 3*m+2), make([]float64, 3*n+2), make([]float64, m*n)
			for i := range x {
				x[i] = float64(i + 1)
			}
			for j := range y {
				y[j] = float64(2*j + 1)
			}
			at := func(i, n, inc int) int {
				if inc < 0 {
					return (i - n + 1) * inc
				}
				return i * inc
			}
			b.Dger(m, n, 2, x, inc[0], y, inc[1], a, n)
			for i := range m {
				for j := range n {
					if want := 2 * x[at(i, m, inc[0])] * y[at(j, n, inc[1])]; a[i*n+j] != want {
						t.Fatalf("%d×%d, increments %v: element %d, %d is %v, want %v", m, n, inc, i, j, a[i*n+j], want)
					}
				}
			}
		}
	}
}
