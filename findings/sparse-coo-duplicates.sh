#!/usr/bin/env bash
# github.com/james-bowman/sparse of 2026-02-16: converting COO to CSR adds up the entries of
# one place, as finite-element assembly needs it, except those of the first stored column of
# a row. These stay apart, and then the methods of one matrix disagree about its value: At
# finds one of them, ToDense another sum, and only some products add up all. One would
# expect the same value of everybody.
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

func main() {
	coo := sparse.NewCOO(1, 2, nil, nil, nil)
	for range 3 {
		coo.Set(0, 0, 2) // 2 + 2 + 2
	}
	for range 3 {
		coo.Set(0, 1, 2)
	}
	a := coo.ToCSR()
	e := mat.NewDense(2, 1, []float64{1, 0})
	var product mat.Dense
	product.Mul(a, e)
	y := make([]float64, 1)
	a.MulVecTo(y, false, []float64{1, 0})
	fmt.Println("entries stored (two places):", a.NNZ())
	fmt.Println("COO.At, and the sum:", coo.At(0, 0), 6)
	fmt.Println("CSR.At:", a.At(0, 0), a.At(0, 1))
	fmt.Println("CSR.ToDense:", a.ToDense().At(0, 0), a.ToDense().At(0, 1))
	fmt.Println("first column by mat.Dense.Mul:", product.At(0, 0))
	fmt.Println("first column by CSR.MulVecTo:", y[0])
}
END
cat >expected <<'END'
entries stored (two places): 3
COO.At, and the sum: 6 6
CSR.At: 2 6
CSR.ToDense: 4 6
first column by mat.Dense.Mul: 2
first column by CSR.MulVecTo: 6
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
