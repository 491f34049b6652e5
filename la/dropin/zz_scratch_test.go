package dropin_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

func TestScratchStages(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		t.Skip()
	}
	e, err := la.NewEngine(la.Options{Static: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := gonum.Implementation{}
	for _, im := range []struct {
		name string
		b    blas.Float64
	}{{"gonum", blasgonum.Implementation{}}, {"dropin", dropin.NewBLAS(dropin.Options{Engine: e})}} {
		if only := os.Getenv("ONLY"); only != "" && only != im.name {
			continue
		}
		blas64.Use(im.b)
		rng := rand.New(rand.NewPCG(1, 2))
		a := make([]float64, n*n)
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		vr := make([]float64, n*n)
		wr, wi := make([]float64, n), make([]float64, n)
		work := make([]float64, n*n)
		tau := make([]float64, n-1)
		scale := make([]float64, n)
		t0 := time.Now()
		lap := func(s string) { fmt.Printf("%s %s %.1f ms\n", im.name, s, time.Since(t0).Seconds()*1e3); t0 = time.Now() }
		ilo, ihi := g.Dgebal(lapack.PermuteScale, n, a, n, scale)
		lap("gebal")
		g.Dgehrd(n, ilo, ihi, a, n, tau, work, len(work))
		lap("gehrd")
		g.Dlacpy(blas.Lower, n, n, a, n, vr, n)
		g.Dorghr(n, ilo, ihi, vr, n, tau, work, len(work))
		lap("orghr")
		g.Dhseqr(lapack.EigenvaluesAndSchur, lapack.SchurOrig, n, ilo, ihi, a, n, wr, wi, vr, n, work, len(work))
		lap("hseqr")
		g.Dtrevc3(lapack.EVRight, lapack.EVAllMulQ, nil, n, a, n, nil, 1, vr, n, n, work, len(work))
		lap("trevc3")
	}
	blas64.Use(blasgonum.Implementation{})
}
