package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"gonum.org/v1/gonum/blas"
)

// natives returns the implementations in assembly that this machine can run.
func natives[T Element](c Caches) map[string]*Packed[T] {
	ps := make(map[string]*Packed[T])
	for _, set := range native.Here() {
		ps[set.Name], _ = Native[T](set, c)
	}
	return ps
}

// everyPacked returns the portable implementation, as "go", and those in assembly that this machine can run.
func everyPacked[T Element]() map[string]*Packed[T] {
	ps := natives[T](Caches{})
	ps["go"] = Portable[T]()
	return ps
}

// TestGemmAlone: of an instruction set that has only micro-kernels for gemm, and the packing for
// these, the portable code does the rest.
func TestGemmAlone(t *testing.T) {
	for _, set := range native.Here() {
		least := &isa.Table{F32: gemmAlone(&set.F32), F64: gemmAlone(&set.F64)}
		t.Run(set.Name+"/float64", func(t *testing.T) { testGemmAlone[float64](t, least) })
		t.Run(set.Name+"/float32", func(t *testing.T) { testGemmAlone[float32](t, least) })
	}
}

func gemmAlone[T scalar.Real](k *isa.Kernels[T]) isa.Kernels[T] {
	return isa.Kernels[T]{Lanes: k.Lanes, Rows: k.Rows, Gemm: k.Gemm, PackRows: k.PackRows, PackTransposed: k.PackTransposed}
}

func testGemmAlone[T Element](t *testing.T, least *isa.Table) {
	p, ok := Native[T](least, Caches{})
	if !ok {
		t.Fatal("no routines")
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	same := func(what string, n int, x []T, run func(p *Packed[T], x []T)) {
		got, want := slices.Clone(x), slices.Clone(x)
		run(p, got)
		run(Portable[T](), want)
		if i := differ(got, want); i >= 0 {
			t.Errorf("%s of order %d: element %d is %v, want %v", what, n, i, got[i], want[i])
		}
	}
	for _, n := range []int{1, 5, 33, 70, 131} {
		a := triangleOf[T](rnd, blas.Lower, n, n)
		for i := range n {
			a[i*n+i] += 4
		}
		b, v := randomSlice[T](n*n), randomSlice[T](n)
		for i := range n {
			b[i*n+i] += 4
		}
		same("potrf", n, a, func(p *Packed[T], x []T) { p.Potrf(blas.Lower, n, x, n, dirty[T](p.Work(n))) })
		same("trsm", n, b, func(p *Packed[T], x []T) {
			p.Trsm(blas.Right, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, a, n, x, n, dirty[T](p.Work(n)))
		})
		same("gemv", n, v, func(p *Packed[T], x []T) { p.Gemv(blas.NoTrans, n, n, 1, b, n, v, 1, 1, x, 1) })
		same("symv", n, v, func(p *Packed[T], x []T) { p.Symv(blas.Lower, n, 1, a, n, v, x) })
		same("getrf", n, b, func(p *Packed[T], x []T) {
			l := NewLU[T](p, Caches{})
			l.Getrf(n, []Block[T]{{Rows: n, Stride: n, Data: x}}, make([]int, n), dirty[T](l.Work(n, n)))
		})
		same("geqrt", n, b, func(p *Packed[T], x []T) {
			const ib = 8
			q := NewQR[T](p)
			q.Geqrt(n, n, ib, x, n, make([]T, ib*n), n, dirty[T](q.Work(n, n, ib)))
		})
	}
}
