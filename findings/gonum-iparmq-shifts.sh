#!/usr/bin/env bash
# gonum v0.17.0: the QR iteration of mat.Eigen always has 4 shifts from order 30 on, where LAPACK has 10 from 60, 64 from
# 590. The cases of Iparmq begin with nh >= 30, so that no later one is reached. With so few shifts Dlaqr5 does not
# accumulate reflections either (ispec 16), and works on rows and columns of the whole matrix one by one: the
# iteration has next to no products of matrices, and a faster Dgemm does not help it.
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

	"gonum.org/v1/gonum/lapack/gonum"
)

func main() {
	var l gonum.Implementation
	for _, n := range []int{29, 30, 60, 150, 590, 3000, 6000} {
		fmt.Println("order", n, "shifts", l.Iparmq(15, "DHSEQR", "SV", n, 0, n-1, n), "accumulate", l.Iparmq(16, "DHSEQR", "SV", n, 0, n-1, n))
	}
}
END
cat >expected <<'END'
order 29 shifts 2 accumulate 0
order 30 shifts 4 accumulate 0
order 60 shifts 4 accumulate 0
order 150 shifts 4 accumulate 0
order 590 shifts 4 accumulate 0
order 3000 shifts 4 accumulate 0
order 6000 shifts 4 accumulate 0
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
