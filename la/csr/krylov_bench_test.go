package csr_test

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
)

// BenchmarkCG: 50 iterations on a matrix with 10⁶ rows.
func BenchmarkCG(b *testing.B) {
	a := poisson(1000, 1000, 1).matrix(b, start(b, 2))
	n, _ := a.Dims()
	rhs, x := vector(n, 1), make([]float64, n)
	b.ReportAllocs()
	for b.Loop() {
		clear(x)
		if r, _ := krylov.CG(b.Context(), a, x, rhs, krylov.CGOptions{MaxIterations: 50}); r.Iterations != 50 {
			b.Fatal(r)
		}
	}
}

// BenchmarkIC: CG to the solution on a matrix with 10⁶ rows, and the factorization.
func BenchmarkIC(b *testing.B) {
	a := poisson(1000, 1000, 1).matrix(b, start(b, 2))
	n, _ := a.Dims()
	rhs, x := vector(n, 1), make([]float64, n)
	for _, c := range []struct {
		name string
		opt  *csr.ICOptions
	}{{"none", nil}, {"IC(0)", &csr.ICOptions{}}, {"IC(1)", &csr.ICOptions{Levels: 1}},
		{"relaxed", &csr.ICOptions{Relax: 0.99}}, {"drop", &csr.ICOptions{Drop: 1e-2}}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				opt := krylov.CGOptions{}
				if c.opt != nil {
					m, err := csr.NewIC(a, *c.opt)
					if err != nil {
						b.Fatal(err)
					}
					opt.Preconditioner = m
				}
				clear(x)
				r, err := krylov.CG(b.Context(), a, x, rhs, opt)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.Iterations), "iterations")
			}
		})
	}
}

// BenchmarkSweeps: a solution with IC(0), and a product.
func BenchmarkSweeps(b *testing.B) {
	for _, side := range []int{100, 300, 1000} {
		a := poisson(side, side, 1).matrix(b, start(b, 2))
		n, _ := a.Dims()
		r, x := vector(n, 1), make([]float64, n)
		m, err := csr.NewIC(a, csr.ICOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for name, f := range map[string]func() error{
			"solution": func() error { return m.SolveVecTo(b.Context(), x, r) },
			"product":  func() error { return a.MulVecTo(b.Context(), x, false, r) },
		} {
			b.Run(fmt.Sprint(name, side), func(b *testing.B) {
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
			})
		}
	}
}
