package blocked

import (
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Trsm submits the solution of a triangular system with many right-hand
// sides,
//
//	B = alpha·op(A)⁻¹·B (side = Left, A m×m),
//	B = alpha·B·op(A)⁻¹ (side = Right, A n×n),
//
// where B is m×n, Full, and A is the uplo triangle of a, which must store it
// (a may also be Full or symmetric, as a factorization leaves it). With
// diag = Unit the diagonal of A is taken to be ones and not read. A must have
// B's tile size and must not share memory with B.
//
// A zero on the diagonal of A gives infinities and NaN, as in BLAS. It panics
// with ErrShape if the shapes or tile sizes do not fit, and with ErrKind if B
// is not Full or a does not store the triangle.
//
// Reference: BLAS xTRSM.
func (p *Program[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T, a, b *Matrix[T]) error {
	checkTriangular(side, uplo, a, b)
	if alpha == 0 {
		return p.scale(0, b)
	}
	p.trsm(side, uplo, trans, diag, alpha, a, b, blas.All)
	return p.err
}

// trsm submits the tasks of Trsm for one part of B, of which the rest is zero and
// stays so: all, or for a system from the left with the identity the triangle that
// op(A) has.
func (p *Program[T]) trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T, a, b *Matrix[T], part blas.Uplo) {
	oa, ob, nt := p.reads(a), p.operand(b), a.NT()
	trsm := &op.Trsm{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: float64(alpha)}
	gemm := &op.Gemm{TransA: trans, TransB: blas.NoTrans, Alpha: -1, Beta: float64(alpha)}
	lines := b.NT() // tiles in a block of B
	if side == blas.Right {
		gemm.TransA, gemm.TransB = blas.NoTrans, trans
		lines = b.MT()
	}
	// op(A) is lower triangular if A is and is not transposed, or the
	// opposite of both. Then row block 0 of a system from the left is solved
	// first, and column block nt-1 of one from the right.
	lower := (uplo == blas.Lower) == (trans == blas.NoTrans)
	forward := lower == (side == blas.Left)
	for step := 0; step < nt && p.err == nil; step++ {
		k, next, lo, hi := step, 1, 0, lines
		if !forward {
			k, next = nt-1-step, -1
		}
		priority := int64(nt - step)
		switch part { // what follows waits for the triangle
		case blas.Lower:
			hi, priority = k+1, priority+int64(nt)
		case blas.Upper:
			lo, priority = k, priority+int64(nt)
		}
		for line := lo; line < hi; line++ {
			p.submit(p.ops.trsm, trsm, priority, in(oa.tile(k, k)), inout(ob.block(side, k, line)))
		}
		// Take block k out of the blocks still to be solved.
		for rest := 1; rest < nt-step; rest++ {
			i := k + rest*next
			for line := lo; line < hi; line++ {
				left, right := factors(side, oa, trans, i, k, ob.block(side, k, line))
				p.submit(p.ops.gemm, gemm, priority-int64(rest), left, right, inout(ob.block(side, i, line)))
			}
		}
		if step == 0 { // alpha has been applied to all blocks
			solved, updated := *trsm, *gemm
			solved.Alpha, updated.Beta = 1, 1
			trsm, gemm = &solved, &updated
		}
	}
}
