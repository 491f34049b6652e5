// What gonum does by itself with all cores: an operation of order N, or for LU and QR of
// MxN, row-major and in place; bringing the input back is not timed. It prints the best and
// the median of the runs in GFLOP/s, of which QR has 4/3·N³, as library.c does for the
// libraries in C.
//
//	go build -o gonum gonum.go && ./gonum cholesky 2048 3
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

func main() {
	if len(os.Args) != 4 {
		fail("usage: gonum gemm|cholesky|lu|qr N RUNS")
	}
	rows, columns, tall := strings.Cut(os.Args[2], "x")
	if !tall {
		columns = rows
	}
	m, n, runs := number(rows), number(columns), number(os.Args[3])
	run, flops := operation(os.Args[1], m, n)
	if k := float64(min(m, n)); m != n {
		flops *= 3*k*float64(m)*float64(n) - 1.5*k*k*float64(m+n) + k*k*k
	} else {
		flops *= k * k * k
	}
	run() // the first one is not counted
	took := make([]float64, runs)
	for i := range took {
		took[i] = run().Seconds()
	}
	slices.Sort(took)
	fmt.Printf("%.1f %.1f\n", flops/took[0]/1e9, flops/took[runs/2]/1e9)
}

// operation returns what performs op once and tells how long it took, and its flops as a
// multiple of n³.
func operation(op string, m, n int) (run func() time.Duration, flops float64) {
	a, b, c := random(m, n), random(m, n), random(m, n)
	timed := func(f func()) time.Duration {
		begin := time.Now()
		f()
		return time.Since(begin)
	}
	switch {
	case op == "gemm" && m == n:
		return func() time.Duration {
			return timed(func() { blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, c) })
		}, 2
	case op == "cholesky" && m == n:
		for i := range n {
			a.Data[i*n+i] += float64(n) // only one triangle is read
		}
		return func() time.Duration {
			copy(c.Data, a.Data)
			return timed(func() {
				if _, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: n, Data: c.Data, Stride: n}); !ok {
					fail("gonum: not positive definite")
				}
			})
		}, 1. / 3
	case op == "lu":
		pivots := make([]int, min(m, n))
		return func() time.Duration {
			copy(c.Data, a.Data)
			return timed(func() {
				if !lapack64.Getrf(c, pivots) {
					fail("gonum: singular")
				}
			})
		}, 2. / 3
	case op == "qr":
		tau, work := make([]float64, min(m, n)), make([]float64, 1)
		lapack64.Geqrf(c, tau, work, -1)
		work = make([]float64, int(work[0]))
		return func() time.Duration {
			copy(c.Data, a.Data)
			return timed(func() { lapack64.Geqrf(c, tau, work, len(work)) })
		}, 4. / 3
	}
	fail(fmt.Sprintf("gonum: no operation %s of %d×%d", op, m, n))
	return nil, 0
}

func random(m, n int) blas64.General {
	rnd := rand.New(rand.NewPCG(1, 2))
	a := blas64.General{Rows: m, Cols: n, Stride: n, Data: make([]float64, m*n)}
	for i := range a.Data {
		a.Data[i] = rnd.Float64() - 0.5
	}
	return a
}

func number(s string) int {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		fail(fmt.Sprintf("gonum: %q is not a positive number", s))
	}
	return v
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(2)
}
