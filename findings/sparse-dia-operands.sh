#!/usr/bin/env bash
# github.com/james-bowman/sparse of 2026-02-16: sums, differences and products of two
# diagonal matrices (DIA) take the first operand for both. diag(1, 2)·diag(10, 20) is
# diag(1, 4) there. With one of the two as CSR the result is right.
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
)

func main() {
	a := sparse.NewDIA(2, 2, []float64{1, 2})
	b := sparse.NewDIA(2, 2, []float64{10, 20})
	c := sparse.NewCSR(2, 2, []int{0, 1, 2}, []int{0, 1}, []float64{10, 20})
	var product, sum, difference, other sparse.CSR
	product.Mul(a, b)
	sum.Add(a, b)
	difference.Sub(a, b)
	other.Mul(a, c)
	fmt.Println("product, should be 10 40:", product.At(0, 0), product.At(1, 1))
	fmt.Println("sum, should be 11 22:", sum.At(0, 0), sum.At(1, 1))
	fmt.Println("difference, should be -9 -18:", difference.At(0, 0), difference.At(1, 1))
	fmt.Println("product with CSR:", other.At(0, 0), other.At(1, 1))
}
END
cat >expected <<'END'
product, should be 10 40: 1 4
sum, should be 11 22: 2 4
difference, should be -9 -18: 0 0
product with CSR: 10 40
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
