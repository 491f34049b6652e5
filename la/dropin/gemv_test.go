package dropin_test

import (
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
)

// TestGemvEnd: what lies behind the product in memory stays.
func TestGemvEnd(t *testing.T) {
	b := dropin.NewBLAS(dropin.Options{})
	for _, n := range []int{2, 40} {
		a, x, y := make([]float32, n*n), make([]float32, n), make([]float32, n+3)
		y[n] = 7
		b.Sgemv(blas.Trans, n, n, 1, a, n, x, 1, 0, y, 1)
		if y[n] != 7 {
			t.Errorf("order %d: %v behind the product", n, y[n])
		}
	}
}
