package blocked

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Syrk submits
//
//	C = alpha·A·Aᵀ + beta·C (trans = NoTrans, A n×k),
//	C = alpha·Aᵀ·A + beta·C (trans = Trans, A k×n),
//
// for a symmetric n×n matrix C of which the half that it stores is updated.
// A is Full and has C's tile size. With alpha = 0, A is not read; with
// beta = 0, C is not. C must not share memory with A.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if A is not Full or C is not SymLower or SymUpper.
//
// Reference: BLAS xSYRK.
func (p *Program[T]) Syrk(trans blas.Transpose, alpha T, a *Matrix[T], beta T, c *Matrix[T]) error {
	if a.Kind() != Full || (c.Kind() != SymLower && c.Kind() != SymUpper) {
		panic(ErrKind)
	}
	n, k := dims(a, trans)
	if c.Rows() != n || a.NB() != c.NB() {
		panic(ErrShape)
	}
	if alpha == 0 || k == 0 {
		return p.scale(beta, c)
	}
	p.syrk(trans, alpha, a, beta, c)
	return p.err
}

// syrk submits the tasks of Syrk. Of an A that is lower triangular the tiles that
// are zero are left out.
func (p *Program[T]) syrk(trans blas.Transpose, alpha T, a *Matrix[T], beta T, c *Matrix[T]) {
	other := blas.Transpose(blas.Trans)
	if trans != blas.NoTrans {
		other = blas.NoTrans
	}
	syrk := [2]op.Syrk{{Uplo: c.Kind().Uplo(), Trans: trans, Alpha: float64(alpha), Beta: float64(beta)}}
	gemm := [2]op.Gemm{{TransA: trans, TransB: other, Alpha: float64(alpha), Beta: float64(beta)}}
	syrk[1], gemm[1] = syrk[0], gemm[0] // the first on each tile, and the later ones
	syrk[1].Beta, gemm[1].Beta = 1, 1
	oa, oc := p.reads(a), p.operand(c)
	_, k := dims(a, trans)
	for i, j := range c.StoredTiles() {
		if p.err != nil {
			break // there may be billions of tasks
		}
		lo := 0
		if a.Kind() == TriLower {
			lo = max(i, j)
		}
		for l := lo; l < tiles.Count(k, c.NB()); l++ {
			left, right, out := in(at(oa, trans, i, l)), in(at(oa, trans, j, l)), inout(oc.tile(i, j))
			if later := min(l-lo, 1); i == j {
				p.submit(p.ops.syrk, &syrk[later], int64(l), left, out)
			} else {
				p.submit(p.ops.gemm, &gemm[later], int64(l), left, right, out)
			}
		}
	}
}
