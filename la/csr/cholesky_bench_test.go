package csr_test

import (
	"fmt"
	"testing"

	"github.com/james-bowman/sparse"
	"github.com/tessera-la/tessera/la/csr"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkCholesky: Laplacians on grids, by the number of workers: the first factorization, with the order of elimination
// and one solution; a factorization of the same pattern; a solution. The grid of 60×60×60 takes 2 GB.
func BenchmarkCholesky(b *testing.B) {
	for _, g := range [][3]int{{300, 300, 1}, {1000, 1000, 1}, {30, 30, 30}, {40, 40, 40}, {60, 60, 60}} {
		s := poisson(g[0], g[1], g[2])
		for _, workers := range []int{1, 2} {
			a := s.matrix(b, start(b, workers))
			x := vector(s.n, 1)
			name := fmt.Sprintf("%d×%d×%d/%d", g[0], g[1], g[2], workers)
			run := func(what string, f func() error) {
				b.Run(name+"/"+what, func(b *testing.B) {
					for b.Loop() {
						if err := f(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			f := csr.NewCholesky[float64](csr.CholeskyOptions{})
			run("all", func() error {
				f = csr.NewCholesky[float64](csr.CholeskyOptions{})
				if err := f.Factorize(b.Context(), a); err != nil {
					return err
				}
				return f.SolveVecTo(b.Context(), x, x)
			})
			run("factor", func() error { return f.Factorize(b.Context(), a) })
			if f.IsEmpty() { // -bench has left these out
				continue
			}
			run("solve", func() error { return f.SolveVecTo(b.Context(), x, x) })
		}
	}
}

// BenchmarkCholeskyPeer: a factorization and a solution, here and by package sparse.
func BenchmarkCholeskyPeer(b *testing.B) {
	for _, g := range [][3]int{{50, 50, 1}, {100, 100, 1}, {12, 12, 12}} {
		s := poisson(g[0], g[1], g[2])
		a := s.matrix(b, start(b, 2))
		rhs := mat.NewVecDense(s.n, vector(s.n, 1))
		name := fmt.Sprintf("%d×%d×%d", g[0], g[1], g[2])
		b.Run(name+"/tessera", func(b *testing.B) {
			for b.Loop() {
				f := csr.NewCholesky[float64](csr.CholeskyOptions{})
				if err := f.Factorize(b.Context(), a); err != nil {
					b.Fatal(err)
				}
				if err := f.SolveVecTo(b.Context(), make([]float64, s.n), rhs.RawVector().Data); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/sparse", func(b *testing.B) {
			for b.Loop() {
				var f sparse.Cholesky
				f.Factorize(a.CSR())
				if err := f.SolveVecTo(mat.NewVecDense(s.n, nil), rhs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
