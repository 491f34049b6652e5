package krylov_test

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
)

// An operator without a matrix: −u″ on a line by differences, with u = 0 at both ends.
func ExampleFunc() {
	const n = 50
	laplace := krylov.Func{M: n, N: n, Mul: func(_ context.Context, dst, x []float64) error {
		for i := range dst {
			dst[i] = 2 * x[i]
			if i > 0 {
				dst[i] -= x[i-1]
			}
			if i+1 < n {
				dst[i] -= x[i+1]
			}
		}
		return nil
	}}
	x, b := make([]float64, n), make([]float64, n)
	for i := range b {
		b[i] = 1
	}
	result, err := krylov.CG(context.Background(), laplace, x, b, krylov.CGOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// By the symmetry of b half of the directions suffice.
	fmt.Printf("%d iterations, x₀ = %.3f, x₂₄ = %.3f\n", result.Iterations, x[0], x[24])
	// Output: 25 iterations, x₀ = 25.000, x₂₄ = 325.000
}

// A matrix that is not symmetric, with an incomplete factorization.
func ExampleGMRES() {
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()
	const side = 30 // −Δu + wind·∂u/∂x on a square
	var is, js []int
	var vs []float64
	add := func(i, j int, v float64) { is, js, vs = append(is, i), append(js, j), append(vs, v) }
	for i := range side * side {
		add(i, i, 4)
		if i%side > 0 {
			add(i, i-1, -1.4)
		}
		if i%side < side-1 {
			add(i, i+1, -0.6)
		}
		if i >= side {
			add(i, i-side, -1)
		}
		if i < side*(side-1) {
			add(i, i+side, -1)
		}
	}
	a, err := csr.FromCOO(rt, side*side, side*side, is, js, vs)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := csr.NewILU(a, csr.ILUOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, b := context.Background(), make([]float64, side*side)
	for i := range b {
		b[i] = 1
	}
	plain, err := krylov.GMRES(ctx, a, make([]float64, len(b)), b, krylov.GMRESOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	with, err := krylov.GMRES(ctx, a, make([]float64, len(b)), b, krylov.GMRESOptions{Preconditioner: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a third of the iterations:", with.Iterations <= plain.Iterations/3)
	// Output: a third of the iterations: true
}

// A symmetric matrix with eigenvalues on both sides of zero.
func ExampleMINRES() {
	signs := krylov.Func{M: 4, N: 4, Mul: func(_ context.Context, dst, x []float64) error {
		for i, d := range []float64{1, -2, 3, -4} {
			dst[i] = d * x[i]
		}
		return nil
	}}
	x := make([]float64, 4)
	result, err := krylov.MINRES(context.Background(), signs, x, []float64{1, 2, 3, 4}, krylov.MINRESOptions{})
	fmt.Printf("%.3f after %d iterations: %v, %v\n", x, result.Iterations, result.Stop, err)
	// Output: [1.000 -1.000 1.000 -1.000] after 4 iterations: A·x = b within the tolerances, <nil>
}
