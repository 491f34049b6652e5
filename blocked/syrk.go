package blocked

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tessera-la/tessera/blocked/internal/submit"
)

// Syrk submits
//
//	C = alpha·A·Aᵀ + beta·C (trans = NoTrans, A n×k),
//	C = alpha·Aᵀ·A + beta·C (trans = Trans, A k×n),
//
// for a symmetric n×n matrix C. Only the half that C stores is updated.
// A is Full and has C's tile size. With alpha = 0, A is not read; with
// beta = 0, C is not. C must not share memory with A.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if A is not Full or C is not SymLower or SymUpper.
//
// Reference: BLAS xSYRK.
func (p *Program[T]) Syrk(trans blas.Transpose, alpha T, a *Matrix[T], beta T, c *Matrix[T]) error {
	if a.Kind() != Full || !c.Kind().Symmetric() {
		panic(ErrKind)
	}
	n, k := submit.Dims(a, trans)
	if c.Rows() != n || a.NB() != c.NB() {
		panic(ErrShape)
	}
	if alpha == 0 || k == 0 {
		return p.scale(beta, c)
	}
	p.tasks.Syrk(trans, alpha, a, beta, c)
	return p.tasks.Err
}
