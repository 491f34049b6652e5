package dropin_test

import (
	"fmt"
	"log"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/mat"
)

func ExampleInstall() {
	if err := dropin.Install(); err != nil {
		log.Fatal(err)
	}
	defer dropin.Restore()

	// A program with gonum, as it was.
	a := mat.NewSymDense(3, []float64{
		4, 2, 2,
		2, 5, 3,
		2, 3, 6,
	})
	var chol mat.Cholesky
	if !chol.Factorize(a) {
		log.Fatal("not positive definite")
	}
	var x mat.VecDense
	if err := chol.SolveVecTo(&x, mat.NewVecDense(3, []float64{2, 3, 7})); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", mat.Formatted(&x))
	// Output:
	// ⎡-0.062⎤
	// ⎢-0.125⎥
	// ⎣ 1.250⎦
}
