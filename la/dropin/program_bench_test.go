package dropin_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkProgram runs programs that know gonum only, without and with dropin.Install, in
// turns. The metrics are the best and the median time of each side, and their ratios.
//
//	go test ./la/dropin -run '^$' -bench Program -benchtime 9x
func BenchmarkProgram(b *testing.B) {
	for _, p := range []struct {
		name string
		run  func()
	}{
		{"kalman", kalman(400, 200, 4)},
		{"regression", regression(10000, 200)},
	} {
		b.Run(p.name, func(b *testing.B) {
			var alone, installed []float64 // milliseconds
			took := func() float64 {
				begin := time.Now()
				p.run()
				return 1e3 * time.Since(begin).Seconds()
			}
			for b.Loop() {
				alone = append(alone, took())
				check(dropin.Install())
				installed = append(installed, took())
				check(dropin.Restore())
			}
			slices.Sort(alone)
			slices.Sort(installed)
			half := len(alone) / 2
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(alone[0], "gonum-ms")
			b.ReportMetric(alone[half], "gonum-median-ms")
			b.ReportMetric(installed[0], "dropin-ms")
			b.ReportMetric(installed[half], "dropin-median-ms")
			b.ReportMetric(alone[0]/installed[0], "×")
			b.ReportMetric(alone[half]/installed[half], "×median")
		})
	}
}

// kalman returns some steps of a Kalman filter for n states, of which m sums are observed.
func kalman(n, m, steps int) func() {
	rnd := rand.New(rand.NewPCG(3, 4))
	f, h := mat.NewDense(n, n, nil), mat.NewDense(m, n, nil)
	for i := range n {
		for j := range n {
			f.Set(i, j, 0.5*rnd.NormFloat64()/float64(n))
			if i < m {
				h.Set(i, j, rnd.NormFloat64())
			}
		}
		f.Set(i, i, 1)
	}
	z := make([]*mat.VecDense, steps)
	for k := range z {
		z[k] = mat.NewVecDense(m, nil)
		for i := range m {
			z[k].SetVec(i, rnd.NormFloat64())
		}
	}
	return func() {
		x := mat.NewVecDense(n, nil)
		p := mat.NewDense(n, n, nil)
		for i := range n {
			p.Set(i, i, 1)
		}
		for _, z := range z {
			// Predict: x = F·x, P = F·P·Fᵀ + 0.01·I.
			var fx mat.VecDense
			fx.MulVec(f, x)
			var fp, fpf mat.Dense
			fp.Mul(f, p)
			fpf.Mul(&fp, f.T())
			for i := range n {
				fpf.Set(i, i, fpf.At(i, i)+0.01)
			}
			// Update: S = H·P·Hᵀ + I, K = P·Hᵀ·S⁻¹, x = x + K·(z − H·x), P = P − K·H·P.
			var hp, hph mat.Dense
			hp.Mul(h, &fpf)
			hph.Mul(&hp, h.T())
			s := mat.NewSymDense(m, nil)
			for i := range m {
				for j := i; j < m; j++ {
					s.SetSym(i, j, hph.At(i, j))
				}
				s.SetSym(i, i, s.At(i, i)+1)
			}
			var chol mat.Cholesky
			if !chol.Factorize(s) {
				panic("S is not positive definite")
			}
			var kt, khp mat.Dense // Kᵀ
			check(chol.SolveTo(&kt, &hp))
			var hx, r, kr mat.VecDense
			hx.MulVec(h, &fx)
			r.SubVec(z, &hx)
			kr.MulVec(kt.T(), &r)
			x.AddVec(&fx, &kr)
			khp.Mul(kt.T(), &hp)
			p.Sub(&fpf, &khp)
		}
	}
}

// regression returns a least-squares fit of some features to rows of data.
func regression(rows, features int) func() {
	rnd := rand.New(rand.NewPCG(5, 6))
	x, y := mat.NewDense(rows, features, nil), mat.NewVecDense(rows, nil)
	for i := range rows {
		for j := range features {
			x.Set(i, j, rnd.NormFloat64())
		}
		y.SetVec(i, rnd.NormFloat64())
	}
	return func() {
		var c mat.VecDense
		check(c.SolveVec(x, y))
	}
}
