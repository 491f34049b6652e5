#!/usr/bin/env bash
# gonum v0.17.0: a.Inverse(a) of an exactly singular matrix returns a mat.Condition of +Inf
# and leaves the LU factors in a. The matrix is lost; with another receiver it is kept. One
# would expect a failed call to leave its argument alone, or the documentation to warn.
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
	a := mat.NewDense(2, 2, []float64{1, 2, 2, 4})
	var other mat.Dense
	err := other.Inverse(a)
	fmt.Println(err, a.RawMatrix().Data)
	err = a.Inverse(a)
	fmt.Println(err, a.RawMatrix().Data)
}
END
cat >expected <<'END'
matrix singular or near-singular with condition number +Inf [1 2 2 4]
matrix singular or near-singular with condition number +Inf [2 4 0.5 0]
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
