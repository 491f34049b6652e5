//go:build !race

// Under the race detector pools forget some of what is put into them.

package la_test

import (
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// A product of small gonum matrices allocates nothing.
func TestMulAllocs(t *testing.T) {
	x, y, z := mat.NewDense(16, 16, nil), mat.NewDense(16, 16, nil), mat.NewDense(16, 16, nil)
	mul := func() {
		if err := la.Mul[float64](z, x, y); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(200, mul); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
