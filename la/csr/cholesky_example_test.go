package csr_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la/csr"
)

// A rod of four pieces, heated in the second and fourth.
func ExampleCholesky() {
	rt, err := exec.NewLocal(exec.Options{Workers: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	a, err := csr.FromCOO(rt, 4, 4,
		[]int{0, 0, 1, 1, 1, 2, 2, 2, 3, 3},
		[]int{0, 1, 0, 1, 2, 1, 2, 3, 2, 3},
		[]float64{2, -1, -1, 2, -1, -1, 2, -1, -1, 2})
	if err != nil {
		log.Fatal(err)
	}
	f := csr.NewCholesky[float64](csr.CholeskyOptions{})
	if err := f.Factorize(context.Background(), a); err != nil {
		log.Fatal(err)
	}
	x := []float64{0, 5, 0, 5}
	if err := f.SolveVecTo(context.Background(), x, x); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f, %d entries in the factor\n", x, f.Stats().Entries)
	// Output: [4.000 8.000 7.000 6.000], 7 entries in the factor
}
