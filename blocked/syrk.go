package blocked

import (
	"github.com/tessera-la/tessera/kernels"
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
	if a.kind != Full || (c.kind != SymLower && c.kind != SymUpper) {
		panic(ErrKind)
	}
	n, k := dims(a, trans)
	if c.rows != n || a.nb != c.nb {
		panic(ErrShape)
	}
	kt := (k + c.nb - 1) / c.nb
	if alpha == 0 || k == 0 {
		return p.scale(beta, c)
	}
	other := blas.Transpose(blas.Trans)
	if trans != blas.NoTrans {
		other = blas.NoTrans
	}
	oa, oc := p.operand(a), p.operand(c)
	for i := range c.mt {
		for j := range c.nt {
			if !c.Stored(i, j) {
				continue
			}
			first, rest := c.syrkParams(i == j, trans, other, alpha, beta)
			params := first
			for l := range kt {
				left, right, out := in(at(oa, trans, i, l)), in(at(oa, trans, j, l)), inout(oc.tile(i, j))
				var err error
				if i == j {
					err = p.submit(p.ops.Syrk, params, int64(l), left, out)
				} else {
					err = p.submit(p.ops.Gemm, params, int64(l), left, right, out)
				}
				if err != nil {
					return err
				}
				params = rest
			}
		}
	}
	return nil
}

// syrkParams returns the parameters of the first and of the later updates of
// a tile of c.
func (c *Matrix[T]) syrkParams(diagonal bool, trans, other blas.Transpose, alpha, beta T) (first, rest any) {
	if diagonal {
		s := kernels.Syrk{Uplo: c.kind.Uplo(), Trans: trans, Alpha: float64(alpha), Beta: float64(beta)}
		r := s
		r.Beta = 1
		return &s, &r
	}
	g := kernels.Gemm{TransA: trans, TransB: other, Alpha: float64(alpha), Beta: float64(beta)}
	r := g
	r.Beta = 1
	return &g, &r
}
