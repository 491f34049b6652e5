package dropin_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkMat compares calls of gonum's mat with the routines of this package
// behind them and with others', in turns: gonum's own, and with the tags
// openblas and lapacke those of OpenBLAS through netlib. The metrics are the
// least time of ours and how many times as long the others take.
//
//	go test ./la/dropin -run '^$' -bench Mat/2048
//	CGO_LDFLAGS='-lopenblas -l:liblapacke.so.3' go test -tags openblas,lapacke ./la/dropin -run '^$' -bench Mat/2048
func BenchmarkMat(b *testing.B) {
	e, err := la.NewEngine(la.Options{Static: true})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	opt := dropin.Options{Engine: e}
	all := append([]implementation{
		{"dropin", dropin.NewBLAS(opt), dropin.NewLAPACK(opt)},
		{"gonum", blasgonum.Implementation{}, lapackgonum.Implementation{}},
	}, libraries()...)
	defer all[1].use()
	for _, n := range []int{8, 64, 128, 512, 1024, 2048} {
		for _, c := range matCalls(n) {
			b.Run(fmt.Sprintf("%d/%s", n, c.name), func(b *testing.B) {
				least := make([]float64, len(all))
				for i := range least {
					least[i] = math.Inf(1)
				}
				repeat := max(1, 1<<20/(n*n*n))
				for b.Loop() {
					for i := range all {
						all[i].use()
						begin := time.Now()
						for range repeat {
							c.call()
						}
						least[i] = min(least[i], time.Since(begin).Seconds()/float64(repeat))
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(least[0]*1e6, "µs")
				for i := range all[1:] {
					b.ReportMetric(least[i+1]/least[0], "×"+all[i+1].name)
				}
			})
		}
	}
}

// implementation is routines that gonum may use.
type implementation struct {
	name   string
	blas   blas.Float64
	lapack lapack.Float64
}

func (p *implementation) use() {
	blas64.Use(p.blas)
	lapack64.Use(p.lapack)
}

type matCall struct {
	name string
	call func()
}

func matCalls(n int) []matCall {
	rnd := rand.New(rand.NewPCG(1, 2))
	a, spd := mat.NewDense(n, n, nil), mat.NewSymDense(n, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, rnd.NormFloat64())
			if j <= i {
				spd.SetSym(i, j, rnd.Float64())
			}
		}
		spd.SetSym(i, i, float64(n))
	}
	x := mat.NewVecDense(n, nil)
	for i := range n {
		x.SetVec(i, rnd.NormFloat64())
	}
	var c, inv, sol mat.Dense
	var y mat.VecDense
	var chol mat.Cholesky
	var lu mat.LU
	var qr mat.QR
	var pivoted mat.PivotedCholesky
	band, right := mat.NewSymBandDense(n, n/8, nil), mat.NewDense(n, 10, nil)
	for i := range n {
		for j := i; j <= min(i+n/8, n-1); j++ {
			band.SetSymBand(i, j, rnd.Float64())
		}
		band.SetSymBand(i, i, float64(n))
		right.Set(i, i%10, 1)
	}
	var banded, factored mat.BandCholesky
	factored.Factorize(band)
	var solved mat.Dense
	var eigen mat.Eigen
	return []matCall{
		{"Mul", func() { c.Mul(a, a) }},
		{"MulVec", func() { y.MulVec(a, x) }},
		{"Cholesky", func() { chol.Factorize(spd) }},
		{"PivotedCholesky", func() { pivoted.Factorize(spd, -1) }},
		{"BandCholesky", func() { banded.Factorize(band) }},
		{"BandCholesky.SolveTo", func() { _ = factored.SolveTo(&solved, right) }},
		{"LU", func() { lu.Factorize(a) }},
		{"QR", func() { qr.Factorize(a) }},
		{"Inverse", func() { check(inv.Inverse(a)) }},
		{"Solve", func() { check(sol.Solve(a, x)) }},
		{"Eigen", func() { eigen.Factorize(a, mat.EigenRight) }},
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// BenchmarkBorder compares gonum's routines with a kernel of ours where one
// becomes faster than the other.
func BenchmarkBorder(b *testing.B) {
	e, err := la.NewEngine(la.Options{Static: true})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for _, n := range []int{8, 12, 16, 24, 32} {
		a, c := random(n*n), random(n*n)
		for i := range n {
			a[i*n+i] = 9
		}
		for name, small := range map[string]int{"gonum": math.MaxInt32, "kernel": -1} {
			im := dropin.NewBLAS(dropin.Options{Engine: e, Small: small})
			for op, call := range map[string]func(){
				"gemm": func() { im.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, a, n, 0, c, n) },
				"syrk": func() { im.Dsyrk(blas.Lower, blas.NoTrans, n, n, 1, a, n, 0, c, n) },
				"trsm": func() { im.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, n, n, 1, a, n, c, n) },
				"trmm": func() { im.Dtrmm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, n, n, 0.1, a, n, c, n) },
			} {
				b.Run(fmt.Sprintf("%s/%d/%s", op, n, name), func(b *testing.B) {
					for b.Loop() {
						call()
					}
				})
			}
		}
	}
}
