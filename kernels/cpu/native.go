package cpu

import (
	"runtime"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu/internal/asm"
	"gonum.org/v1/gonum/blas"
)

// Caches are the sizes of one core's caches in bytes, zero where unknown. What
// several cores share counts in full.
type Caches struct {
	L1, L2, L3 int64
}

// AVX512 returns the routines around micro-kernels in AVX-512F, and of AVX-512
// nothing else, with blocks that fit the caches. It returns false if this
// build has none; whether the processor can run them is for the caller to
// know.
func AVX512[T Element](c Caches) (p *Packed[T], ok bool) {
	if !asm.HasAVX512() {
		return nil, false
	}
	switch p := any(&p).(type) {
	case **Packed[float64]:
		*p = vectorized(8, c, vectors[float64]{
			lanes: 8,
			run: func(s strip[float64]) {
				t := s.args(8)
				for s.next(&t, 8, 8) {
					asm.AVX512F64(&t)
				}
			},
			copy:      func(p asm.Panel) { asm.AVX512Copy(&p) },
			transpose: func(p asm.Panel) { asm.AVX512TransposeF64(&p) },
		})
	case **Packed[float32]:
		*p = vectorized(8, c, vectors[float32]{
			lanes: 16,
			run: func(s strip[float32]) {
				t := s.args(16)
				for s.next(&t, 8, 16) {
					asm.AVX512F32(&t)
				}
			},
			copy:      func(p asm.Panel) { asm.AVX512Copy(&p) },
			transpose: func(p asm.Panel) { asm.AVX512TransposeF32(&p) },
		})
	}
	p.leaves = leavesAVX512[T]()
	return p, true
}

// AVX2 returns the routines around micro-kernels in AVX2 and FMA3, with blocks
// that fit the caches. It returns false if this build has none; whether the
// processor can run them is for the caller to know.
func AVX2[T Element](c Caches) (p *Packed[T], ok bool) {
	if !asm.HasAVX2() {
		return nil, false
	}
	switch p := any(&p).(type) {
	case **Packed[float64]:
		*p = vectorized(4, c, vectors[float64]{
			lanes: 4,
			run: func(s strip[float64]) {
				t := s.args(4)
				for s.next(&t, 4, 4) {
					asm.AVX2F64(&t)
				}
			},
			copy:      func(p asm.Panel) { asm.AVX2Copy(&p) },
			transpose: func(p asm.Panel) { asm.AVX2TransposeF64(&p) },
			strips:    func(p asm.Panel) { asm.AVX2Strips(&p) },
			panels:    func(p asm.Panel) { asm.AVX2PanelsF64(&p) },
		})
	case **Packed[float32]:
		*p = vectorized(4, c, vectors[float32]{
			lanes: 8,
			run: func(s strip[float32]) {
				t := s.args(8)
				for s.next(&t, 4, 8) {
					asm.AVX2F32(&t)
				}
			},
			copy:      func(p asm.Panel) { asm.AVX2Copy(&p) },
			transpose: func(p asm.Panel) { asm.AVX2TransposeF32(&p) },
			strips:    func(p asm.Panel) { asm.AVX2Strips(&p) },
			panels:    func(p asm.Panel) { asm.AVX2PanelsF32(&p) },
		})
	}
	p.leaves = leavesAVX2[T]()
	return p, true
}

// WhyNoAssembly returns the reason why this build has neither [AVX512] nor
// [AVX2], or "" if it has.
func WhyNoAssembly() string {
	switch {
	case asm.HasAVX512() && asm.HasAVX2():
		return ""
	case runtime.GOARCH != "amd64":
		return "built for " + runtime.GOARCH
	}
	return "built with tag noasm"
}

// vectorized returns the routines around a micro-kernel for tiles of mr rows.
func vectorized[T Element](mr int, c Caches, v vectors[T]) *Packed[T] {
	nr := asm.Vectors * v.lanes
	p := &Packed[T]{
		MR: mr, NR: nr,
		Leaf: 512,
		Pack: pack[T],
		Micro: func(k int, a, b, c []T, ldc int) {
			v.run(strip[T]{m: mr, n: nr, k: k, alpha: 1, beta: 1, a: a, rs: 1, cs: mr, ps: mr * k, b: b, ldb: nr, padded: true, c: c, ldc: ldc, uplo: blas.All})
		},
		vectors: v,
	}
	p.blocks(c)
	return p
}

// blocks sets the sizes of the blocks:
//
//   - a strip of B, KC×NR, is one and a half times the first-level cache: it
//     comes from the second again and again, which costs nothing, and C is
//     read and written less often;
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
	size := int(unsafe.Sizeof(*new(T)))
	l1, l2 := int(min(c.L1, 1<<20))/size, int(min(c.L2, 1<<25))/size
	v := &p.vectors
	p.KC = max(128, min(512, l1*3/2/p.NR/8*8))
	p.MC = max(64, min(1024, l2/4/p.KC)) / p.MR * p.MR
	p.NC = 4096 / p.NR * p.NR
	v.near, v.spanA, v.spanB, v.all = l2*3/8, l2*3/4, l2/16, l2*9/8
	v.narrow = 96
}
