package cpu

import (
	"testing"

	"gonum.org/v1/gonum/blas"
)

// Blocks come in whole panels, zero ones stay, and the last bits of a product
// depend on no others than KC.
func TestWithBlocks(t *testing.T) {
	for name, p := range natives[float64](Caches{}) {
		q := p.WithBlocks(Blocks{MC: 1, NC: p.NR + 1})
		if got, want := q.Blocks(), (Blocks{MC: p.MR, KC: p.KC, NC: 2 * p.NR}); got != want {
			t.Errorf("%s: blocks %v, want %v", name, got, want)
		}
		const n = 301
		a, b := randomSlice[float64](n*n), randomSlice[float64](n*n)
		c, d := make([]float64, n*n), make([]float64, n*n)
		p.Gemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, b, n, 0, c, n, make([]float64, p.Work(n)))
		q.Gemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, b, n, 0, d, n, make([]float64, q.Work(n)))
		for i, v := range c {
			if v != d[i] {
				t.Fatalf("%s: element %d is %v, with small blocks %v", name, i, v, d[i])
			}
		}
	}
	if panics(func() { Portable[float64]().WithBlocks(Blocks{KC: -1}) }) == nil {
		t.Error("no panic for a negative size")
	}
}
