#!/usr/bin/env bash
# gonum v0.17.0, amd64: Dgemv computes y = αAᵀx + βy as if β were 1 when β is NaN, for the transposed product in
# float64 alone. Without transposition, in float32 and in Dgemm the result is NaN, as one would expect: a NaN that
# an earlier step of a program has produced is lost here. The assembly asks whether β is 1 by a comparison that
# "unordered" answers like "equal".
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
	nan := math.NaN()
	for _, t := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		y := []float64{1, 1}
		b.Dgemv(t, 2, 2, 1, []float64{1, 2, 3, 4}, 2, []float64{1, 1}, 1, nan, y, 1)
		z := []float32{1, 1}
		b.Sgemv(t, 2, 2, 1, []float32{1, 2, 3, 4}, 2, []float32{1, 1}, 1, float32(nan), z, 1)
		c := []float64{1, 1}
		b.Dgemm(t, blas.NoTrans, 2, 1, 2, 1, []float64{1, 2, 3, 4}, 2, []float64{1, 1}, 1, nan, c, 1)
		fmt.Printf("%c: Dgemv %v, Sgemv %v, Dgemm %v\n", t, y, z, c)
	}
}
END
cat >expected <<'END'
N: Dgemv [NaN NaN], Sgemv [NaN NaN], Dgemm [NaN NaN]
T: Dgemv [5 7], Sgemv [NaN NaN], Dgemm [NaN NaN]
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
