package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"gonum.org/v1/gonum/blas"
)

// bench runs f on every implementation for the tile sizes that the runtime
// uses and for shapes that are not square tiles.
func bench[T Element](b *testing.B, f func(b *testing.B, r Routines[T], m, n, k int)) {
	type named struct {
		name string
		r    Routines[T]
	}
	rs := []named{{"go", Portable[T]()}}
	m := topo.Detect()
	assembly := natives[T](Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)})
	for _, set := range slices.Backward(native.Here()) {
		rs = append(rs, named{set.Name, assembly[set.Name]})
	}
	if r, ok := BLAS[T](); ok {
		SetBLASThreads(1)
		info, _ := BLASLibrary()
		split, _ := BLASSplit[T]()
		// The core is part of the name: figures of another one do not compare.
		name := info.Name + info.Core
		rs = append(rs, named{name, r}, named{name + "-split", split})
	}
	for _, v := range rs {
		for _, s := range [][3]int{
			{8, 8, 8}, {16, 16, 16}, {32, 32, 32}, {64, 64, 64}, // small
			{128, 128, 128}, {192, 192, 192}, {256, 256, 256}, {320, 320, 320}, {384, 384, 384}, {512, 512, 512}, // square
			{251, 251, 251},                                            // ragged
			{256, 1, 256}, {256, 8, 256}, {8, 256, 256}, {256, 256, 8}, // thin
		} {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", v.name, s[0], s[1], s[2]), func(b *testing.B) { f(b, v.r, s[0], s[1], s[2]) })
		}
	}
}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(0, "ns/op")
}

func randomSlice[T Element](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rand.NormFloat64())
	}
	return x
}

func benchGemm[T Element](b *testing.B, r Routines[T], m, n, k int) {
	x, y, c := randomSlice[T](m*k), randomSlice[T](k*n), randomSlice[T](m*n)
	work := make([]T, r.Work(max(m, n, k)))
	for b.Loop() {
		r.Gemm(blas.NoTrans, blas.NoTrans, m, n, k, -1, x, k, y, n, 1, c, n, work)
	}
	gflops(b, 2*float64(m)*float64(n)*float64(k))
}

func benchGemmNT[T Element](b *testing.B, r Routines[T], m, n, k int) {
	x, y, c := randomSlice[T](m*k), randomSlice[T](k*n), randomSlice[T](m*n)
	work := make([]T, r.Work(max(m, n, k)))
	for b.Loop() {
		r.Gemm(blas.NoTrans, blas.Trans, m, n, k, -1, x, k, y, k, 1, c, n, work)
	}
	gflops(b, 2*float64(m)*float64(n)*float64(k))
}

func benchSyrk[T Element](b *testing.B, r Routines[T], m, n, k int) {
	x, c := randomSlice[T](n*k), randomSlice[T](n*n)
	work := make([]T, r.Work(max(n, k)))
	for b.Loop() {
		r.Syrk(blas.Lower, blas.NoTrans, n, k, -1, x, k, 1, c, n, work)
	}
	gflops(b, float64(n)*float64(n+1)*float64(k))
}

func benchTrsm[T Element](b *testing.B, r Routines[T], m, n, _ int) {
	a, x := randomSlice[T](n*n), randomSlice[T](m*n)
	// A nearly unit triangle keeps B of one size, whatever the number of
	// solves.
	for i := range a {
		a[i] *= 1e-3
	}
	for i := range n {
		a[i*n+i] = 1
	}
	work := make([]T, r.Work(max(m, n)))
	for b.Loop() {
		r.Trsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, m, n, 1, a, n, x, n, work)
	}
	gflops(b, float64(m)*float64(n)*float64(n))
}

func benchPotrf[T Element](b *testing.B, r Routines[T], _, n, _ int) {
	spd, a := make([]T, n*n), make([]T, n*n)
	for i := range n {
		for j := range i {
			spd[i*n+j] = T(rand.NormFloat64())
		}
		spd[i*n+i] = T(4 * n)
	}
	work := make([]T, r.Work(n))
	for b.Loop() {
		copy(a, spd)
		if r.Potrf(blas.Lower, n, a, n, work) != 0 {
			b.Fatal("not positive definite")
		}
	}
	gflops(b, float64(n)*float64(n)*float64(n)/3)
}

func BenchmarkDgemm(b *testing.B)   { bench(b, benchGemm[float64]) }
func BenchmarkDgemmNT(b *testing.B) { bench(b, benchGemmNT[float64]) }
func BenchmarkDsyrk(b *testing.B)   { bench(b, benchSyrk[float64]) }
func BenchmarkDtrsm(b *testing.B)   { bench(b, benchTrsm[float64]) }
func BenchmarkDpotrf(b *testing.B)  { bench(b, benchPotrf[float64]) }
func BenchmarkSgemm(b *testing.B)   { bench(b, benchGemm[float32]) }
func BenchmarkSsyrk(b *testing.B)   { bench(b, benchSyrk[float32]) }
func BenchmarkStrsm(b *testing.B)   { bench(b, benchTrsm[float32]) }
func BenchmarkSpotrf(b *testing.B)  { bench(b, benchPotrf[float32]) }
