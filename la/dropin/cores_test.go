package dropin_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
)

// TestCores: the bits of what memory bounds do not depend on the number of cores.
func TestCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var b dropin.BLAS
	const n = 700 // rounded down to a multiple of 8, its half is none of 16, the step of the kernels in float32
	a64, a32 := random(n*n), make([]float32, n*n)
	for i, v := range a64 {
		a32[i] = float32(v)
	}
	results := func() map[string][]float64 {
		all := map[string][]float64{}
		add := func(what string, f func(x []float64), g func(x []float32)) {
			x := slices.Clone(a64)
			f(x)
			all[what] = x
			y := slices.Clone(a32)
			g(y)
			wide := make([]float64, n*n)
			for i, v := range y {
				wide[i] = float64(v)
			}
			all[what+" in float32"] = wide
		}
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			add(fmt.Sprintf("gemv %c", tA),
				func(x []float64) { b.Dgemv(tA, n, n, 2, a64, n, a64, 1, 1, x, 1) },
				func(x []float32) { b.Sgemv(tA, n, n, 2, a32, n, a32, 1, 1, x, 1) })
			for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
				add(fmt.Sprintf("trmv %c %c", uplo, tA),
					func(x []float64) { b.Dtrmv(uplo, tA, blas.Unit, n, a64, n, x, 1) },
					func(x []float32) { b.Strmv(uplo, tA, blas.Unit, n, a32, n, x, 1) })
			}
		}
		for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
			add(fmt.Sprintf("symv %c", uplo),
				func(x []float64) { b.Dsymv(uplo, n, 2, a64, n, a64, 1, 1, x, 1) },
				func(x []float32) { b.Ssymv(uplo, n, 2, a32, n, a32, 1, 1, x, 1) })
			add(fmt.Sprintf("syr %c", uplo),
				func(x []float64) { b.Dsyr(uplo, n, 2, a64, 1, x, n) },
				func(x []float32) { b.Ssyr(uplo, n, 2, a32, 1, x, n) })
		}
		add("ger",
			func(x []float64) { b.Dger(n, n, 2, a64, 1, a64, 1, x, n) },
			func(x []float32) { b.Sger(n, n, 2, a32, 1, a32, 1, x, n) })
		add("dot",
			func(x []float64) { x[0] = b.Ddot(n*n, a64, 1, a64, 1) },
			func(x []float32) { x[0] = b.Sdot(n*n, a32, 1, a32, 1) })
		return all
	}
	one := results()
	for cores := 2; cores <= 4; cores++ {
		runtime.GOMAXPROCS(cores)
		for what, got := range results() {
			if !slices.Equal(got, one[what]) {
				t.Errorf("%s: %d cores have other bits than one", what, cores)
			}
		}
	}
}
