package cpu

import (
	"testing"

	"gonum.org/v1/gonum/blas"
)

// withBlocks returns p with blocks of other sizes, in whole panels.
func withBlocks[T Element](p *Packed[T], mc, kc, nc int) *Packed[T] {
	q := *p
	q.MC, q.KC, q.NC = roundUp(mc, p.MR), kc, roundUp(nc, p.NR)
	return &q
}

// The last bits of a product depend on no other sizes of blocks than KC.
func TestBlocks(t *testing.T) {
	for name, p := range natives[float64](Caches{}) {
		q := withBlocks(p, 1, p.KC, p.NR+1)
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
}
