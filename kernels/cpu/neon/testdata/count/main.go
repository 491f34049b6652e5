// Command count multiplies matrices, for count.sh to see how many instructions that takes.
package main

import (
	"os"
	"runtime/debug"
	"strconv"

	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// usage: count go|neon f64|f32 n times
func main() {
	debug.SetGCPercent(-1)
	n, _ := strconv.Atoi(os.Args[3])
	times, _ := strconv.Atoi(os.Args[4])
	if os.Args[2] == "f32" {
		multiply[float32](os.Args[1], n, times)
	} else {
		multiply[float64](os.Args[1], n, times)
	}
}

func multiply[T cpu.Element](version string, n, times int) {
	p := cpu.Portable[T]()
	if version == "neon" {
		p = cpu.Fastest[T](cpu.Caches{L1: 64 << 10, L2: 1 << 20, L3: 32 << 20}) // a Neoverse N1's
	}
	a, b, c, work := make([]T, n*n), make([]T, n*n), make([]T, n*n), make([]T, p.Work(n))
	for i := range a {
		a[i], b[i] = T(i%7), T(i%5)
	}
	for range times {
		p.Gemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, b, n, 0, c, n, work)
	}
}
