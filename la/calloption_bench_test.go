package la_test

import (
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkFactorizeSmall measures what surrounds the kernel in a call without options.
func BenchmarkFactorizeSmall(b *testing.B) {
	e, err := la.NewEngine(la.Options{Workers: 1, Float: true})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	const n = 4
	spd, full, x := mat.NewSymDense(n, nil), mat.NewDense(n, n, nil), mat.NewDense(n, 1, nil)
	for i := range n {
		spd.SetSym(i, i, n)
		full.Set(i, i, n)
		full.Set(i, (i+1)%n, 1)
		x.Set(i, 0, 1)
	}
	chol, lu, qr := la.NewCholesky[float64](e), la.NewLU[float64](e), la.NewQR[float64](e)
	eigen, svd := la.NewEigenSym[float64](e), la.NewSVD[float64](e)
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"cholesky", func() error { return chol.Factorize(spd) }},
		{"lu", func() error { return lu.Factorize(full) }},
		{"qr", func() error { return qr.Factorize(full) }},
		{"eigen", func() error { return eigen.Factorize(spd, true) }},
		{"svd", func() error { return svd.Factorize(full, mat.SVDThin) }},
		{"cholesky solve", func() error { return chol.SolveTo(x, x) }},
		{"lu solve", func() error { return lu.SolveTo(x, false, x) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
