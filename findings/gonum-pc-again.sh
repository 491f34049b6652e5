#!/usr/bin/env bash
# gonum v0.17.0: a stat.PC that has analysed weighted observations, and then analyses others without weights,
# returns negative variances, with ok = true. It keeps the slice of weights and shortens it to length 0, and
# VarsTo asks whether that slice is nil: so the sum of the weights is 0, and the divisor 0 − 1. One would
# expect what a new stat.PC returns for the same observations.
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
	"gonum.org/v1/gonum/stat"
)

func main() {
	a := mat.NewDense(4, 2, []float64{
		1, 2,
		2, 3,
		3, 5,
		4, 4,
	})
	var first, again stat.PC
	ok := first.PrincipalComponents(a, nil)
	fmt.Printf("a new one:         %t %.4f\n", ok, first.VarsTo(nil))
	again.PrincipalComponents(a, []float64{1, 1, 1, 2})
	ok = again.PrincipalComponents(a, nil)
	fmt.Printf("used with weights: %t %.4f\n", ok, again.VarsTo(nil))
}
END
cat >expected <<'END'
a new one:         true [3.0000 0.3333]
used with weights: true [-9.0000 -1.0000]
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
