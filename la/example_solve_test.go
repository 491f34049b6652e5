package la_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

func ExampleSolve() {
	ctx := context.Background()
	b := mat.NewDense(2, 1, []float64{1, 2})
	for _, a := range []*mat.Dense{
		mat.NewDense(2, 2, []float64{4, 1, 1, 3}), // positive definite
		mat.NewDense(2, 2, []float64{1, 3, 3, 1}), // symmetric, but not definite
		mat.NewDense(2, 2, []float64{2, 0, 1, 4}), // lower triangular
		mat.NewDense(2, 2, []float64{1, 2, 2, 4}), // singular
	} {
		var x mat.Dense
		report, err := la.Solve[float64](ctx, nil, &x, a, b)
		if err != nil {
			fmt.Println(report.Method, err)
			continue
		}
		fmt.Printf("%v: %.4f\n", report.Method, x.RawMatrix().Data)
	}
	// Output:
	// Cholesky: [0.0909 0.6364]
	// LU: [0.6250 0.1250]
	// triangular: [0.5000 0.3750]
	// LU la: matrix is singular: column 2 (counted from 1) depends on those before it
}

func ExampleLeastSquares() {
	// The line y = c₀ + c₁·t that fits four points best.
	a := mat.NewDense(4, 2, []float64{
		1, 0,
		1, 1,
		1, 2,
		1, 3,
	})
	y := mat.NewVecDense(4, []float64{1, 3, 4, 6})
	var c mat.VecDense
	if err := la.LeastSquares(context.Background(), nil, &c, a, y); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("y = %.1f + %.1f·t\n", c.AtVec(0), c.AtVec(1))
	// Output: y = 1.1 + 1.6·t
}

func ExampleInverse() {
	a := mat.NewDense(2, 2, []float64{
		4, 7,
		2, 6,
	})
	if _, err := la.Inverse[float64](context.Background(), nil, a, a); err != nil { // in place
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", mat.Formatted(a))
	// Output:
	// ⎡ 0.6  -0.7⎤
	// ⎣-0.2   0.4⎦
}

func ExampleSolveSPD() {
	// The discrete Laplacian, and a matrix like it that float32 cannot factor.
	const n = 50
	laplacian, hard := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	b := mat.NewDense(n, 1, nil)
	for i := range n {
		laplacian.SetSym(i, i, 2)
		hard.SetSym(i, i, 1+1e-10)
		for j := range i {
			hard.SetSym(i, j, 1)
		}
		if i > 0 {
			laplacian.SetSym(i, i-1, -1)
		}
		b.Set(i, 0, 1)
	}
	for _, a := range []*mat.SymDense{laplacian, hard} {
		var x mat.Dense
		report, err := la.SolveSPD(context.Background(), nil, &x, a, b)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("fallback: %v, good: %t\n", report.Fallback, report.BackwardError < 1e-15)
	}
	// Output:
	// fallback: none, good: true
	// fallback: not factored, good: true
}

func ExampleSolveGeneral() {
	a := mat.NewDense(3, 3, []float64{
		0, 2, 1,
		1, 1, 0,
		3, 0, 1,
	})
	b := mat.NewDense(3, 1, []float64{7, 3, 6})
	report, err := la.SolveGeneral(context.Background(), nil, b, a, b) // in place
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.6f, fallback: %v\n", b.RawMatrix().Data, report.Fallback)
	// Output: [1.000000 2.000000 3.000000], fallback: none
}

func ExampleCond() {
	hilbert := mat.NewSymDense(6, nil)
	for i := range 6 {
		for j := range i + 1 {
			hilbert.SetSym(i, j, 1/float64(i+j+1))
		}
	}
	cond, err := la.Cond[float64](context.Background(), nil, hilbert, lapack.MaxColumnSum)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("norm %.2f, condition %.1e\n", la.Norm[float64](nil, hilbert, lapack.MaxColumnSum), cond)

	var singular *la.SingularError
	_, err = la.Solve[float64](context.Background(), nil, &mat.Dense{}, mat.NewDense(2, 2, nil), mat.NewDense(2, 1, nil))
	fmt.Println(errors.As(err, &singular))
	// Output:
	// norm 2.45, condition 2.9e+07
	// true
}
