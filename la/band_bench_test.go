package la_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkBand factors bands of 20,000 rows, and solves with one right-hand side; gonum has Cholesky.
func BenchmarkBand(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const n = 20_000
	for _, k := range []int{1, 8, 32, 64, 128, 300, 600} {
		s := la.SymmetricBand[float64]{Uplo: blas.Upper, N: n, K: k, Stride: k + 1, Data: make([]float64, n*(k+1))}
		g := la.Band[float64]{Rows: n, Cols: n, KL: k, KU: k, Stride: 2*k + 1, Data: make([]float64, n*(2*k+1))}
		for i := range n {
			for j := range k + 1 {
				s.Data[i*(k+1)+j] = rnd.NormFloat64()
			}
			s.Data[i*(k+1)] = float64(4*k + 4)
		}
		for i := range g.Data {
			g.Data[i] = rnd.NormFloat64()
		}
		x := make(la.Vector[float64], n)
		for i := range x {
			x[i] = rnd.NormFloat64()
		}
		c, f := la.NewBandCholesky[float64](nil), la.NewBandLU[float64](nil)
		run := func(name string, flops float64, call func() error) {
			b.Run(fmt.Sprintf("%s/k=%d", name, k), func(b *testing.B) {
				for b.Loop() {
					if err := call(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(flops/float64(b.Elapsed().Nanoseconds())*float64(b.N), "GFLOPS")
			})
		}
		y := make(la.Vector[float64], n)
		run("cholesky", float64(n)*float64(k)*float64(k), func() error { return c.Factorize(s) })
		run("choleskysolve", 4*float64(n)*float64(k), func() error { return c.SolveVecTo(y, x) })
		run("lu", 4*float64(n)*float64(k)*float64(k), func() error { return f.Factorize(g) })
		run("lusolve", 8*float64(n)*float64(k), func() error { return f.SolveVecTo(y, false, x) })
		if k > 300 {
			continue
		}
		var theirs mat.BandCholesky
		band := new(mat.SymBandDense)
		band.SetRawSymBand(blas64.SymmetricBand(s))
		run("gonum", float64(n)*float64(k)*float64(k), func() error { theirs.Factorize(band); return nil })
	}
}
