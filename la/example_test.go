package la_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

func ExampleMul() {
	a := mat.NewDense(2, 3, []float64{
		1, 2, 3,
		4, 5, 6,
	})
	var c mat.Dense // takes the shape of the product
	if err := la.Mul[float64](&c, a, a.T()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(&c))
	// Output:
	// ⎡14  32⎤
	// ⎣32  77⎦
}

func ExampleMulVec() {
	a := mat.NewDense(2, 3, []float64{
		1, 2, 3,
		4, 5, 6,
	})
	var y mat.VecDense
	if err := la.MulVec(&y, a, mat.NewVecDense(3, []float64{1, 0, -1})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.AtVec(0), y.AtVec(1))
	// Output: -2 -2
}

func ExampleGemm() {
	// float32, in memory of our own: C = 2·Aᵀ·B − C.
	a := la.General[float32]{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	b := la.General[float32]{Rows: 2, Cols: 1, Stride: 1, Data: []float32{1, 1}}
	c := la.General[float32]{Rows: 2, Cols: 1, Stride: 1, Data: []float32{1, 2}}
	if err := la.Gemm(context.Background(), nil, blas.Trans, blas.NoTrans, 2, a, b, -1, c); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [7 10]
}

func ExampleSyrk() {
	a := mat.NewDense(3, 2, []float64{
		1, 0,
		2, 1,
		0, 3,
	})
	var c mat.SymDense
	if err := la.Syrk[float64](context.Background(), nil, blas.Trans, 1, a, 0, &c); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(&c))
	// Output:
	// ⎡ 5   2⎤
	// ⎣ 2  10⎦
}

func ExampleTrsm() {
	l := mat.NewTriDense(2, mat.Lower, []float64{
		2, 0,
		1, 4,
	})
	b := mat.NewDense(2, 1, []float64{2, 9})
	if err := la.Trsm[float64](context.Background(), nil, blas.Left, blas.NoTrans, 1, l, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.At(0, 0), b.At(1, 0))
	// Output: 1 2
}

func ExampleCholesky() {
	a := mat.NewSymDense(3, []float64{
		4, 12, -16,
		12, 37, -43,
		-16, -43, 98,
	})
	var chol la.Cholesky[float64]
	if err := chol.Factorize(a); err != nil {
		log.Fatal(err)
	}
	var l mat.TriDense
	chol.LTo(&l)
	fmt.Println(mat.Formatted(&l))
	fmt.Printf("determinant %.4f\n", chol.Det())

	var x mat.VecDense
	if err := chol.SolveVecTo(&x, mat.NewVecDense(3, []float64{0, 6, 39})); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("solution %.4f\n", x.RawVector().Data)
	// Output:
	// ⎡ 2   0   0⎤
	// ⎢ 6   1   0⎥
	// ⎣-8   5   3⎦
	// determinant 36.0000
	// solution [1.0000 1.0000 1.0000]
}

func ExampleCholesky_Factorize_notPositiveDefinite() {
	a := mat.NewSymDense(3, []float64{
		1, 2, 0,
		2, 1, 0,
		0, 0, 1,
	})
	var chol la.Cholesky[float64]
	err := chol.Factorize(a)
	var npd *la.NotPositiveDefiniteError
	if errors.As(err, &npd) {
		fmt.Println("the leading minor of order", npd.Minor, "is not positive")
	}
	// Output: the leading minor of order 2 is not positive
}

func ExampleNewEngine() {
	// An engine keeps its workers from call to call. The tile size is small
	// for the example's sake: leave NB and Direct out.
	var recorder trace.Recorder
	e, err := la.NewEngine(la.Options{Workers: 2, NB: 2, Direct: -1, Deterministic: true, Trace: &recorder})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	a := mat.NewSymDense(6, nil)
	for i := range 6 {
		a.SetSym(i, i, float64(i+1))
	}
	chol := la.NewCholesky[float64](e)
	if err := chol.Factorize(a); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("determinant %.0f\n", chol.Det())
	for _, u := range recorder.Summary().Usage {
		fmt.Println(u.Op, u.Calls)
	}
	// Output:
	// determinant 720
	// gemm/f64 1
	// potrf/f64 3
	// syrk/f64 3
	// trsm/f64 3
}
