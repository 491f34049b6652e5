package cpu

import (
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
		})
	}
	p.leaves = leavesAVX2[T]()
	return p, true
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
	p.MC, p.KC, p.NC = c.blocks(mr, nr, int(unsafe.Sizeof(*new(T))))
	return p
}

// blocks returns the sizes of the blocks for elements of size bytes.
func (c Caches) blocks(mr, nr, size int) (mc, kc, nc int) {
	if c.L1 <= 0 {
		c.L1 = 32 << 10
	}
	if c.L2 <= 0 {
		c.L2 = 256 << 10
	}
	kc = max(128, min(512, int(c.L1)/(nr*size)/8*8))
	mc = max(4*mr, min(1024, int(c.L2)/2/(kc*size)/mr*mr))
	nc = 2048 / nr * nr
	return mc, kc, nc
}
