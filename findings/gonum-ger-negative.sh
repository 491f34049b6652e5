#!/usr/bin/env bash
# gonum v0.17.0, amd64: Dger and Sger compute A += αxyᵀ with elements from outside x or y if their increment is
# negative. With increment −1, x is its elements in reverse order; the assembly reads other memory instead. Here x is in
# the middle of a slice of 100s. Built with the tag noasm, the result is right.
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

	"gonum.org/v1/gonum/blas/gonum"
)

func main() {
	var b gonum.Implementation
	around := make([]float64, 1000)
	for i := range around {
		around[i] = 100
	}
	x := around[500:502]
	x[0], x[1] = 1, 2
	a := make([]float64, 4)
	b.Dger(2, 2, 1, x, -1, []float64{1, 1}, 1, a, 2)
	fmt.Println(a)
}
END
cat >expected <<'END'
[100 100 100 100]
END
cat >right <<'END'
[2 2 1 1]
END
GOFLAGS=-mod=mod GOWORK=off go run -tags noasm . >portable
diff portable right >/dev/null || { echo "changed: noasm prints $(cat portable)"; exit 1; }
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
