package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Trmm submits the product with a triangular matrix, in place,
//
//	B = alpha·op(A)·B (side = Left, A m×m),
//	B = alpha·B·op(A) (side = Right, A n×n),
//
// where B is m×n and Full, and A is the uplo triangle of a. a must store that
// triangle, and may also be Full or symmetric, as a factorization leaves it. With
// diag = Unit the diagonal of A is taken to be ones and not read. a must have B's
// tile size and must not share memory with B.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if B is not Full or a does not store the triangle.
//
// Reference: BLAS xTRMM.
func (p *Program[T]) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T, a, b *Matrix[T]) error {
	checkTriangular(side, uplo, a, b)
	if alpha == 0 {
		return p.scale(0, b)
	}
	oa, ob := p.tasks.Reads(a), p.tasks.Operand(b)
	trmm := &op.Trmm[T]{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: alpha}
	gemm := &op.Gemm[T]{TransA: trans, TransB: blas.NoTrans, Alpha: alpha, Beta: 1}
	lines := b.NT() // tiles in a block row of B
	if side == blas.Right {
		gemm.TransA, gemm.TransB = blas.NoTrans, trans
		lines = b.MT()
	}
	// A block of the result depends on itself and on the blocks on one side of it, so
	// it is computed before they are. op(A) is lower triangular if A is lower and not
	// transposed, or upper and transposed. Then row block i depends on those above it,
	// and column block j on those to its right.
	lower := (uplo == blas.Lower) == (trans == blas.NoTrans)
	for step := range a.NT() {
		k, lo, hi := step, step+1, a.NT() // lo to hi: blocks that are not done yet
		if lower == (side == blas.Left) {
			k, lo, hi = a.NT()-1-step, 0, a.NT()-1-step
		}
		for line := range lines {
			p.tasks.Submit(p.tasks.Op("trmm"), trmm, 0, submit.In(oa.Tile(k, k)), submit.InOut(ob.Block(side, k, line)))
			for i := lo; i < hi; i++ {
				left, right := submit.Beside(side, oa, trans, k, i, ob.Block(side, i, line))
				p.tasks.Submit(p.tasks.Op("gemm"), gemm, 0, left, right, submit.InOut(ob.Block(side, k, line)))
			}
		}
	}
	return p.tasks.Err
}

// checkTriangular panics unless the uplo triangle of a can stand on that side of b.
func checkTriangular[T Element](side blas.Side, uplo blas.Uplo, a, b *Matrix[T]) {
	order := b.Rows()
	if side == blas.Right {
		order = b.Cols()
	}
	switch stored := a.Kind().Uplo(); {
	case b.Kind() != Full || (stored != blas.All && stored != uplo):
		panic(ErrKind)
	case a.Rows() != order || a.Cols() != order || a.NB() != b.NB():
		panic(ErrShape)
	}
}
