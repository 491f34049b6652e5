package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// inRange returns an *OverflowError if x, the solution for b, has an element that is not finite
// although all elements of b are. A nil b is finite.
func inRange[T Element](ctx context.Context, e *Engine, x *blocked.Matrix[T], b Source[T]) error {
	_, err := largest(ctx, e, x, blas.NoTrans)
	var bad *NonFiniteError
	if !errors.As(err, &bad) {
		return err
	}
	if b != nil && !finiteSource(e, b) {
		return nil
	}
	return &OverflowError{Row: bad.Row, Col: bad.Col}
}

// finiteSource reports whether every element of b is finite.
func finiteSource[T Element](e *Engine, b Source[T]) bool {
	top := Norm(e, b, lapack.MaxAbs)
	return top-top == 0
}

// largest returns the largest magnitude in op(v), or a *NonFiniteError if an element is not
// finite. For a distributed v the error may be one of tasks.
func largest[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], trans blas.Transpose) (float64, error) {
	if distributedOn[T](e, v) == nil {
		top := v.Norm(lapack.MaxAbs, e.Options().Workers)
		if top-top != 0 {
			return 0, nonFinite(v, trans)
		}
		return top, nil
	}
	r, err := measured(ctx, e, v)
	if err != nil {
		return 0, err
	}
	return r.stats.Max, nil
}

// nonFinite returns the *NonFiniteError of op(v), which is in this process.
func nonFinite[T Element](v *blocked.Matrix[T], trans blas.Transpose) error {
	m, n := v.Dims()
	if trans != blas.NoTrans {
		m, n = n, m
	}
	for i := range m {
		for j := range n {
			p, q := i, j
			if trans != blas.NoTrans {
				p, q = q, p
			}
			if s := v.At(p, q); s-s != 0 {
				return &NonFiniteError{Row: i, Col: j}
			}
		}
	}
	return nil
}
