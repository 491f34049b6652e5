package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la/engine"
)

// Inverse computes dst = A⁻¹ for an n×n matrix A, distributed or not, by the method that [Solve]
// would use. dst may be A; an empty *mat.Dense becomes n×n. If A is a SymmetricSource, dst may be
// a SymmetricSink such as *mat.SymDense. A solution with A is cheaper and more accurate than a
// product with its inverse.
//
// The errors are those of Solve.
//
// Reference: LAPACK xPOTRI, xGETRI, xTRTRI.
func Inverse[T Element](ctx context.Context, e *Engine, dst Destination[T], a Source[T]) (SolveReport, error) {
	n, cols := a.Dims()
	if n != cols {
		return SolveReport{}, &ShapeError{"Inverse", fmt.Sprintf("A is %d×%d, and must be square", n, cols)}
	}
	to, err := inverseSink(dst, a)
	if err == nil {
		err = shapeResult[T]("Inverse", "inverse", to, n, n)
	}
	if err != nil {
		return SolveReport{}, err
	}
	e, end := e.Session()
	defer end()
	if err := e.Ready(ctx); err != nil {
		return SolveReport{}, err
	}
	if n == 0 {
		return SolveReport{}, nil
	}
	d, err := newDivisor(ctx, e, a)
	defer d.close()
	if err != nil {
		return d.report, err
	}
	v, err := d.invert(ctx, e, n)
	if err != nil {
		closeMatrix(v)
		return d.report, err
	}
	return deliver(ctx, e, d.report, to, v, nil, d.condition())
}

// inverseSink returns dst as a Sink, or a *ShapeError. If A is symmetric and dst is only a
// SymmetricSink, the sink takes half of the inverse.
func inverseSink[T Element](dst Destination[T], a Source[T]) (Sink[T], error) {
	_, symmetric := a.(SymmetricSource[T])
	if half, ok := dst.(SymmetricSink[T]); ok && symmetric {
		if _, whole := dst.(Sink[T]); !whole {
			return halfSink[T]{half}, nil
		}
	}
	return sink("Inverse", "dst", dst)
}

// invert returns the inverse, of order n, distributed if A is. It may return a matrix with an
// error.
func (d *divisor[T]) invert(ctx context.Context, e *Engine, n int) (v *blocked.Matrix[T], err error) {
	if d.symmetric != nil {
		w, err := d.newMatrix(e, blocked.TriLower, n, n)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		if v, err = d.newMatrix(e, blocked.SymLower, n, n); err != nil {
			return nil, err
		}
		return v, d.symmetric(w, v)
	}
	v, err = d.newMatrix(e, blocked.Full, n, n)
	switch {
	case err != nil:
		return nil, err
	case d.inverse != nil:
		return v, d.inverse(v)
	case d.distributed == nil:
		v.SetIdentity()
	default:
		err = engine.Run(ctx, e, func(p *blocked.Program[T]) error { return p.Laset(0, 1, v) })
	}
	if err == nil {
		err = d.solve(v)
	}
	return v, err
}
