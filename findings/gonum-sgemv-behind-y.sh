#!/usr/bin/env bash
# gonum v0.17.0: y = alpha·Aᵀ·x in float32 has n elements. Where the slice y is longer, as a row of a
# matrix is that is followed by others, Sgemv with Trans, beta = 0 and incY = 1 sets all that
# follows to zero. Dgemv does not, nor Sgemv with NoTrans or another beta.
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

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

func main() {
	var b gonum.Implementation
	one, a := []float32{1, 1}, []float32{1, 0, 0, 1}
	for _, beta := range []float32{0, 1} {
		for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			y := []float32{1, 1, 7, 8}
			b.Sgemv(trans, 2, 2, 1, a, 2, one, 1, beta, y, 1)
			fmt.Printf("Sgemv %c beta %v: %v\n", trans, beta, y)
		}
	}
	y := []float64{1, 1, 7, 8}
	b.Dgemv(blas.Trans, 2, 2, 1, []float64{1, 0, 0, 1}, 2, []float64{1, 1}, 1, 0, y, 1)
	fmt.Println("Dgemv T beta 0:", y)
}
END
cat >expected <<'END'
Sgemv N beta 0: [1 1 7 8]
Sgemv T beta 0: [1 1 0 0]
Sgemv N beta 1: [2 2 7 8]
Sgemv T beta 1: [2 2 7 8]
Dgemv T beta 0: [1 1 7 8]
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
