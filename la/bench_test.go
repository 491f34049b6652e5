package la_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// rate reports the rate of a benchmark whose every iteration takes flops.
func rate(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func benchGemm[T la.Element](b *testing.B, m, n, k int) {
	e := start(b, la.Options{})
	rnd := rand.New(rand.NewPCG(1, 1))
	x, y, z := random[T](rnd, m, k, 0), random[T](rnd, k, n, 0), random[T](rnd, m, n, 0)
	for b.Loop() {
		if err := la.Gemm(b.Context(), e, blas.NoTrans, blas.NoTrans, 1, x, y, 0, z); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, 2*float64(m)*float64(n)*float64(k))
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct {
		class   string
		m, n, k int
	}{
		{"small", 8, 8, 8}, {"small", 64, 64, 64}, {"square", 256, 256, 256}, {"square", 1024, 1024, 1024},
		{"tall", 4096, 64, 64}, {"inner", 64, 64, 4096}, {"outer", 1024, 1024, 16}, {"ragged", 1021, 513, 259}, {"vector", 2048, 1, 2048},
	} {
		name := fmt.Sprintf("%s/%dx%dx%d", s.class, s.m, s.n, s.k)
		b.Run("f64/"+name, func(b *testing.B) { benchGemm[float64](b, s.m, s.n, s.k) })
		b.Run("f32/"+name, func(b *testing.B) { benchGemm[float32](b, s.m, s.n, s.k) })
	}
}

func BenchmarkSyrk(b *testing.B) {
	for _, s := range []struct {
		class string
		n, k  int
	}{{"small", 64, 64}, {"square", 1024, 1024}, {"tall", 128, 4096}, {"ragged", 771, 333}} {
		b.Run(fmt.Sprintf("%s/%dx%d", s.class, s.n, s.k), func(b *testing.B) {
			e := start(b, la.Options{})
			a := random[float64](rand.New(rand.NewPCG(1, 1)), s.n, s.k, 0)
			c := la.Symmetric[float64]{Uplo: blas.Lower, N: s.n, Stride: s.n, Data: make([]float64, s.n*s.n)}
			for b.Loop() {
				if err := la.Syrk(b.Context(), e, blas.NoTrans, 1, a, 0, c); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, float64(s.n)*float64(s.n+1)*float64(s.k))
		})
	}
}

func BenchmarkTrsm(b *testing.B) {
	for _, s := range []struct {
		class string
		m, n  int
	}{{"small", 64, 64}, {"square", 1024, 1024}, {"wide", 128, 4096}, {"vector", 2048, 1}, {"ragged", 771, 333}} {
		b.Run(fmt.Sprintf("%s/%dx%d", s.class, s.m, s.n), func(b *testing.B) {
			e := start(b, la.Options{})
			rnd := rand.New(rand.NewPCG(1, 1))
			// A unit triangle of small elements keeps B in range for ever.
			a := triangle[float64](rnd, blas.Lower, blas.NonUnit, s.m, 0)
			for i := range s.m {
				a.SetTri(i, i, 1)
			}
			x := random[float64](rnd, s.m, s.n, 0)
			x0 := clone(x)
			for b.Loop() {
				copy(x.Data, x0.Data)
				if err := la.Trsm(b.Context(), e, blas.Left, blas.NoTrans, 1, a, x); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, float64(s.m)*float64(s.m)*float64(s.n))
		})
	}
}

func benchCholesky[T la.Element](b *testing.B, n int) {
	c := la.NewCholesky[T](start(b, la.Options{}))
	a := symmetric[T](b, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 0)
	for b.Loop() {
		if err := c.Factorize(a); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, float64(n)*float64(n+1)*float64(2*n+1)/6)
}

func BenchmarkCholesky(b *testing.B) {
	for _, s := range []struct {
		class string
		n     int
	}{{"small", 8}, {"small", 100}, {"square", 512}, {"square", 1024}, {"square", 2048}, {"ragged", 1021}} {
		name := fmt.Sprintf("%s/%d", s.class, s.n)
		b.Run("f64/"+name, func(b *testing.B) { benchCholesky[float64](b, s.n) })
		b.Run("f32/"+name, func(b *testing.B) { benchCholesky[float32](b, s.n) })
	}
}

func BenchmarkCholeskySolve(b *testing.B) {
	for _, s := range [][2]int{{100, 1}, {1024, 1}, {1024, 256}} {
		n, nrhs := s[0], s[1]
		b.Run(fmt.Sprintf("%dx%d", n, nrhs), func(b *testing.B) {
			c := la.NewCholesky[float64](start(b, la.Options{}))
			if err := c.Factorize(symmetric[float64](b, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 0)); err != nil {
				b.Fatal(err)
			}
			rhs := random[float64](rand.New(rand.NewPCG(1, 1)), n, nrhs, 0)
			x := clone(rhs)
			for b.Loop() {
				if err := c.SolveTo(x, rhs); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, 2*float64(n)*float64(n)*float64(nrhs))
		})
	}
}

func BenchmarkCholeskyInverse(b *testing.B) {
	const n = 1024
	c := la.NewCholesky[float64](start(b, la.Options{}))
	if err := c.Factorize(symmetric[float64](b, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 0)); err != nil {
		b.Fatal(err)
	}
	inv := symmetric[float64](b, matgen.Spec{Kind: matgen.Identity, N: n}, blas.Upper, 0)
	for b.Loop() {
		if err := c.InverseTo(inv); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, 2*float64(n)*float64(n)*float64(n)/3)
}
