package la_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkBorder compares la with gonum's own types where problems are small, in turns: both
// keep their memory, la also its engine. The metrics are the medians of both and how many
// times as fast la is.
//
//	go test ./la -run '^$' -bench Border -benchtime 15x
func BenchmarkBorder(b *testing.B) {
	e, err := la.NewEngine(la.Options{Static: true})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for _, op := range []struct {
		name string
		// with returns the two sides for a symmetric positive definite matrix of order n.
		with func(a *mat.SymDense, d *mat.Dense, rhs *mat.VecDense) (gonum, ours func())
	}{
		{"mul", func(_ *mat.SymDense, d *mat.Dense, _ *mat.VecDense) (func(), func()) {
			var c, c2 mat.Dense
			return func() { c.Mul(d, d) }, func() { must(la.Mul(&c2, la.Source[float64](d), d)) }
		}},
		{"cholesky", func(a *mat.SymDense, _ *mat.Dense, rhs *mat.VecDense) (func(), func()) {
			var theirs mat.Cholesky
			var x, x2 mat.VecDense
			chol := la.NewCholesky[float64](e)
			return func() { theirs.Factorize(a); must(theirs.SolveVecTo(&x, rhs)) },
				func() { must(chol.Factorize(a)); must(chol.SolveVecTo(&x2, rhs)) }
		}},
		{"lu", func(_ *mat.SymDense, d *mat.Dense, rhs *mat.VecDense) (func(), func()) {
			var theirs mat.LU
			var x, x2 mat.VecDense
			lu := la.NewLU[float64](e)
			return func() { theirs.Factorize(d); must(theirs.SolveVecTo(&x, false, rhs)) },
				func() { must(lu.Factorize(d)); must(lu.SolveVecTo(&x2, false, rhs)) }
		}},
		{"qr", func(_ *mat.SymDense, d *mat.Dense, rhs *mat.VecDense) (func(), func()) {
			var theirs mat.QR
			var x, x2 mat.VecDense
			qr := la.NewQR[float64](e)
			return func() { theirs.Factorize(d); must(theirs.SolveVecTo(&x, false, rhs)) },
				func() { must(qr.Factorize(d)); must(qr.SolveVecTo(&x2, false, rhs)) }
		}},
	} {
		for _, n := range []int{4, 8, 12, 16, 24, 32, 48, 64, 96, 128} {
			b.Run(fmt.Sprintf("%s/n=%d", op.name, n), func(b *testing.B) {
				a, d, rhs := mat.NewSymDense(n, nil), mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
				for i := range n {
					rhs.SetVec(i, 1)
					for j := i; j < n; j++ {
						a.SetSym(i, j, 1/float64(1+j-i)/float64(1+j-i))
						d.Set(i, j, a.At(i, j))
						d.Set(j, i, a.At(i, j))
					}
				}
				gonum, ours := op.with(a, d, rhs)
				calls := max(1, 1<<18/(n*n*n/8+1000)) // some hundred microseconds
				took := func(f func()) float64 {
					begin := time.Now()
					for range calls {
						f()
					}
					return float64(time.Since(begin).Nanoseconds()) / float64(calls)
				}
				var theirs, mine []float64
				for b.Loop() {
					theirs, mine = append(theirs, took(gonum)), append(mine, took(ours))
				}
				slices.Sort(theirs)
				slices.Sort(mine)
				half := len(mine) / 2
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(theirs[half], "gonum-ns")
				b.ReportMetric(mine[half], "la-ns")
				b.ReportMetric(theirs[half]/mine[half], "×")
			})
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
