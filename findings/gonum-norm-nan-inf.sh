#!/usr/bin/env bash
# gonum v0.17.0: mat.Norm of the same numbers depends on the type that holds them. With a
# NaN and an infinity the 1- and ∞-norms of a Dense are +Inf, as the larger sum hides the
# NaN; those of a SymDense are NaN. LAPACK has returned NaN since 3.4.2.
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
	data := []float64{math.NaN(), 1, 1, math.Inf(1)}
	dense, sym := mat.NewDense(2, 2, data), mat.NewSymDense(2, data)
	for _, p := range []float64{1, 2, math.Inf(1)} {
		fmt.Println("norm", p, "Dense", mat.Norm(dense, p), "SymDense", mat.Norm(sym, p))
	}
}
END
cat >expected <<'END'
norm 1 Dense +Inf SymDense NaN
norm 2 Dense NaN SymDense NaN
norm +Inf Dense +Inf SymDense NaN
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
