#!/usr/bin/env bash
# gonum v0.17.0: the condition number of a mat.BandCholesky is wrong, and can be less than 1. Factorize takes the norm
# of the matrix after the factor has overwritten it, so Cond is that of the factor's elements, read as a symmetric
# matrix, times the norm of the inverse. For c·I it is 1/√c, where mat.Cholesky has 1. SolveTo decides by that number
# whether to return a mat.Condition: for 1e-34·I, whose solutions have all their digits, it
# is 1e17, and SolveTo returns an error.
set -euo pipefail
export -n GOFLAGS
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'END'
module finding

go 1.26

require (
	gonum.org/v1/gonum v0.17.0
)
END
cat >main.go <<'END'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

func main() {
	for _, c := range []float64{1, 100, 1e-4, 1e-34} {
		const n = 4
		band, dense := mat.NewSymBandDense(n, 1, nil), mat.NewSymDense(n, nil)
		for i := range n {
			band.SetSymBand(i, i, c)
			dense.SetSym(i, i, c)
		}
		var b mat.BandCholesky
		var d mat.Cholesky
		fmt.Printf("%g·I: %t %t, condition as a band %.3g, as a dense matrix %.3g", c, b.Factorize(band), d.Factorize(dense), b.Cond(), d.Cond())
		var x mat.Dense
		fmt.Printf("; error of SolveTo: %v\n", b.SolveTo(&x, mat.NewDense(n, 1, []float64{1, 1, 1, 1})))
	}
}
END
cat >expected <<'END'
1·I: true true, condition as a band 1, as a dense matrix 1; error of SolveTo: <nil>
100·I: true true, condition as a band 0.1, as a dense matrix 1; error of SolveTo: <nil>
0.0001·I: true true, condition as a band 100, as a dense matrix 1; error of SolveTo: <nil>
1e-34·I: true true, condition as a band 1e+17, as a dense matrix 1; error of SolveTo: matrix singular or near-singular with condition number 1.0000e+17
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
