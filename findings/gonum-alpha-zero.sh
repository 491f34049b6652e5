#!/usr/bin/env bash
# gonum v0.17.0: with alpha = 0 reference BLAS does not read A and B. gonum agrees in Dgemv,
# Dsyrk and Dsymm, and in Dgemm with beta = 1. With another beta its Dgemm multiplies by
# alpha, so a NaN in A that nobody asked for is in the result.
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
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

func main() {
	var b gonum.Implementation
	nan := []float64{math.NaN()}
	one := []float64{1}
	for _, beta := range []float64{1, 2} {
		gemm, gemv, syrk, symm := []float64{1}, []float64{1}, []float64{1}, []float64{1}
		b.Dgemm(blas.NoTrans, blas.NoTrans, 1, 1, 1, 0, nan, 1, one, 1, beta, gemm, 1)
		b.Dgemv(blas.NoTrans, 1, 1, 0, nan, 1, one, 1, beta, gemv, 1)
		b.Dsyrk(blas.Upper, blas.NoTrans, 1, 1, 0, nan, 1, beta, syrk, 1)
		b.Dsymm(blas.Left, blas.Upper, 1, 1, 0, nan, 1, one, 1, beta, symm, 1)
		fmt.Println("beta", beta, "gemm", gemm[0], "gemv", gemv[0], "syrk", syrk[0], "symm", symm[0])
	}
}
END
cat >expected <<'END'
beta 1 gemm 1 gemv 1 syrk 1 symm 1
beta 2 gemm NaN gemv 2 syrk 2 symm 2
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
