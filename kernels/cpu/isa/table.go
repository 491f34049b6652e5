package isa

import (
	"runtime"
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Table is an instruction set: what a processor must have, and the kernels there are in it.
// In a build without its assembly there are none.
type Table struct {
	Name     string   // of the versions that it brings, "avx2"
	Arch     string   // as GOARCH has it
	Features []string // that a processor must have, as cpuid has them in lower case

	F32 Kernels[float32]
	F64 Kernels[float64]
}

// Missing returns the reason why this build has no kernels of t, or "" if it has some.
func (t *Table) Missing() string {
	switch {
	case t.F64.Lanes > 0:
		return ""
	case runtime.GOARCH != t.Arch:
		return "built for " + runtime.GOARCH
	}
	return "built with tag noasm"
}

// Of returns the kernels of t for T.
func Of[T scalar.Real](t *Table) *Kernels[T] {
	return scalar.Pick[T, any](&t.F32, &t.F64).(*Kernels[T])
}

// Kernels is what an instruction set has for an element type. Where a function is nil, the
// portable code is used; those of a group come together. They do not check their arguments, or
// whether the processor has the instructions, and keep no pointer: see [Hide].
type Kernels[T scalar.Real] struct {
	Lanes int // elements in a vector
	Rows  int // of a tile, at most MaxRows

	// Micro-kernels of gemm and the packing of their operands: rows as they are, and the
	// transpose of rows.
	Gemm                     func(t *Tiles[T])
	PackRows, PackTransposed func(p *Panel)
	// PackStrips packs Strips strips of B abreast, PackPanels Panels panels of Aᵀ. Either may be nil.
	PackStrips, PackPanels func(p *Panel)

	// Triangles. Solve solves with panels of a triangle, Factor factors a diagonal block.
	Solve, Factor func(t *Leaf)
	// Transpose transposes blocks of as many rows and columns as a vector has lanes: rows lie a
	// stride, and blocks a step apart, in bytes.
	Transpose func(dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int)
	// PackTriangle copies n rows, as long as a tile has rows and a stride in bytes apart, to dst
	// without gaps. n is a multiple of 4.
	PackTriangle func(dst, src unsafe.Pointer, stride, n int)

	// Columns of L and U. LUUpdate updates one and looks for its pivot, by so many vectors in a
	// turn, LUScale multiplies one from row K on by Scale. Panels of no fewer than LUTall rows are
	// for several cores. Transpose, above, is needed.
	LUUpdate, LUScale func(t *LUColumn)
	LUTurn, LUTall    int

	// Exchange exchanges n bytes, a multiple of 4, and prefetches as many from next on.
	Exchange func(x, y, next unsafe.Pointer, n int)

	// Rows of a panel of QR: see QRRows.
	QRDots, QRReflect, QRScale func(t *QRRows)
	// Blocks of rows, of which there is at least one: dst −= src, and dst = src.
	QRSubtract, QRCopy func(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

	Vectors[T]
}

// Vectors is what memory bounds. A set whose wider vectors gain nothing here has those of another.
type Vectors[T scalar.Real] struct {
	// Dots computes the inner products of four rows of n elements, lda apart, with x: s[i] = Σ
	// a[i*lda+l]·x[l]. Axpys adds multiples of them to y: y[l] += Σ s[i]·a[i*lda+l], in the order
	// of i. n is a positive multiple of the elements in 64 bytes.
	Dots  func(a *T, lda, n int, x *T, s *[4]T)
	Axpys func(a *T, lda, n int, s *[4]T, y *T)
}
