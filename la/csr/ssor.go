package csr

import (
	"fmt"
	"math"

	"github.com/tessera-la/tessera/la"
)

// SSOR is the preconditioner of symmetric successive over-relaxation. It implements krylov.Preconditioner.
type SSOR struct{ *sweeps }

// NewSSOR returns the preconditioner
//
//	M = (D + ω·L)·D⁻¹·(D + ω·U) / (ω·(2 − ω))
//
// for a square A = L + D + U, where L and U are the triangles beside the diagonal D, and 0 < ω < 2. ω = 1 is the
// symmetric Gauss-Seidel method. If A is symmetric with positive diagonal, M is symmetric positive definite.
//
// The order of the rows is that of [NewIC], so several workers can solve with M, with the same bits.
//
// The error is a *[la.OptionsError], a *[la.ShapeError], a *[la.NonFiniteError], a *[StructureError] if A has more
// than 2³¹−1 elements, or a *[PivotError] if an element of the diagonal is zero.
//
// Reference: Saad, Iterative Methods for Sparse Linear Systems, section 10.2.
func NewSSOR(a *Matrix, omega float64) (*SSOR, error) {
	if !(omega > 0 && omega < 2) {
		return nil, &la.OptionsError{Problems: []string{fmt.Sprintf("ω is %v, want above 0 and below 2", omega)}}
	}
	if err := a.square("NewSSOR"); err != nil {
		return nil, err
	}
	d, exp := a.diagonal()
	inverse, err := reciprocals("NewSSOR", d)
	if err != nil {
		return nil, err
	}
	order, segments := a.dissect()
	at := make([]int32, len(order))
	for i, k := range order {
		at[k] = int32(i)
	}
	scale := math.Ldexp(1, -exp)
	lower, upper := triangle{ptr: make([]int32, 1, a.rows+1)}, triangle{ptr: make([]int32, 1, a.rows+1)}
	pivots := make([]float64, len(order))
	for i, k := range order {
		for e := a.ia[k]; e < a.ia[k+1]; e++ {
			switch j, v := a.ja[e], omega*(a.data[e]*scale); {
			case int(at[j]) < i:
				lower.col, lower.val = append(lower.col, at[j]), append(lower.val, v*inverse[j])
			case int(at[j]) > i:
				upper.col, upper.val = append(upper.col, at[j]), append(upper.val, v*inverse[k])
			}
		}
		lower.ptr, upper.ptr = append(lower.ptr, int32(len(lower.col))), append(upper.ptr, int32(len(upper.col)))
		pivots[i] = omega * (2 - omega) * inverse[k]
	}
	lower = lower.transposed(len(order))
	return &SSOR{newSweeps(a.rt, order, segments, &upper, &lower, pivots, scale)}, nil
}
