package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// Dgemm computes
//
//	C = alpha·op(A)·op(B) + beta·C,  op(X) = X or Xᵀ,
//
// with op(A) m×k, op(B) k×n and C m×n. It panics as gonum's does.
//
// Reference: BLAS xGEMM.
func (b BLAS) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, bb []float64, ldb int, beta float64, c []float64, ldc int) {
	if !gemm(b.core, "Dgemm", tA, tB, m, n, k, alpha, a, lda, bb, ldb, beta, c, ldc) {
		b.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
	}
}

// Sgemm is Dgemm in float32.
func (b BLAS) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, bb []float32, ldb int, beta float32, c []float32, ldc int) {
	if !gemm(b.core, "Sgemm", tA, tB, m, n, k, alpha, a, lda, bb, ldb, beta, c, ldc) {
		b.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
	}
}

// smallGemm is the largest product m·n·k left to gonum by default. On one core of
// a 2-core Xeon (model 167) gonum took 0.46 µs for 8×8 and 0.92 for 12×12, a
// kernel 0.39 and 0.66 (BenchmarkBorder).
const smallGemm = 8 * 8 * 8

// gemm computes xGEMM, unless it returns false: the problem is small or
// trivial, or the arguments are wrong, and gonum's routine is to see to it.
func gemm[T la.Element](co *core, routine string, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) bool {
	if co.smallCube(smallGemm, m, n, k) || alpha == 0 ||
		!transpose(tA) || !transpose(tB) || !fits(m, n, c, ldc) ||
		!fitsOp(tA, m, k, a, lda) || !fitsOp(tB, k, n, b, ldb) {
		return false
	}
	if m == 1 || n == 1 {
		gemmVector(co, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return true
	}
	nb, whole := tileSize[T](co, engine.OpGemm, mean(m, n), m, n, k)
	ar, ac := shape(tA, m, k)
	br, bc := shape(tB, k, n)
	if whole {
		d := one[T]()
		d.gemm = op.Gemm[T]{TransA: tA, TransB: tB, Alpha: alpha, Beta: beta}
		d.set(0, ar, ac, a, lda)
		d.set(1, br, bc, b, ldb)
		d.set(2, m, n, c, ldc)
		d.run(co, routine, ops[T](co).Op("gemm"), &d.gemm, 3)
		return true
	}
	va, vb, vc := view(ar, ac, a, lda, nb), view(br, bc, b, ldb, nb), view(m, n, c, ldc, nb)
	run(co, routine, func(p *blocked.Program[T]) error { return p.Gemm(tA, tB, alpha, va, vb, beta, vc) })
	return true
}

// gemmVector is gemm where C is a column, or else a row: Cᵀ = op(B)ᵀ·op(A)ᵀ.
func gemmVector[T la.Element](co *core, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	v := vectorsOf[T](BLAS{core: co})
	if n == 1 {
		inc := ldb
		if tB != blas.NoTrans {
			inc = 1
		}
		r, s := shape(tA, m, k)
		v.gemv(tA, r, s, alpha, a, lda, b, inc, beta, c, ldc)
		return
	}
	inc := 1
	if tA != blas.NoTrans {
		inc = lda
	}
	r, s := shape(tB, k, n)
	v.gemv(scalar.Flip[T](tB), r, s, alpha, b, ldb, a, inc, beta, c, 1)
}
