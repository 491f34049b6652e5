package la_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// BenchmarkMixed solves for one right-hand side in float64 and in mixed
// precision. GFLOP/s are those of the factorization in float64 alike, so that
// they compare as times do.
func BenchmarkMixed(b *testing.B) {
	for _, n := range []int{1024, 4096, 8192} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { benchmarkMixed(b, n) })
	}
}

func benchmarkMixed(b *testing.B, n int) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 1))
	a, right, x := random[float64](rnd, n, n, 0), random[float64](rnd, n, 1, 0), padded[float64](n, 1, 0)
	for i := range n {
		a.Data[i*n+i] += 4 * float64(n) // the upper half is positive definite
	}
	half := la.Symmetric[float64]{Uplo: blas.Upper, N: n, Stride: n, Data: a.Data}
	cube := float64(n) * float64(n) * float64(n)
	e := start(b, la.Options{Static: true})
	bench := func(name string, flops float64, solve func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := solve(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
	bench("spd/f64", cube/3, func() error {
		c := la.NewCholesky[float64](e)
		if err := c.Factorize(half); err != nil {
			return err
		}
		return c.SolveTo(x, right)
	})
	bench("spd/mixed", cube/3, func() error {
		_, err := la.SolveSPD(ctx, e, x, half, right)
		return err
	})
	bench("lu/f64", 2*cube/3, func() error {
		f := la.NewLU[float64](e)
		if err := f.Factorize(a); err != nil {
			return err
		}
		return f.SolveTo(x, false, right)
	})
	bench("lu/mixed", 2*cube/3, func() error {
		_, err := la.SolveGeneral(ctx, e, x, a, right)
		return err
	})
}
