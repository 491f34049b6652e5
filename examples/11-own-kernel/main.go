// Command 11-own-kernel factors a matrix with its own matrix product: a version of op gemm in plain Go, added
// to those of the build.
//
// The version is in gemm.go. gemm_test.go tests it with the conformance tests that all versions of Tessera must
// pass. The program runs a Cholesky factorization with it and with Tessera's choice, checks both residuals, and
// prints which versions ran.
//
//	go run ./examples/11-own-kernel
//	go test ./examples/11-own-kernel
package main

import (
	"fmt"
	"log"
	"math"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

const n, nb = 1000, 100

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, math.Exp2(float64(i-j)))
		}
	}
	for _, exclude := range [][]string{nil, {name}} {
		table := op.NewTable()
		table.Add(kernels.For[float64](table).Op("gemm"), version())
		var events trace.Recorder
		// Static takes the first version that can run, which is the one added last.
		e, err := la.NewEngine(la.Options{NB: nb, Table: table, Exclude: exclude, Static: true, Trace: &events})
		if err != nil {
			return err
		}
		defer e.Close()
		chol := la.NewCholesky[float64](e)
		begin := time.Now()
		if err := chol.Factorize(a); err != nil {
			return err
		}
		took := time.Since(begin)
		// The determinant of a is (3/4)^(n-1).
		if got, want := chol.LogDet(), (n-1)*math.Log(0.75); math.Abs(got-want) > 1e-10*math.Abs(want) {
			return fmt.Errorf("log det is %g, want %g", got, want)
		}
		fmt.Printf("%v:\n", took.Round(time.Millisecond/10))
		for _, v := range events.Summary().Usage {
			fmt.Printf("  %-10s %-8s %4d calls\n", v.Op, v.Version, v.Calls)
		}
	}
	return nil
}
