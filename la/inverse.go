package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
)

// Inverse computes dst = A⁻¹ for an n×n matrix A by the method that A calls for,
// as [Solve] does. dst may be A; an empty *mat.Dense becomes n×n. A solution
// with A is cheaper and more accurate than a product with its inverse.
//
// The errors are those of Solve.
//
// Reference: LAPACK xPOTRI, xGETRI, xTRTRI.
func Inverse[T Element](ctx context.Context, e *Engine, dst Sink[T], a Source[T]) (SolveReport, error) {
	n, cols := a.Dims()
	if n != cols {
		return SolveReport{}, &ShapeError{"Inverse", fmt.Sprintf("A is %d×%d, and must be square", n, cols)}
	}
	if err := give[T]("Inverse", "inverse", dst, n, n); err != nil {
		return SolveReport{}, err
	}
	e, end := e.session()
	defer end()
	if err := e.ready(ctx); err != nil {
		return SolveReport{}, err
	}
	if n == 0 {
		return SolveReport{}, nil
	}
	d, err := divide(ctx, e, a)
	if err != nil {
		return d.report, err
	}
	var v *blocked.Matrix[T]
	switch {
	case d.symmetric != nil:
		v, err = d.symmetric()
	case d.inverse != nil:
		v = blocked.New[T](blocked.Full, n, n, d.nb)
		err = d.inverse(v)
	default:
		v = blocked.New[T](blocked.Full, n, n, d.nb)
		v.SetIdentity()
		err = d.solve(v)
	}
	if err != nil {
		return d.report, err
	}
	return deliver(e, d.report, dst, v, d.condition())
}
