package blocked

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
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
	m, k := dims(a, transA)
	kb, n := dims(b, transB)
	if k != kb || c.Rows() != m || c.Cols() != n || a.NB() != c.NB() || b.NB() != c.NB() {
		panic(ErrShape)
	}
	if alpha == 0 || k == 0 {
		return p.scale(beta, c)
	}
	first := &op.Gemm{TransA: transA, TransB: transB, Alpha: float64(alpha), Beta: float64(beta)}
	rest := &op.Gemm{TransA: transA, TransB: transB, Alpha: float64(alpha), Beta: 1}
	oa, ob, oc := p.reads(a), p.reads(b), p.operand(c)
	for i := range c.MT() {
		for j := range c.NT() {
			if p.err != nil {
				return p.err // there may be billions of tasks
			}
			params := first
			for l := range tiles.Count(k, c.NB()) {
				// A tile of C that has been begun goes first: its inputs are
				// warm, and C is done tile by tile.
				p.submit(p.ops.gemm, params, int64(l), in(at(oa, transA, i, l)), in(at(ob, transB, l, j)), inout(oc.tile(i, j)))
				params = rest
			}
		}
	}
	return p.err
}

// scale submits C = beta·C on the part of C that is stored.
func (p *Program[T]) scale(beta T, c *Matrix[T]) error {
	if beta == 1 {
		return p.err
	}
	gemm := &op.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Beta: float64(beta)}
	syrk := &op.Syrk{Uplo: c.Kind().Uplo(), Trans: blas.NoTrans, Beta: float64(beta)}
	oc := p.operand(c)
	for i, j := range c.StoredTiles() {
		r, q := c.TileDims(i, j)
		if i == j && c.Kind() != Full {
			p.submit(p.ops.syrk, syrk, 0, in(p.empty(r, 0)), inout(oc.tile(i, j)))
		} else {
			p.submit(p.ops.gemm, gemm, 0, in(p.empty(r, 0)), in(p.empty(0, q)), inout(oc.tile(i, j)))
		}
	}
	return p.err
}

// dims returns the shape of op(a).
func dims[T Element](a *Matrix[T], trans blas.Transpose) (r, c int) {
	if trans == blas.NoTrans {
		return a.Rows(), a.Cols()
	}
	return a.Cols(), a.Rows()
}

// at returns the tile that holds block (i, j) of op(a).
func at[T Element](a *operand[T], trans blas.Transpose, i, j int) *graph.Datum {
	if trans == blas.NoTrans {
		return a.tile(i, j)
	}
	return a.tile(j, i)
}
