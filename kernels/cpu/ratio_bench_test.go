package cpu

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/topo"
	"gonum.org/v1/gonum/blas"
)

// BenchmarkRatio reports the best rate of each routine in assembly on tiles of
// the usual sizes, and its ratio to the FMA peak of the same instruction set
// measured just before and after.
func BenchmarkRatio(b *testing.B) {
	b.Run("f64", ratios[float64])
	b.Run("f32", ratios[float32])
}

func ratios[T Element](b *testing.B) {
	onNatives(b, func(b *testing.B, isa peak.ISA, p *Packed[T], _ Caches) {
		for _, n := range []int{64, 128, 192, 256, 320, 384, 512} {
			for _, c := range ratioCases(p, n) {
				b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) { ratio[T](b, isa, c) })
			}
		}
	})
}

// onNatives calls run for the routines of each instruction set that there are.
func onNatives[T Element](b *testing.B, run func(b *testing.B, isa peak.ISA, p *Packed[T], c Caches)) {
	m := topo.Detect()
	c := Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)}
	all := natives[T](c)
	for _, isa := range peak.Available() {
		if p := all[isa.String()]; p != nil {
			b.Run(isa.String(), func(b *testing.B) { run(b, isa, p, c) })
		}
	}
}

// ratioCase is one routine: prepare restores what run destroys.
type ratioCase struct {
	name         string
	flops        float64
	prepare, run func()
}

func ratioCases[T Element](p *Packed[T], n int) []ratioCase {
	a, x, c := randomSlice[T](n*n), randomSlice[T](n*n), make([]T, n*n)
	tri, spd := make([]T, n*n), make([]T, n*n)
	for i := range n {
		for j := range n {
			// A nearly unit triangle keeps X of one size, however many solves.
			tri[i*n+j] = a[i*n+j] / 1024
			spd[i*n+j] = a[i*n+j]
		}
		tri[i*n+i], spd[i*n+i] = 1, T(4*n)
	}
	line := 64 / int(unsafe.Sizeof(a[0]))
	work := make([]T, p.Work(n)+line)
	for uintptr(unsafe.Pointer(&work[0]))%64 != 0 {
		work = work[1:]
	}
	f := float64(n)
	nothing := func() {}
	potrf := func(uplo blas.Uplo) func() {
		return func() {
			if p.Potrf(uplo, n, c, n, work) != 0 {
				panic("not positive definite")
			}
		}
	}
	trsm := func(side blas.Side, uplo blas.Uplo, trans blas.Transpose) func() {
		return func() { p.Trsm(side, uplo, trans, blas.NonUnit, n, n, 1, tri, n, x, n, work) }
	}
	return []ratioCase{
		{"potrfU", f * f * f / 3, func() { copy(c, spd) }, potrf(blas.Upper)},
		{"potrfL", f * f * f / 3, func() { copy(c, spd) }, potrf(blas.Lower)},
		{"trsmLUT", f * f * f, nothing, trsm(blas.Left, blas.Upper, blas.Trans)},
		{"trsmLLN", f * f * f, nothing, trsm(blas.Left, blas.Lower, blas.NoTrans)},
		{"trsmRLT", f * f * f, nothing, trsm(blas.Right, blas.Lower, blas.Trans)},
		{"trsmRUN", f * f * f, nothing, trsm(blas.Right, blas.Upper, blas.NoTrans)},
		{"syrkUT", f * f * (f + 1), nothing, func() { p.Syrk(blas.Upper, blas.Trans, n, n, -1, a, n, 1, c, n, work) }},
		{"gemmTN", 2 * f * f * f, nothing, func() { p.Gemm(blas.Trans, blas.NoTrans, n, n, n, -1, a, n, x, n, 1, c, n, work) }},
	}
}

func ratio[T Element](b *testing.B, isa peak.ISA, c ratioCase) {
	fma := func() float64 {
		r, err := peak.FMA[T](context.Background(), peak.Options{Duration: 2 * time.Millisecond, Repeat: 8, Cores: 1, ISA: isa})
		if err != nil {
			b.Fatal(err)
		}
		return r.One
	}
	top := fma()
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		c.prepare()
		start := time.Now()
		c.run()
		best = min(best, time.Since(start))
	}
	top = max(top, fma())
	rate := c.flops / float64(best.Nanoseconds())
	b.ReportMetric(rate, "GFLOP/s")
	b.ReportMetric(rate/top, "of-peak")
	b.ReportMetric(0, "ns/op")
}
