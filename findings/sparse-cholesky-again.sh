#!/usr/bin/env bash
# github.com/james-bowman/sparse of 2026-02-16: a Cholesky value that is factored anew, as in
# a Newton loop that keeps it, solves with the new factor in the forward substitution and
# with the first one in the back substitution. A right side that is a transposed view gives
# zeros. The returned error is nil in every case.
set -euo pipefail
export -n GOFLAGS
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'END'
module finding

go 1.26

require (
	github.com/james-bowman/sparse v0.0.0-20260216202247-495ee4f84d35
	gonum.org/v1/gonum v0.17.0
)
END
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"
)

// tridiagonal returns (4 v; v 5).
func tridiagonal(v float64) *sparse.CSR {
	return sparse.NewCSR(2, 2, []int{0, 2, 4}, []int{0, 1, 0, 1}, []float64{4, v, v, 5})
}

func main() {
	var again, fresh sparse.Cholesky
	x := mat.NewVecDense(2, nil)
	again.Factorize(tridiagonal(2))
	err := again.SolveVecTo(x, mat.NewVecDense(2, []float64{6, 7}))
	fmt.Println("first matrix, should be 1 1:", x.AtVec(0), x.AtVec(1), err)

	again.Factorize(tridiagonal(-2))
	err = again.SolveVecTo(x, mat.NewVecDense(2, []float64{2, 3}))
	fmt.Println("second matrix, should be 1 1:", x.AtVec(0), x.AtVec(1), err)
	fresh.Factorize(tridiagonal(-2))
	err = fresh.SolveVecTo(x, mat.NewVecDense(2, []float64{2, 3}))
	fmt.Println("the same with a new Cholesky:", x.AtVec(0), x.AtVec(1), err)

	b, sol := mat.NewDense(1, 2, []float64{2, 3}), mat.NewDense(2, 1, nil)
	err = fresh.SolveTo(sol, b.T())
	fmt.Println("right side as a transposed view:", sol.At(0, 0), sol.At(1, 0), err)
}
END
cat >expected <<'END'
first matrix, should be 1 1: 1 1 <nil>
second matrix, should be 1 1: 0 1 <nil>
the same with a new Cholesky: 1 1 <nil>
right side as a transposed view: 0 0 <nil>
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
