// Command 10-sparse computes the temperature of a square plate. One edge is kept at 100 degrees and the others
// at 0. On a grid, the temperature of each point is the mean of its four neighbours',
//
//	4·T(i,j) − T(i−1,j) − T(i+1,j) − T(i,j−1) − T(i,j+1) = 0,
//
// This is a sparse, symmetric positive definite system, with the edges on the right-hand side. It is solved by
// conjugate gradients, and by a sparse Cholesky factorization, which is worth its memory if there are several
// right-hand sides. The program checks the residual and the temperature in the middle. That is 25 degrees:
// by symmetry each edge contributes a quarter.
//
//	go run ./examples/10-sparse
package main

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
)

const side = 301 // points in a row, without the edges

func main() {
	ctx := context.Background()
	rt, err := exec.NewLocal(exec.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	var rows, cols []int
	var values []float64
	set := func(i, j int, v float64) { rows, cols, values = append(rows, i), append(cols, j), append(values, v) }
	b := make([]float64, side*side)
	for i := range side {
		for j := range side {
			at := i*side + j
			set(at, at, 4)
			for _, d := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
				switch k, l := i+d[0], j+d[1]; {
				case k < 0:
					b[at] += 100 // the warm edge
				case k < side && l >= 0 && l < side:
					set(at, k*side+l, -1)
				}
			}
		}
	}
	a, err := csr.FromCOO(rt, side*side, side*side, rows, cols, values)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d unknowns, %d entries in %d blocks of rows\n", side*side, a.Entries(), a.Blocks())

	t := make([]float64, side*side)
	result, err := krylov.CG(ctx, a, t, b, krylov.CGOptions{Tolerance: 1e-9})
	if err != nil {
		log.Fatal(err)
	}
	middle := t[side*side/2]
	fmt.Printf("%d iterations, residual %.1e, %.4f degrees in the middle\n", result.Iterations, result.Residual, middle)

	r := make([]float64, side*side)
	if err := a.MulVecTo(ctx, r, false, t); err != nil {
		log.Fatal(err)
	}
	worst := 0.0
	for i := range r {
		worst = max(worst, math.Abs(r[i]-b[i]))
	}

	f := csr.NewCholesky[float64](csr.CholeskyOptions{})
	if err := f.Factorize(ctx, a); err != nil {
		log.Fatal(err)
	}
	direct := make([]float64, side*side)
	if err := f.SolveVecTo(ctx, direct, b); err != nil {
		log.Fatal(err)
	}
	apart := 0.0
	for i := range t {
		apart = max(apart, math.Abs(t[i]-direct[i]))
	}
	fmt.Printf("Cholesky: %d entries in the factor, solutions apart by less than 1e-4: %v\n", f.Stats().Entries, apart < 1e-4)

	if worst > 1e-4 || apart > 1e-4 || math.Abs(middle-25) > 1e-3 {
		log.Fatalf("a residual of %.1e, %v degrees in the middle", worst, middle)
	}
}
