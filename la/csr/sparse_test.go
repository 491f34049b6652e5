package csr_test

import (
	"testing"

	"github.com/james-bowman/sparse"
	"github.com/tessera-la/tessera/la/csr"
	"gonum.org/v1/gonum/mat"
)

// mended is what a test says if package sparse has mended what From and Cholesky tell their users to keep away from.
const mended = "package sparse is right here: take the sentence about it out of the documentation"

// TestDIAProduct: From makes matrices of two DIA whose sparse product is right. That of the DIA themselves is not.
func TestDIAProduct(t *testing.T) {
	rt := start(t, 1)
	a, b := sparse.NewDIA(3, 3, []float64{1, 2, 3}), sparse.NewDIA(3, 3, []float64{10, 20, 30})
	x, err := csr.From(rt, a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := csr.From(rt, b)
	if err != nil {
		t.Fatal(err)
	}
	var want mat.Dense
	want.Mul(a, b)
	var got, wrong sparse.CSR
	got.Mul(x.CSR(), y.CSR())
	wrong.Mul(a, b)
	if !mat.Equal(&got, &want) {
		t.Errorf("the product is\n%v, want\n%v", mat.Formatted(&got), mat.Formatted(&want))
	}
	if mat.Equal(&wrong, &want) {
		t.Error(mended)
	}
}

// TestCholeskyOther: a Cholesky that has factored another matrix of the same pattern solves with the new one. That of
// package sparse solves with parts of both.
func TestCholeskyOther(t *testing.T) {
	rt := start(t, 1)
	var f csr.Cholesky[float64]
	var other sparse.Cholesky
	solution := mat.NewVecDense(2, nil)
	for _, c := range []struct{ v, b0, b1 float64 }{{2, 6, 7}, {-2, 2, 3}} { // A·(1, 1) = b
		a := sparse.NewCSR(2, 2, []int{0, 2, 4}, []int{0, 1, 0, 1}, []float64{4, c.v, c.v, 5})
		m, err := csr.New(rt, a)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Factorize(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		x := []float64{0, 0}
		if err := f.SolveVecTo(t.Context(), x, []float64{c.b0, c.b1}); err != nil {
			t.Fatal(err)
		}
		if !mat.EqualApprox(mat.NewVecDense(2, x), mat.NewVecDense(2, []float64{1, 1}), 1e-14) {
			t.Errorf("solution %v, want 1 and 1", x)
		}
		other.Factorize(a)
		if err := other.SolveVecTo(solution, mat.NewVecDense(2, []float64{c.b0, c.b1})); err != nil {
			t.Fatal(err)
		}
	}
	if solution.AtVec(0) == 1 && solution.AtVec(1) == 1 {
		t.Error(mended)
	}
}
