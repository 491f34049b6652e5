package cpu

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/avx2"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"gonum.org/v1/gonum/blas"
)

// Caches are the sizes of one core's caches in bytes, zero where unknown. What
// several cores share counts in full.
type Caches struct {
	L1, L2, L3 int64
}

// Native returns the routines around the micro-kernels of an instruction set, with blocks that
// fit the caches. It returns false if this build has none; whether the processor can run them is
// for the caller to know.
func Native[T Element](set *isa.Table, c Caches) (p *Packed[T], ok bool) {
	k := isa.Of[T](set)
	if k.Gemm == nil {
		return nil, false
	}
	mr, nr := k.Rows, isa.RowVectors*k.Lanes
	p = &Packed[T]{
		MR: mr, NR: nr,
		Leaf:    Portable[T]().Leaf,
		Pack:    pack[T],
		kernels: k,
		leaves:  leavesOf(k),
		vectors: vectors[T]{Kernels: k, lanes: k.Lanes, packA: k.PackA},
	}
	if p.leaves.set() {
		p.Leaf = 512
	}
	p.Micro = func(k int, a, b, c []T, ldc int) {
		p.vectors.run(strip[T]{m: mr, n: nr, k: k, alpha: 1, beta: 1, a: a, rs: 1, cs: mr, ps: mr * k, b: b, ldb: nr, padded: true, c: c, ldc: ldc, uplo: blas.All})
	}
	p.blocks(c)
	return p, true
}

// AVX512 is [Native] in AVX-512F, and of AVX-512 nothing else.
func AVX512[T Element](c Caches) (p *Packed[T], ok bool) {
	for _, set := range native.Sets() {
		if set.Name == "avx512" {
			return Native[T](set, c)
		}
	}
	return nil, false
}

// Fastest returns the routines in the preferred instruction set of this processor, or the portable
// ones.
func Fastest[T Element](c Caches) *Packed[T] {
	if p, ok := Native[T](native.Best(), c); ok {
		return p
	}
	return Portable[T]()
}

// kernelsOf returns the kernels of the instruction set that r is in, or those of none.
func kernelsOf[T Element](r Routines[T]) *isa.Kernels[T] {
	if p, ok := r.(*Packed[T]); ok && p.kernels != nil {
		return p.kernels
	}
	return new(isa.Kernels[T])
}

// WhyNoAssembly returns the reason why this build has neither [AVX512] nor
// [AVX2], or "" if it has.
func WhyNoAssembly() string { return avx2.Table().Missing() }

// blocks sets the sizes of the blocks:
//
//   - a strip of B, KC×NR, is one and a half times the first-level cache, or
//     larger so that KC is 384: it comes from the second again and again,
//     which costs nothing, and C is read and written less often;
//   - a block of A, MC×KC, takes a quarter of the second-level cache, but three
//     eighths if it is all of A: smaller ones have to be left and come back to
//     more often, larger ones do not stay while B and C pass through;
//   - a block of B, KC×NC, is for the third-level cache, which several cores
//     share, and as large as makes the packing of A cheap.
//
// docs/internals/kernels-gemm.md has the measurements.
func (p *Packed[T]) blocks(c Caches) {
	if c.L1 <= 0 {
		c.L1 = 32 << 10
	}
	if c.L2 <= 0 {
		c.L2 = 256 << 10
	}
	size := scalar.Size[T]()
	l1, l2 := int(min(c.L1, 1<<20))/size, int(min(c.L2, 1<<25))/size
	v := &p.vectors
	p.KC = max(384, min(512, l1*3/2/p.NR/8*8))
	p.MC = max(64, min(1024, l2/4/p.KC)) / p.MR * p.MR
	p.NC = 4096 / p.NR * p.NR
	v.near, v.spanA, v.spanB, v.all = l2*3/8, l2*3/4, l2/16, l2*9/8
	v.narrow = 96
}
