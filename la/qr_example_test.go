package la_test

import (
	"fmt"
	"log"
	"math"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

func ExampleQR() {
	a := mat.NewDense(3, 2, []float64{
		3, -6,
		4, -8,
		0, 1,
	})
	var qr la.QR[float64]
	if err := qr.Factorize(a); err != nil {
		log.Fatal(err)
	}
	var q, r mat.Dense
	if err := qr.QThinTo(&q); err != nil {
		log.Fatal(err)
	}
	qr.RTo(&r)
	var product mat.Dense // of Q with the rows of R that are not zero
	product.Mul(&q, r.Slice(0, 2, 0, 2))
	product.Apply(func(_, _ int, v float64) float64 { return math.Round(v*1e12) / 1e12 }, &product)
	fmt.Println(mat.Formatted(&product))
	fmt.Printf("‖R‖ = %.3f, ‖A‖ = %.3f\n", mat.Norm(&r, 2), mat.Norm(a, 2))
	// Output:
	// ⎡ 3  -6⎤
	// ⎢ 4  -8⎥
	// ⎣ 0   1⎦
	// ‖R‖ = 11.225, ‖A‖ = 11.225
}

func ExampleQR_SolveTo() {
	// The line through four points that fits best: y = c0 + c1·x.
	a := mat.NewDense(4, 2, []float64{
		1, 0,
		1, 1,
		1, 2,
		1, 3,
	})
	y := mat.NewDense(4, 1, []float64{1, 3, 4, 4})
	var qr la.QR[float64]
	if err := qr.Factorize(a); err != nil {
		log.Fatal(err)
	}
	var c mat.Dense
	if err := qr.SolveTo(&c, false, y); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("y = %.1f + %.1f·x\n", c.At(0, 0), c.At(1, 0))
	// Output: y = 1.5 + 1.0·x
}

func ExampleQR_SolveVecTo() {
	// Of all x with x₀ + 2·x₁ + 2·x₂ = 9, the one nearest to the origin.
	a := mat.NewDense(1, 3, []float64{1, 2, 2})
	var qr la.QR[float64]
	if err := qr.Factorize(a); err != nil {
		log.Fatal(err)
	}
	var x mat.VecDense
	if err := qr.SolveVecTo(&x, false, mat.NewVecDense(1, []float64{9})); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", x.RawVector().Data)
	// Output: [1.0000 2.0000 2.0000]
}

func ExampleQR_ApplyQTo() {
	// The part of b that no combination of the columns of A reaches is what Qᵀ
	// makes of it in the rows behind the columns.
	a := mat.NewDense(3, 1, []float64{2, 0, 0})
	b := mat.NewDense(3, 1, []float64{5, 3, 4})
	var qr la.QR[float64]
	if err := qr.Factorize(a); err != nil {
		log.Fatal(err)
	}
	var c mat.Dense
	if err := qr.ApplyQTo(&c, blas.Left, true, b); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", mat.Norm(c.Slice(1, 3, 0, 1), 2))
	// Output: 5.0
}

func ExampleNewQRWith() {
	// Two trees, by their amount of work. The tile size is small for the example's
	// sake: leave TileSize out.
	a := mat.NewDense(100, 100, nil)
	for i := range 100 {
		for j := range 100 {
			a.Set(i, j, math.Sin(float64(i*i+j)))
		}
	}
	for _, tree := range []qr.Tree{qr.TreeFlat, qr.TreeGreedy} {
		f, err := la.NewQRWith[float64](nil, la.QROptions{TileSize: 5, Tree: tree})
		if err != nil {
			log.Fatal(err)
		}
		if err := f.Factorize(a); err != nil {
			log.Fatal(err)
		}
		flops := f.Flops()
		fmt.Printf("%v: %.1f times the standard\n", tree, flops.Performed/flops.Standard)
	}
	// Output:
	// flat: 1.0 times the standard
	// greedy: 1.1 times the standard
}
