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

// Kernels is what an instruction set has for an element type. Blank lines separate groups of functions.
// The functions of a group are nil together, and portable code takes their place. An optional one may be nil
// while the others are there. Functions do not check their arguments, or whether the processor has the
// instructions, and keep no pointer: see [Hide].
//
// From one row to the next, lda and others that begin with ld count elements, or vectors in the functions
// of lanes, and names that end in Stride count bytes. Scalars are passed by address. So the arguments lie
// at the same places for both element types, and the assembly of both shares macros.
type Kernels[T scalar.Real] struct {
	Lanes int // elements in a vector
	Rows  int // of a tile, at most MaxRows

	// Micro-kernels of gemm and the packing of their operands: rows as they are, and the
	// transpose of rows.
	Gemm                     func(t *Tiles[T])
	PackRows, PackTransposed func(p *Panel)
	// PackStrips packs Strips strips of B abreast, PackPanels Panels panels of Aᵀ. Each is optional.
	PackStrips, PackPanels func(p *Panel)

	// PackA reports that A is to be packed for large products wherever it lies: in place it takes more
	// instructions.
	PackA bool

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

	// Several matrices at once, one in each lane: vectors of Lanes elements take the place of elements. LaneUpdate is
	// y_j −= Σ s_p·x_(p,j) for j < n and p < k, both at least 1; the s are lds, the rows of x ldx vectors apart. LaneScale is
	// y_j *= s for n ≥ 1 vectors that are ldy vectors apart. Transpose is needed.
	LaneUpdate func(k, n int, s *T, lds int, x *T, ldx int, y *T)
	LaneScale  func(n int, s, y *T, ldy int)
	// LanePivot finds in each lane of n ≥ 1 vectors x, ldx vectors apart, the first of the greatest magnitudes, and its place,
	// counted from 0. No magnitude is greater than a NaN in front, and other NaN are left out. LaneEliminate multiplies the
	// first vector of m ≥ 1 rows, lda vectors apart, by s, and subtracts from the n ≥ 1 vectors that follow it x times the
	// product. Both are optional.
	LanePivot     func(n int, x *T, ldx int, top, at *T)
	LaneEliminate func(m, n int, s, a *T, lda int, x *T)

	Secular Secular[T]

	// FMA does n rounds of FMAFlops floating point operations in registers: as many independent
	// multiply-adds as keep all units busy.
	FMA      func(n int)
	FMAFlops int
}

// Secular is kernels for secular equations, of n elements, a positive multiple of Lanes. Sums sets s to Σ zz/(delta−tau)
// and Σ zz/(delta−tau)². Factors is f *= x/(d−p), FactorsOfSquares f *= x/((d−p)·(d+p)). Quotients is y = w/x.
type Secular[T scalar.Real] struct {
	Sums                      func(n int, delta, zz, tau *T, s *[2]T)
	Factors, FactorsOfSquares func(n int, d, p, x, f *T)
	Quotients                 func(n int, w, x, y *T)
}

// Vectors is what memory bounds; the rules are those of [Kernels]. A set whose wider vectors gain nothing here has those of another.
type Vectors[T scalar.Real] struct {
	Set string // whose they are

	// Dots computes the inner products of four rows of n elements, lda apart, with x: s[i] = Σ
	// a[i*lda+l]·x[l]. Axpys adds multiples of them to y: y[l] += Σ s[i]·a[i*lda+l], in the order
	// of i. n is a positive multiple of the elements in 64 bytes.
	Dots  func(a *T, lda, n int, x *T, s *[4]T)
	Axpys func(a *T, lda, n int, s *[4]T, y *T)
	// MulVec is y = A·x for m ≥ 8 rows of n ≥ 1 elements, lda apart, which are few. It is optional.
	MulVec func(a *T, lda, m, n int, x, y *T)
	// Symv does what Dots and Axpys do, and reads the rows once: s[i] = Σ a[i*lda+l]·x[l], y[l] += Σ c[i]·a[i*lda+l].
	Symv func(a *T, lda, n int, x *T, c, s *[4]T, y *T)
	// SymvUpper and SymvLower compute y += alpha·A·x with rows first to last−1 of a triangle of order n, and with their mirror
	// images: a is element (0, 0), and last−first a positive multiple of 4, as is first. They are optional.
	SymvUpper, SymvLower func(a *T, lda, n, first, last int, x, y, alpha *T)
	// StripColumns computes y[l] += Σ x[i]·a[i*lda+l] for a strip: m rows, at least 1, of n elements, at most Strip.
	// It fetches rows ahead. StripRows computes y[i] += Σ a[i*lda+l]·x[l]; m is a positive multiple of 4. StripUpdate
	// computes a[i*lda+l] += x[i]·w[l] + y[i]·z[l]. They are optional.
	StripColumns, StripRows func(a *T, lda, m, n int, x, y *T)
	StripUpdate             func(a *T, lda, m, n int, x, y, w, z *T)
	Strip                   int
	// Larf makes a reflector and reflects the columns of a strip, of a small matrix: see [Larf]. It is optional.
	Larf func(t *Larf[T])
	// Lasr rotates k+1 rows of n elements, at most Strip, lda apart, by k ≥ 1 rotations with the cosines and sines
	// cs: x, y = c·x + s·y, c·y − s·x for the first two rows, then for the second and the third one, and so on. It is
	// optional.
	Lasr func(a *T, lda, k, n int, cs *T)
	// Ger is A += x·yᵀ for m ≥ 1 rows of n elements, at most Strip, lda apart. It is optional.
	Ger func(a *T, lda, m, n int, x, y *T)
	// Ger2 is A −= p·qᵀ + r·sᵀ for m ≥ 1 rows of n elements, at most Strip, lda apart. It is optional.
	Ger2 func(a *T, lda, m, n int, p, q, r, s *T)

	// Single vectors of n elements, n at least 1: s = Σ x·y; y += alpha·x; x = alpha·x; and
	// x, y = c·x + s·y, c·y − s·x. Asum is Σ |x|, Amax the greatest |x| without NaN, SumSquares
	// Σ x² in float64.
	Dot        func(n int, x, y, s *T)
	Axpy       func(n int, x, y, alpha *T)
	Scal       func(n int, x, alpha *T)
	Rot        func(n int, x, y, c, s *T)
	Asum, Amax func(n int, x, s *T)
	SumSquares func(n int, x *T, s *float64)
	// Reflect is s = x + f[0]·y + f[1]·z and x, y, z −= f[2]·s, f[3]·s, f[4]·s. It is optional.
	Reflect func(n int, x, y, z *T, f *[5]T)

	// AbsSums adds the magnitudes of four rows of n elements, lda apart, to the sums of their
	// columns and to the four sums of the rows, and raises the four elements of top to the largest
	// in a fourth of the columns. What NaN do to top depends on where they are. n is a positive
	// multiple of 4.
	AbsSums func(x *T, lda, n int, col, row, top *float64)
	// TopBits raises integers of the size of an element in top, at least one of which is not
	// less than any of the others are then, to the bits of the magnitudes of n elements, each to
	// those of some of them. n is a positive multiple of the elements in 128 bytes.
	TopBits func(x *T, n int, top *[8]uint64)

	// CopyRows copies rows of n ≥ 64 bytes from src to dst, and fetches
	// each row that is ahead bytes further on in src.
	CopyRows func(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, n, rows, ahead int)

	// SpMV computes rows lo to hi−1, of which there is at least one, of the product of a sparse
	// matrix and x: row i has entries starts[i] to starts[i+1]−1. The sum of a row has four parts,
	// (s0+s1)+(s2+s3): entry k of its whole fours belongs to part k mod 4, and the rest to part 0.
	// It ends before a row whose starts make no sense, and returns how many rows it has computed.
	SpMV func(dst, x *T, starts *int, columns *int32, values *T, entries, lo, hi int) (rows int)

	// Triad computes dst[i] = x[i] + s·y[i] for n elements, a positive multiple of 16. The loop in
	// Go moves no more than 80 GB/s even within the first-level cache (AMD Zen 5 with 2 cores),
	// against 280 in AVX2: too close to what one core can draw from memory to measure it with.
	Triad func(dst, x, y *T, s T, n int)
}
