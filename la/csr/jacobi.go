package csr

import (
	"context"
	"math"
)

// Jacobi is the preconditioner M = D, the diagonal of a matrix. It implements krylov.Preconditioner.
type Jacobi struct {
	inverse []float64 // of 2^−exp·D
	scale   float64   // 2^−exp
}

// NewJacobi returns the diagonal of a square A as a preconditioner. The error is a *[la.ShapeError], a
// *[la.NonFiniteError], or a *[PivotError] if an element of the diagonal is zero.
func NewJacobi(a *Matrix) (*Jacobi, error) {
	if err := a.square("NewJacobi"); err != nil {
		return nil, err
	}
	d, exp := a.diagonal()
	inverse, err := reciprocals("NewJacobi", d)
	if err != nil {
		return nil, err
	}
	return &Jacobi{inverse, math.Ldexp(1, -exp)}, nil
}

// reciprocals overwrites d with 1/d. The error is a *PivotError.
func reciprocals(method string, d []float64) ([]float64, error) {
	for i, v := range d {
		if d[i] = 1 / v; v == 0 || math.IsInf(d[i], 0) {
			return nil, &PivotError{method, i, v, "an element of the diagonal that has no reciprocal"}
		}
	}
	return d, nil
}

// Dims returns the order of M, twice.
func (m *Jacobi) Dims() (rows, cols int) { return len(m.inverse), len(m.inverse) }

// SolveVecTo computes dst = M⁻¹·r. The error is a *[la.ShapeError]. SolveVecTo panics with [ErrOverlap] if dst
// and r begin at the same element.
func (m *Jacobi) SolveVecTo(_ context.Context, dst, r []float64) error {
	if err := checkSolve(len(m.inverse), dst, r); err != nil {
		return err
	}
	r = r[:len(dst)]
	for i, v := range m.inverse[:len(dst)] {
		dst[i] = r[i] * v * m.scale
	}
	return nil
}
