package la_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkSmall compares la with gonum's own types on small problems, in turns. Both use their values again, and la the
// default engine. The metrics are the medians of both, how many times as fast la is, and the allocations of a call. At
// the end it logs the table of docs/gonum.md.
//
//	go test ./la -run '^$' -bench Small -benchtime 15x
func BenchmarkSmall(b *testing.B) {
	orders := []int{2, 3, 4, 8, 16, 32, 64}
	var table strings.Builder
	table.WriteString("\n| |")
	for _, n := range orders {
		fmt.Fprintf(&table, " %d |", n)
	}
	table.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(orders)) + "\n")
	for _, op := range smallCalls {
		fmt.Fprintf(&table, "| %s |", op.title)
		for _, n := range orders {
			b.Run(fmt.Sprintf("%s/n=%d", op.name, n), func(b *testing.B) {
				gonum, ours := op.with(n)
				calls := max(20, 1<<18/(n*n*n/8+1000))
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
				b.ReportMetric(testing.AllocsPerRun(50, gonum), "gonum-allocs")
				b.ReportMetric(testing.AllocsPerRun(50, ours), "la-allocs")
				fmt.Fprintf(&table, " %.3g, %.3g |", mine[half], theirs[half])
			})
		}
		table.WriteString("\n")
	}
	b.Log(table.String())
}

// smallProblem is a symmetric positive definite matrix in two forms, a matrix of twice as many rows, and right sides.
type smallProblem struct {
	spd      *mat.SymDense
	a, tall  *mat.Dense
	b, tallB *mat.Dense
	v        *mat.VecDense
}

func newSmallProblem(n int) (p smallProblem) {
	p.spd, p.a, p.tall = mat.NewSymDense(n, nil), mat.NewDense(n, n, nil), mat.NewDense(2*n, n, nil)
	p.b, p.tallB, p.v = mat.NewDense(n, 1, nil), mat.NewDense(2*n, 1, nil), mat.NewVecDense(n, nil)
	for i := range n {
		p.b.Set(i, 0, 1)
		p.v.SetVec(i, 1)
		for j := range n {
			d := float64(1 + max(i-j, j-i))
			p.spd.SetSym(i, j, 1/(d*d))
			p.a.Set(i, j, 1/(d*d)+float64(i-j)/float64(10*n))
			p.tall.Set(i, j, p.a.At(i, j))
			p.tall.Set(n+i, j, p.a.At(j, i))
		}
	}
	for i := range 2 * n {
		p.tallB.Set(i, 0, float64(1+i%3))
	}
	return p
}

// smallCall is a pair of calls that do the same.
type smallCall struct {
	name, title string
	with        func(n int) (gonum, ours func())
}

// smallCalls are those of which ours allocate nothing up to order 32.
var smallCalls = []smallCall{
	{"mul", "`Mul`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var c, c2 mat.Dense
		return func() { c.Mul(p.a, p.a) }, func() { must(la.Mul[float64](&c2, p.a, p.a)) }
	}},
	{"mulvec", "`MulVec`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var y, y2 mat.VecDense
		return func() { y.MulVec(p.a, p.v) }, func() { must(la.MulVec[float64](&y2, p.a, p.v)) }
	}},
	{"cholesky", "`Cholesky`: `Factorize`, `SolveTo`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.Cholesky
		var ours la.Cholesky[float64]
		var x, x2 mat.Dense
		return func() { theirs.Factorize(p.spd); must(theirs.SolveTo(&x, p.b)) },
			func() { must(ours.Factorize(p.spd)); must(ours.SolveTo(&x2, p.b)) }
	}},
	{"lu", "`LU`: `Factorize`, `SolveTo`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.LU
		var ours la.LU[float64]
		var x, x2 mat.Dense
		return func() { theirs.Factorize(p.a); must(theirs.SolveTo(&x, false, p.b)) },
			func() { must(ours.Factorize(p.a)); must(ours.SolveTo(&x2, false, p.b)) }
	}},
	{"qr", "`QR`: `Factorize`, `SolveTo`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.QR
		var ours la.QR[float64]
		var x, x2 mat.Dense
		return func() { theirs.Factorize(p.a); must(theirs.SolveTo(&x, false, p.b)) },
			func() { must(ours.Factorize(p.a)); must(ours.SolveTo(&x2, false, p.b)) }
	}},
	{"choleskysolve", "`Cholesky.SolveVecTo`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.Cholesky
		var ours la.Cholesky[float64]
		theirs.Factorize(p.spd)
		must(ours.Factorize(p.spd))
		var x, x2 mat.VecDense
		return func() { must(theirs.SolveVecTo(&x, p.v)) }, func() { must(ours.SolveVecTo(&x2, p.v)) }
	}},
	{"lusolve", "`LU.SolveVecTo`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.LU
		var ours la.LU[float64]
		theirs.Factorize(p.a)
		must(ours.Factorize(p.a))
		var x, x2 mat.VecDense
		return func() { must(theirs.SolveVecTo(&x, false, p.v)) }, func() { must(ours.SolveVecTo(&x2, false, p.v)) }
	}},
	{"qrsolve", "`QR.SolveVecTo`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.QR
		var ours la.QR[float64]
		theirs.Factorize(p.a)
		must(ours.Factorize(p.a))
		var x, x2 mat.VecDense
		return func() { must(theirs.SolveVecTo(&x, false, p.v)) }, func() { must(ours.SolveVecTo(&x2, false, p.v)) }
	}},
	{"solve", "`Solve`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var x, x2 mat.Dense
		return func() { must(x.Solve(p.a, p.b)) }, func() {
			_, err := la.Solve[float64](context.Background(), nil, &x2, p.a, p.b)
			must(err)
		}
	}},
	{"leastsquares", "`LeastSquares`, 2n × n", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var x, x2 mat.Dense
		return func() { must(x.Solve(p.tall, p.tallB)) },
			func() { must(la.LeastSquares[float64](context.Background(), nil, &x2, p.tall, p.tallB)) }
	}},
	{"inverse", "`Cholesky.InverseTo`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.Cholesky
		var ours la.Cholesky[float64]
		theirs.Factorize(p.spd)
		must(ours.Factorize(p.spd))
		var x, x2 mat.SymDense
		return func() { must(theirs.InverseTo(&x)) }, func() { must(ours.InverseTo(&x2)) }
	}},
	{"eigensym", "`EigenSym.Factorize`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.EigenSym
		var ours la.EigenSym[float64]
		return func() { theirs.Factorize(p.spd, true) }, func() { must(ours.Factorize(p.spd, true)) }
	}},
	{"svd", "`SVD.Factorize`", func(n int) (func(), func()) {
		p := newSmallProblem(n)
		var theirs mat.SVD
		var ours la.SVD[float64]
		return func() { theirs.Factorize(p.a, mat.SVDThin) }, func() { must(ours.Factorize(p.a, mat.SVDThin)) }
	}},
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
