package la_test

import (
	"fmt"
	"math"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// The program of the README: what it prints there is what it prints.
func Example() {
	const n = 500
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, math.Exp2(float64(i-j))) // its determinant is (3/4)^(n-1)
		}
	}
	var chol la.Cholesky[float64]
	fmt.Println(chol.Factorize(a))
	fmt.Printf("log det %.6f, should be %.6f\n", chol.LogDet(), (n-1)*math.Log(0.75))

	a.SetSym(345, 345, -1)
	fmt.Println(chol.Factorize(a))
	// Output:
	// <nil>
	// log det -143.553354, should be -143.553354
	// la: matrix is not positive definite: the leading minor of order 346 is not
}
