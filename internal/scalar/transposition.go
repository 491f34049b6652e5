package scalar

import "gonum.org/v1/gonum/blas"

// Transposition is what op(A) is: A, Aᵀ, Aᴴ, or the conjugate of A, for which BLAS has no word.
type Transposition uint8

// The parts of a transposition: A has none of them, Aᴴ both.
const (
	Transposed Transposition = 1 << iota
	Conjugated
)

// TranspositionOf returns what BLAS calls t.
func TranspositionOf(t blas.Transpose) Transposition {
	switch t {
	case blas.Trans:
		return Transposed
	case blas.ConjTrans:
		return Transposed | Conjugated
	}
	return 0
}

// Flip returns the transposition of op(A)ᵀ.
func (t Transposition) Flip() Transposition { return t ^ Transposed }

// Compose returns the transposition of op(A), where A = s(B), for B.
func (t Transposition) Compose(s Transposition) Transposition { return t ^ s }

// BLAS returns what BLAS calls t where the elements are real, so that conjugation means nothing.
// Complex elements are refused by the compiler: for them it has to be looked at.
func BLAS[T Real](t Transposition) blas.Transpose {
	if t&Transposed != 0 {
		return blas.Trans
	}
	return blas.NoTrans
}

// Flip returns what BLAS calls op(A)ᵀ, where t is that of op(A).
func Flip[T Real](t blas.Transpose) blas.Transpose { return BLAS[T](TranspositionOf(t).Flip()) }

// Compose returns what BLAS calls op(A) for B, where A = s(B) and t is that of op.
func Compose[T Real](t, s blas.Transpose) blas.Transpose {
	return BLAS[T](TranspositionOf(t).Compose(TranspositionOf(s)))
}
