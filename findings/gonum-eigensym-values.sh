#!/usr/bin/env bash
# gonum v0.17.0: eigenvalues alone cannot be had of a symmetric matrix that falls into blocks of which one
# has tiny elements, of order 2 or more, though they can be had together with vectors. Dsterf scales such a
# block by Dlascl as if it were stored by columns, with the order as leading dimension; for rows that asks
# for more elements than there are, and Dlascl raises an error about the length of a slice. Dsteqr,
# which finds the vectors as well, passes 1. One would expect the same values either way.
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

func values(vectors bool) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint("error raised: ", r)
		}
	}()
	a := mat.NewSymDense(3, []float64{
		1, 0, 0,
		0, 2e-200, 1e-200,
		0, 1e-200, 2e-200,
	})
	var c mat.EigenSym
	ok := c.Factorize(a, vectors)
	return fmt.Sprintf("%t %.4g", ok, c.Values(nil))
}

func main() {
	fmt.Println("with vectors:", values(true))
	fmt.Println("values alone:", values(false))
}
END
cat >expected <<'END'
with vectors: true [1e-200 3e-200 1]
values alone: error raised: lapack: insufficient length of a
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
