package blocked

import "gonum.org/v1/gonum/blas"

// Trsm submits the solution of a triangular system with many right-hand
// sides,
//
//	B = alpha·op(A)⁻¹·B (side = Left, A m×m),
//	B = alpha·B·op(A)⁻¹ (side = Right, A n×n),
//
// where B is m×n and Full, and A is the uplo triangle of a. a must store that
// triangle, and may also be Full or symmetric, as a factorization leaves it. With
// diag = Unit the diagonal of A is taken to be ones and not read. a must have B's
// tile size and must not share memory with B.
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
	p.tasks.Trsm(side, uplo, trans, diag, alpha, a, b, blas.All)
	return p.tasks.Err
}
