package la_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

func ExampleLU() {
	a := mat.NewDense(3, 3, []float64{
		0, 2, 1,
		4, 4, 2,
		2, 4, 4,
	})
	var lu la.LU[float64]
	if err := lu.Factorize(a); err != nil {
		log.Fatal(err)
	}
	var l, u mat.TriDense
	lu.LTo(&l)
	lu.UTo(&u)
	fmt.Println(mat.Formatted(&l))
	fmt.Println(mat.Formatted(&u))
	fmt.Println("pivots", lu.Pivots(nil))
	fmt.Printf("determinant %.4f\n", lu.Det())

	var x mat.VecDense
	if err := lu.SolveVecTo(&x, false, mat.NewVecDense(3, []float64{3, 10, 10})); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("solution %.4f\n", x.RawVector().Data)
	// Output:
	// ⎡  1    0    0⎤
	// ⎢  0    1    0⎥
	// ⎣0.5    1    1⎦
	// ⎡4  4  2⎤
	// ⎢0  2  1⎥
	// ⎣0  0  2⎦
	// pivots [1 0 2]
	// determinant -16.0000
	// solution [1.0000 1.0000 1.0000]
}

func ExampleLU_Factorize_singular() {
	a := mat.NewDense(3, 3, []float64{
		1, 2, 0,
		2, 4, 0,
		0, 0, 1,
	})
	var lu la.LU[float64]
	err := lu.Factorize(a)
	var singular *la.SingularError
	if errors.As(err, &singular) {
		fmt.Println("column", singular.Column, "depends on those before it")
	}
	// The factorization is complete all the same.
	var u mat.TriDense
	lu.UTo(&u)
	fmt.Println(mat.Formatted(&u))
	// Output:
	// column 2 depends on those before it
	// ⎡2  4  0⎤
	// ⎢0  0  0⎥
	// ⎣0  0  1⎦
}

func ExampleLU_SolveTo() {
	// Aᵀ·X = B for two right-hand sides, in place.
	a := mat.NewDense(2, 2, []float64{
		1, 2,
		3, 4,
	})
	b := mat.NewDense(2, 2, []float64{
		4, 7,
		6, 10,
	})
	var lu la.LU[float64]
	if err := lu.Factorize(a); err != nil {
		log.Fatal(err)
	}
	if err := lu.SolveTo(b, true, b); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", mat.Formatted(b))
	// Output:
	// ⎡1.0000  1.0000⎤
	// ⎣1.0000  2.0000⎦
}

func ExampleNewLUWith() {
	// A random matrix whose first tile is tiny: nothing is wrong with it, but
	// pivots that are looked for in that tile only are useless. The tile size
	// is small for the example's sake: leave NB and Direct out.
	e, err := la.NewEngine(la.Options{Workers: 2, NB: 8, Direct: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	a := la.General[float64]{Rows: 96, Cols: 96, Stride: 96, Data: make([]float64, 96*96)}
	if err := matgen.Generate(matgen.Spec{Kind: matgen.ScaledTile, M: 96, N: 96, NB: 8}, a.Data, a.Stride); err != nil {
		log.Fatal(err)
	}
	for _, opt := range []la.LUOptions{
		{Pivoting: la.PartialPivoting},
		{Pivoting: la.TournamentPivoting},
		{Pivoting: la.TilePivoting},
		{Pivoting: la.TilePivoting, OnBreakdown: la.FallBack},
	} {
		lu, err := la.NewLUWith[float64](e, opt)
		if err != nil {
			log.Fatal(err)
		}
		var broken *la.BreakdownError
		switch err := lu.Factorize(a); {
		case errors.As(err, &broken):
			fmt.Printf("%v: growth above %g\n", opt.Pivoting, broken.Limit)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Printf("%v: factored by %v pivoting, growth below 20: %v\n", opt.Pivoting, lu.Pivoting(), lu.Growth() < 20)
		}
	}
	// Output:
	// partial: factored by partial pivoting, growth below 20: true
	// tournament: factored by tournament pivoting, growth below 20: true
	// tile: growth above 9600
	// tile: factored by partial pivoting, growth below 20: true
}
