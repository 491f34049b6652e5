package op

import (
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// Small is the routines of ops for small matrices in plain row-major memory: without a table, a selection, or a call as
// data. They are those of the machine's preferred instruction set, or loops where these are faster. A routine whose
// arguments do not fit together panics. One goroutine at a time uses a Small.
type Small[T kernels.Element] struct {
	p     smallRoutines[T]
	lu    smallLU[T]
	qr    cpu.QRRoutines[T]
	work  []T
	block [1]cpu.Block[T]
}

// The routines of Small are behind interfaces, and small32 and small64 compile them here, once: with the types of package
// cpu themselves, every package that factors a matrix by la would compile all of cpu again.
type (
	smallRoutines[T kernels.Element] interface {
		cpu.Routines[T]
		ReflectorBlock() int
		SmallGemv(transposed bool, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
		Getf2(n int, a []T, lda int, ipiv []int) (info int, done bool)
		Geqr2(m, n, k int, a []T, lda int, t []T, ldt int)
		Trsv(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, n int, a []T, lda int, x []T)
	}
	smallLU[T kernels.Element] interface {
		Work(m, n int) int
		Getrf(n int, a []cpu.Block[T], ipiv []int, work []T) (info int)
	}
)

// The orders up to which loops are faster than calls of assembly, which takes 100 to 1000 ns for any order (Xeon with
// AVX-512, BenchmarkSmall in la).
const (
	loopPotrf = 6
	loopGetrf = 10
	loopGeqrt = 20
	loopGeqr2 = 4
	loopPotri = 12
)

// mostGeqr2 is the order up to which reflectors one by one are faster than block reflectors.
const mostGeqr2 = 96

// LoopTrsv is the largest order that SmallTrsv is for.
const LoopTrsv = 16

// NewSmall returns the routines for this machine.
func NewSmall[T kernels.Element]() *Small[T] {
	r := smallOf[T]()
	return &Small[T]{p: r.p, lu: r.lu, qr: r.qr}
}

// smallOf returns the routines from which others are made. It has no scratch.
func smallOf[T kernels.Element]() *Small[T] {
	return scalar.Pick[T](any(small32), any(small64)).(func() *Small[T])()
}

var (
	small32 = sync.OnceValue(func() *Small[float32] { return newSmall(preferred32()) })
	small64 = sync.OnceValue(func() *Small[float64] { return newSmall(preferred64()) })

	preferred32 = sync.OnceValue(func() *cpu.Packed[float32] { return cpu.Fastest[float32](cachesAtOnce()) })
	preferred64 = sync.OnceValue(func() *cpu.Packed[float64] { return cpu.Fastest[float64](cachesAtOnce()) })

	lanes32 = func() *cpu.Lanes[float32] { return preferred32().Lanes() }
	lanes64 = func() *cpu.Lanes[float64] { return preferred64().Lanes() }
)

func newSmall[T kernels.Element](p *cpu.Packed[T]) *Small[T] {
	return &Small[T]{p: p, lu: cpu.NewLU[T](p, cachesAtOnce()), qr: cpu.NewQR[T](p)}
}

// SmallLanes returns the routines for several small matrices at once, or nil if this machine has none. One goroutine at a
// time uses them.
func SmallLanes[T kernels.Element]() *cpu.Lanes[T] {
	return scalar.Pick[T](any(lanes32), any(lanes64)).(func() *cpu.Lanes[T])()
}

// scratch returns n elements.
func (s *Small[T]) scratch(n int) []T {
	if len(s.work) < n {
		s.work = make([]T, n)
	}
	return s.work
}

// LoopGemm is the largest dimension of products that SmallGemm does.
const LoopGemm = 4

// SmallGemm is [Small.Gemm] for dimensions of 1 to LoopGemm.
func SmallGemm[T kernels.Element](transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
	ldc int) {
	ra, ca, rb, cb := lda, 1, ldb, 1
	if transA {
		ra, ca = 1, lda
	}
	if transB {
		rb, cb = 1, ldb
	}
	cpu.SmallGemm(m, n, k, alpha, a, ra, ca, b, rb, cb, beta, c, ldc)
}

// SmallGemv computes y = alpha·op(A)·x + beta·y for a small m×n A with elements, and an alpha that is not 0. With beta = 0,
// y is not read.
func SmallGemv[T kernels.Element](transA bool, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) {
	if max(m, n) <= LoopGemm {
		rows, cols, ra, ca := m, n, lda, 1
		if transA {
			rows, cols, ra, ca = n, m, 1, lda
		}
		cpu.SmallGemm(rows, 1, cols, alpha, a, ra, ca, x, incX, 1, beta, y, incY)
		return
	}
	smallOf[T]().p.SmallGemv(transA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// LoopGemv is the largest dimension of products that LoopMulVec is for.
const LoopGemv = 7

// LoopMulVec is [SmallGemv] of y = A·x. x and y have the dimensions of A.
func LoopMulVec[T kernels.Element](a []T, lda int, x, y []T) { cpu.LoopMulVec(a, lda, x, y) }

// Gemm computes C = alpha·op(A)·op(B) + beta·C, with op(A) m×k and op(B) k×n. With beta = 0, C is not read.
func (s *Small[T]) Gemm(transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	s.p.Gemm(trans(transA), trans(transB), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, s.scratch(s.p.Work(max(m, n, k))))
}

// trans returns blas.Trans if t, else blas.NoTrans.
func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// Potrf overwrites the upper triangle of A with U, A = Uᵀ·U. It returns 0, or the order of the first leading minor that
// is not positive definite.
func (s *Small[T]) Potrf(n int, a []T, lda int) (info int) {
	if n <= loopPotrf {
		return cpu.SmallPotrf(n, a, lda)
	}
	return s.p.Potrf(blas.Upper, n, a, lda, s.scratch(s.p.Work(n)))
}

// LoopPotri is [Small.Potri] for a few rows.
func LoopPotri[T kernels.Element](n int, u []T, ldu int, w, c []T, ldc int) {
	cpu.SmallPotri(n, u, ldu, w, c, ldc)
}

// gemmPotri is the order up to which kernels compute a whole symmetric product before they have told a triangle from the
// rest of it (Zen 5, AVX-512).
const gemmPotri = 32

// Potri computes the upper triangle of C = A⁻¹ from U, A = Uᵀ·U; it may write the lower one, too. w has n² elements of
// scratch.
func (s *Small[T]) Potri(n int, u []T, ldu int, w, c []T, ldc int) {
	w = w[:n*n]
	if n <= loopPotri {
		cpu.SmallPotri(n, u, ldu, w, c, ldc)
		return
	}
	clear(w)
	for i := range n {
		w[i*n+i] = 1
	}
	s.Trsm(false, true, false, n, n, u, ldu, w, n)
	if n <= gemmPotri && s.p.ReflectorBlock() > 0 {
		s.Gemm(true, false, n, n, n, 1, w, n, w, n, 0, c, ldc)
		return
	}
	s.Syrk(n, n, w, n, c, ldc)
}

// Getrf overwrites the n×n A with L and U, P·A = L·U, and ipiv with the interchanges. It returns 0, or the column, from
// 1, of the first pivot that is zero.
func (s *Small[T]) Getrf(n int, a []T, lda int, ipiv []int) (info int) {
	if n <= loopGetrf {
		return cpu.SmallGetrf(n, n, a, lda, ipiv)
	}
	if info, done := s.p.Getf2(n, a, lda, ipiv); done {
		return info
	}
	s.block[0] = cpu.Block[T]{Rows: n, Stride: lda, Data: a}
	info = s.lu.Getrf(n, s.block[:], ipiv, s.scratch(s.lu.Work(n, n)))
	s.block[0].Data = nil
	return info
}

// SmallBlock returns the number of columns of the block reflectors that [Small.Geqrt] is fastest with, or 0 if that makes no
// difference.
func SmallBlock[T kernels.Element]() int { return smallOf[T]().p.ReflectorBlock() }

// Geqrt overwrites the m×n A, with m ≥ n, with R and V, and T, in blocks of ib columns, as op "geqrt" does. Squares of
// its columns' norms neither over- nor underflow.
func (s *Small[T]) Geqrt(m, n, ib int, a []T, lda int, t []T, ldt int) {
	switch block := s.p.ReflectorBlock(); {
	case n > loopGeqr2 && block > 0 && (ib == block || n <= min(ib, block)):
		s.p.Geqr2(m, n, n, a, lda, t, ldt)
	// In float32 the sums of loops round more than those of the kernels, which have fused multiply-adds.
	case n <= min(loopGeqrt, ib) && scalar.Of[T]() == scalar.Float64:
		cpu.SmallGeqrt(m, n, a, lda, t, ldt, s.scratch(n))
	default:
		s.qr.Geqrt(m, n, ib, a, lda, t, ldt, s.scratch(s.qr.Work(max(m, n), min(m, n), ib)))
	}
}

// tallBlock is the number of columns of the block reflectors of Reduce.
const tallBlock = 32

// Reduce overwrites the first n columns of the m×(n+nrhs) matrix [A B], m ≥ n, with R and V of A, and the others with
// Qᵀ·B. The squares of A's columns are as for Geqrt, and t has n² elements of scratch.
func (s *Small[T]) Reduce(m, n, nrhs int, ab []T, ld int, t []T) {
	if n > loopGeqr2 && n <= mostGeqr2 && s.p.ReflectorBlock() > 0 {
		s.p.Geqr2(m, n+nrhs, n, ab, ld, t, 0)
		return
	}
	ib := min(n, tallBlock)
	s.Geqrt(m, n, ib, ab, ld, t, n)
	s.Unmqr(true, m, nrhs, n, ib, ab, ld, t, n, ab[n:], ld)
}

// Unmqr overwrites the m×n C with Qᵀ·C, or Q·C if not transposed, for the k reflectors that Geqrt left in V and T.
func (s *Small[T]) Unmqr(transposed bool, m, n, k, ib int, v []T, ldv int, t []T, ldt int, c []T, ldc int) {
	if n == 1 || k <= loopGeqrt {
		cpu.SmallReflect(transposed, m, n, k, ib, v, ldv, t, ldt, c, ldc, s.scratch(n))
		return
	}
	s.qr.Gemqrt(blas.Left, trans(transposed), m, n, k, ib, v, ldv, t, ldt, c, ldc, s.scratch(s.qr.Work(max(m, n), k, ib)))
}

// Geqr2 overwrites the m×n A, m ≥ n, with R and V, and tau with the factors of its reflectors, one by one.
func (s *Small[T]) Geqr2(m, n int, a []T, lda int, tau []T) {
	w := s.scratch(n*n + n)
	cpu.SmallGeqrt(m, n, a, lda, w, n, w[n*n:])
	for i := range tau[:n] {
		tau[i] = w[i*n+i]
	}
}

// Ormqr overwrites the m×n C with Qᵀ·C for the k reflectors that Geqr2 left in V and tau.
func (s *Small[T]) Ormqr(m, n, k int, v []T, ldv int, tau, c []T, ldc int) {
	cpu.SmallReflect(true, m, n, k, 1, v, ldv, tau, k, c, ldc, s.scratch(n))
}

// Trsm overwrites the m×n B with op(A)⁻¹·B for the upper triangle of A or, if lower, its lower one. With unit, the
// diagonal is taken to be ones.
func (s *Small[T]) Trsm(lower, transposed, unit bool, m, n int, a []T, lda int, b []T, ldb int) {
	uplo, diag := blas.Upper, blas.NonUnit
	if lower {
		uplo = blas.Lower
	}
	if unit {
		diag = blas.Unit
	}
	if n == 1 && ldb == 1 {
		s.p.Trsv(uplo, trans(transposed), diag, m, a, lda, b[:m])
		return
	}
	s.p.Trsm(blas.Left, uplo, trans(transposed), diag, m, n, 1, a, lda, b, ldb, s.scratch(s.p.Work(max(m, n))))
}

// SmallTrsv is [Small.Trsm] for a vector of up to LoopTrsv elements.
func SmallTrsv[T kernels.Element](lower, transposed, unit bool, a []T, lda int, x []T) {
	cpu.SmallTrsv(lower, transposed, unit, a, lda, x)
}

// Syrk computes the upper triangle of the n×n C = Aᵀ·A for a k×n A.
func (s *Small[T]) Syrk(n, k int, a []T, lda int, c []T, ldc int) {
	s.p.Syrk(blas.Upper, blas.Trans, n, k, 1, a, lda, 0, c, ldc, s.scratch(s.p.Work(max(n, k))))
}

// AbsFour is [cpu.AbsFour].
func AbsFour[T kernels.Element](x []T, stride int, col []float64, top *float64) [4]float64 {
	return cpu.AbsFour(x, stride, col, top)
}
