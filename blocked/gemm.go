package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Gemm submits
//
//	C = alpha·op(A)·op(B) + beta·C,  op(X) = X or Xᵀ,
//
// with op(A) m×k, op(B) k×n and C m×n, all of kind Full and with the same
// tile size. With alpha = 0, A and B are not read; with beta = 0, C is not.
// C must not share memory with A or B.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if a matrix is not Full.
//
// Reference: BLAS xGEMM.
func (p *Program[T]) Gemm(transA, transB blas.Transpose, alpha T, a, b *Matrix[T], beta T, c *Matrix[T]) error {
	if a.Kind() != Full || b.Kind() != Full || c.Kind() != Full {
		panic(ErrKind)
	}
	m, k := submit.Dims(a, transA)
	kb, n := submit.Dims(b, transB)
	if k != kb || c.Rows() != m || c.Cols() != n || a.NB() != c.NB() || b.NB() != c.NB() {
		panic(ErrShape)
	}
	if alpha == 0 || k == 0 {
		return p.scale(beta, c)
	}
	first := &op.Gemm[T]{TransA: transA, TransB: transB, Alpha: alpha, Beta: beta}
	rest := &op.Gemm[T]{TransA: transA, TransB: transB, Alpha: alpha, Beta: 1}
	oa, ob, oc := p.tasks.Reads(a), p.tasks.Reads(b), p.tasks.Operand(c)
	for i := range c.MT() {
		for j := range c.NT() {
			if p.tasks.Err != nil {
				return p.tasks.Err // there may be billions of tasks
			}
			params := first
			for l := range tiles.Count(k, c.NB()) {
				// Later products of a tile have a higher priority, so a tile of C
				// that has been begun is finished first.
				p.tasks.Submit(p.tasks.Op("gemm"), params, int64(l),
					submit.In(submit.At(oa, transA, i, l)), submit.In(submit.At(ob, transB, l, j)), submit.InOut(oc.Tile(i, j)))
				params = rest
			}
		}
	}
	return p.tasks.Err
}

// scale submits C = beta·C on the stored part of C.
func (p *Program[T]) scale(beta T, c *Matrix[T]) error {
	if beta == 1 {
		return p.tasks.Err
	}
	gemm := &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Beta: beta}
	syrk := &op.Syrk[T]{Uplo: c.Kind().Uplo(), Trans: blas.NoTrans, Beta: beta}
	oc := p.tasks.Operand(c)
	for i, j := range c.StoredTiles() {
		r, q := c.TileDims(i, j)
		if i == j && c.Kind() != Full {
			p.tasks.Submit(p.tasks.Op("syrk"), syrk, 0, submit.In(p.tasks.Empty(r, 0)), submit.InOut(oc.Tile(i, j)))
		} else {
			p.tasks.Submit(p.tasks.Op("gemm"), gemm, 0, submit.In(p.tasks.Empty(r, 0)), submit.In(p.tasks.Empty(0, q)), submit.InOut(oc.Tile(i, j)))
		}
	}
	return p.tasks.Err
}
