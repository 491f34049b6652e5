package cpu

import (
	"runtime"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// Packed is the level-3 routines built around one GEMM micro-kernel, after
// Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), and BLIS. op(A) is packed into panels of MR rows and op(B) into
// panels of NR columns,
//
//	        NR                       A panel: a[p*MR+i], zero padded
//	      ┌────┐                     B panel: b[p*NR+j], zero padded,
//	      │ B  │ k                            times alpha
//	  k   └────┘
//	┌────┐┌────┐
//	│ A  ││ C  │ MR   C += A·B
//	└────┘└────┘
//
// so that Micro reads both in order. An MC×KC block of A should sit in the
// second-level cache, a KC×NR panel of B in the first.
//
// A Packed is read-only once made. All fields must be set: MC a multiple of
// MR, NC one of NR, and MC, NC, KC at least Leaf.
type Packed[T Element] struct {
	MR, NR     int // the tile of C that Micro computes
	MC, KC, NC int // the blocks that are packed at a time

	// Leaf is the order of the triangle at which trsm and potrf stop
	// splitting.
	Leaf int
	// Small is the product m·n·k up to which gemm does not pack.
	Small int

	// Micro adds A·B to the MR×NR matrix C with leading dimension ldc. a
	// holds at least k·MR elements and b k·NR; k may be 0.
	Micro func(k int, a, b, c []T, ldc int)
	// Pack stores dim vectors of length k in panels of r,
	//
	//	dst[(i/r)*r*k + p*r + i%r] = scale·src[i*rs+p*cs],
	//
	// for 0 ≤ i < dim, 0 ≤ p < k, and fills the last panel up with zeros.
	// One of rs and cs is 1.
	Pack func(dst, src []T, rs, cs, dim, k, r int, scale T)

	kernels *isa.Kernels[T] // of the instruction set, if there is one

	// leaves, if set, do the triangles of up to Leaf of trsm and potrf.
	leaves leaves[T]

	// vectors, if set, does what Micro does elsewhere in gemm and syrk.
	vectors vectors[T]
}

// Portable returns the routines around the micro-kernel in plain Go, which
// run everywhere and are the reference for all others.
func Portable[T Element]() *Packed[T] {
	p := &Packed[T]{
		MR: 4, NR: 2,
		MC: 128, KC: 256, NC: 256,
		Leaf:  32,
		Small: 12 * 12 * 12,
		Micro: micro4x2[T],
		Pack:  pack[T],
	}
	switch runtime.GOARCH {
	case "arm64", "loong64", "ppc64", "ppc64le", "riscv64": // 32 floating point registers
		p.NR, p.Micro = 4, micro4x4[T]
	}
	return p
}

// Work implements [Routines].
func (p *Packed[T]) Work(dim int) int {
	if dim <= 0 {
		return 0
	}
	leaf := roundUp(min(dim, p.Leaf), p.MR)
	leafWork := leaf*leaf + leaf*p.NR + leaf // trsm: triangle, right-hand sides, diagonal
	if p.leaves.set() {
		leafWork = p.leaves.work(min(dim, p.Leaf))
	}
	if p.small(dim, dim, dim) {
		return max(leafWork, trmmWork(dim))
	}
	return max(leafWork, trmmWork(dim)+p.tile()+p.blockA(dim, dim)+p.blockB(dim, dim))
}

// small reports whether a product of m·n·k is not worth packing for.
func (p *Packed[T]) small(m, n, k int) bool {
	return float64(m)*float64(n)*float64(k) <= float64(p.Small)
}

// tile is the room of one tile of C in scratch, and blockA and blockB those
// of the packed blocks; each rounded to keep the next one aligned.
func (p *Packed[T]) tile() int { return roundUp(p.MR*p.NR, 16) }

func (p *Packed[T]) blockA(m, k int) int {
	return roundUp(roundUp(min(m, p.MC), p.MR)*min(k, p.KC)+p.vectors.lanes, 16)
}

func (p *Packed[T]) blockB(n, k int) int {
	return roundUp(roundUp(min(n, p.NC), p.NR)*min(k, p.KC), 16)
}

// width returns the number of columns of the next strip where n are left:
// three vectors, but rather two and two than three and one, of which the one
// would wait for its own sums.
func (p *Packed[T]) width(n int) int {
	l := p.vectors.lanes
	if n > isa.RowVectors*l && n <= (isa.RowVectors+1)*l {
		return 2 * l
	}
	return min(n, isa.RowVectors*l)
}
