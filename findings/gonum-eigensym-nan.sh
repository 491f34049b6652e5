#!/usr/bin/env bash
# gonum v0.17.0: mat.EigenSym.Factorize reports success for a matrix with NaN of order 1 and
# 2, with NaN for values, and failure from order 3 on. A check of ok that was tested on a
# small example does not hold for others.
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

	"gonum.org/v1/gonum/mat"
)

func main() {
	for n := 1; n <= 4; n++ {
		a := mat.NewSymDense(n, nil)
		for i := range n {
			a.SetSym(i, i, 1)
		}
		a.SetSym(0, n-1, math.NaN())
		var e mat.EigenSym
		if e.Factorize(a, true) {
			fmt.Println("order", n, "ok", e.Values(nil))
		} else {
			fmt.Println("order", n, "failed")
		}
	}
}
END
cat >expected <<'END'
order 1 ok [NaN]
order 2 ok [NaN NaN]
order 3 failed
order 4 failed
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
