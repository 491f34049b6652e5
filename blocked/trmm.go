package blocked

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Trmm submits the product with a triangular matrix, in place,
//
//	B = alpha·op(A)·B (side = Left, A m×m),
//	B = alpha·B·op(A) (side = Right, A n×n),
//
// where B is m×n, Full, and A is the uplo triangle of a, which must store it
// (a may also be Full or symmetric, as a factorization leaves it). With
// diag = Unit the diagonal of A is taken to be ones and not read. A must have
// B's tile size and must not share memory with B.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if B is not Full or a does not store the triangle.
//
// Reference: BLAS xTRMM.
func (p *Program[T]) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T, a, b *Matrix[T]) error {
	order := b.rows
	if side == blas.Right {
		order = b.cols
	}
	switch stored := a.kind.Uplo(); {
	case b.kind != Full || (stored != blas.All && stored != uplo):
		panic(ErrKind)
	case a.rows != order || a.cols != order || a.nb != b.nb:
		panic(ErrShape)
	}
	if alpha == 0 {
		return p.scale(0, b)
	}
	oa, ob := p.operand(a), p.operand(b)
	trmm := &kernels.Trmm{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: float64(alpha)}
	gemm := &kernels.Gemm{TransA: trans, TransB: blas.NoTrans, Alpha: float64(alpha), Beta: 1}
	lines := b.nt // tiles in a block row of B
	if side == blas.Right {
		gemm.TransA, gemm.TransB = blas.NoTrans, trans
		lines = b.mt
	}
	// A block of the result is made of itself and of those on one side of it,
	// so it is done before they are. op(A) is lower triangular if A is and is
	// not transposed, or the opposite of both; then row block i needs those
	// above it and column block j those to its right.
	lower := (uplo == blas.Lower) == (trans == blas.NoTrans)
	fromEnd := lower == (side == blas.Left)
	for step := range a.nt {
		k := step
		if fromEnd {
			k = a.nt - 1 - step
		}
		for line := range lines {
			if err := p.trmmTile(trmm, gemm, side, trans, oa, ob, k, line, fromEnd); err != nil {
				return err
			}
		}
	}
	return nil
}

// trmmTile submits block k of a product, in one line of tiles.
func (p *Program[T]) trmmTile(trmm *kernels.Trmm, gemm *kernels.Gemm, side blas.Side, trans blas.Transpose, a, b *operand[T], k, line int, fromEnd bool) error {
	tile := func(i int) *graph.Datum {
		if side == blas.Left {
			return b.tile(i, line)
		}
		return b.tile(line, i)
	}
	if err := p.submit(p.ops.Trmm, trmm, 0, in(a.tile(k, k)), inout(tile(k))); err != nil {
		return err
	}
	lo, hi := k+1, a.nt // blocks that are not done yet
	if fromEnd {
		lo, hi = 0, k
	}
	for i := lo; i < hi; i++ {
		var left, right graph.Operand
		if side == blas.Left {
			left, right = in(at(a, trans, k, i)), in(tile(i))
		} else {
			left, right = in(tile(i)), in(at(a, trans, i, k))
		}
		if err := p.submit(p.ops.Gemm, gemm, 0, left, right, inout(tile(k))); err != nil {
			return err
		}
	}
	return nil
}
