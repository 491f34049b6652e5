package csr

import (
	"fmt"
	"math"

	"github.com/tessera-la/tessera/la"
)

// PivotError reports that a matrix has no preconditioner of a kind: a diagonal element or a pivot is zero, or
// not positive, or out of range.
type PivotError struct {
	Method string
	Row    int // counted from 0; the first row of a block
	Pivot  float64
	Reason string
}

func (e *PivotError) Error() string {
	return fmt.Sprintf("csr: %s: the pivot of row %d (counted from 1) is %.3g: %s", e.Method, e.Row+1, e.Pivot, e.Reason)
}

// Final returns true, since another attempt finds the same error: see graph.Failure.
func (e *PivotError) Final() bool { return true }

// square returns the error for a matrix without a preconditioner: a *la.ShapeError if it is not square, a
// *la.NonFiniteError, or a *StructureError if it is too large for indexes of 32 bits.
func (a *Matrix) square(method string) error {
	switch {
	case a.rows != a.cols:
		return &la.ShapeError{Op: method, Detail: fmt.Sprintf("A is %d×%d, not square", a.rows, a.cols)}
	case a.rows > math.MaxInt32 || len(a.ja) > math.MaxInt32:
		return errTooLarge()
	}
	if row, col, ok := a.NonFinite(); ok {
		return &la.NonFiniteError{Row: row, Col: col}
	}
	return nil
}

func errTooLarge() error {
	return &StructureError{-1, fmt.Sprintf("more than %d rows or entries, and a preconditioner has indexes of 32 bits", math.MaxInt32)}
}

// checkSolve returns a *la.ShapeError unless dst and r have n elements. It panics with ErrOverlap if they
// begin at the same element.
func checkSolve(n int, dst, r []float64) error {
	if len(dst) != n || len(r) != n {
		return &la.ShapeError{Op: "SolveVecTo", Detail: fmt.Sprintf("M is %d×%d, r has %d elements and dst %d", n, n, len(r), len(dst))}
	}
	if n > 0 && &dst[0] == &r[0] {
		panic(ErrOverlap)
	}
	return nil
}

// diagonal returns the diagonal of 2^−exp·A, where exp is 0 or, if the elements of A are near the ends of the
// range of float64, that of the largest one of the diagonal.
func (a *Matrix) diagonal() (d []float64, exp int) {
	d = make([]float64, a.rows)
	top := 0.0
	for i := range d {
		for k := a.ia[i]; k < a.ia[i+1]; k++ {
			if a.ja[k] == i {
				d[i] += a.data[k]
			}
		}
		top = max(top, math.Abs(d[i]))
	}
	const comfort, most = 100, 1000
	if _, exp = math.Frexp(top); exp >= -comfort && exp <= comfort || top == 0 {
		return d, 0
	}
	exp = max(-most, min(most, exp))
	for i := range d {
		d[i] = math.Ldexp(d[i], -exp)
	}
	return d, exp
}
