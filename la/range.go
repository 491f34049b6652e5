package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/lapack"
)

// needsScaling reports whether a matrix whose largest magnitude is top is near the ends of the
// range: by the bounds of LAPACK's xGELS. Squares and products of such elements lose digits or
// overflow, even if the result would not. So the matrix is scaled by a power of two, which
// changes no digit, before it is factored, and the result is scaled back.
func needsScaling[T Element](top float64) bool {
	small := 0x1p-1022 / 0x1p-52
	if scalar.Eps[T]() > 0x1p-53 {
		small = 0x1p-126 / 0x1p-23
	}
	return top > 0 && top < small || top > 1/small && top <= math.MaxFloat64
}

// scaleExponent returns the exponent of the power of two by which a matrix whose largest
// magnitude is top is to be divided, 0 if it needs no scaling. It is even, so the root of the
// power is a power of two.
func scaleExponent[T Element](top float64) int {
	if !needsScaling[T](top) {
		return 0
	}
	return exponent(top) &^ 1
}

// scaledCopy returns a copy of a times 2^exp.
func scaledCopy[T Element](e *Engine, a Source[T], exp int) *blocked.Matrix[T] {
	m, n := a.Dims()
	v, _ := blocked.From(a, blocked.Full, max(1, min(max(m, n), 256)), copying(e))
	scaleByPower(v, exp)
	return v
}

// scaleColumns scales the columns of x that are near the ends of the range to about 1, each by a
// power of two. It returns the exponents that scale back the solutions with a matrix that was
// divided by 2^exp; nil if they are all 0.
func scaleColumns[T Element](x *blocked.Matrix[T], exp, workers int) (back []int) {
	tops := x.ColumnMax(workers)
	var there []int
	for j, top := range tops {
		if e := scaleExponent[T](top); e != 0 {
			if there == nil {
				there, back = make([]int, len(tops)), make([]int, len(tops))
			}
			there[j], back[j] = -e, e
		}
	}
	if there != nil {
		shiftColumns(x, x, there, workers)
	} else if exp != 0 {
		back = make([]int, len(tops))
	}
	for j := range back {
		back[j] -= exp
	}
	return back
}

// withScaledColumns calls solve, which overwrites x with its quotient by a matrix that was
// divided by 2^exp, and scales x to the quotient by the matrix itself. Before, it scales the
// columns of x that need it. A distributed x has one scale for all columns, and none if exp is 0.
func withScaledColumns[T Element](ctx context.Context, e *Engine, x *blocked.Matrix[T], exp int,
	solve func() error) error {
	if x.IsDistributed() {
		power, err := scaleRightSide(ctx, e, x, exp)
		if err == nil {
			err = solve()
		}
		return rescale(ctx, e, x, -power-exp, err)
	}
	workers := e.Options().Workers
	back := scaleColumns(x, exp, workers)
	err := solve()
	if err == nil && back != nil {
		shiftColumns(x, x, back, workers)
	}
	return err
}

// scaleInPlace divides a by 2^exp if it is near the ends of the range. It returns a with its statistics after that, and
// exp. The error may be a *NonFiniteError.
func scaleInPlace[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (r *reading[T], exp int, err error) {
	if r, err = measured(ctx, e, a); err != nil {
		return nil, 0, err
	}
	if exp = scaleExponent[T](r.stats.Max); exp == 0 {
		return r, 0, nil
	}
	if err = scaleDistributed(ctx, e, a, -exp); err == nil {
		r, err = measured(ctx, e, a)
	}
	return r, exp, err
}

// scaleCopy divides a by 2^exp if it is near the ends of the range, and returns the statistics
// after that and exp. stats are those of a before.
func scaleCopy[T Element](e *Engine, a *blocked.Matrix[T], stats blocked.Stats) (blocked.Stats, int) {
	exp := scaleExponent[T](stats.Max)
	if exp == 0 || stats.NonFinite {
		return stats, 0
	}
	scaleByPower(a, -exp)
	return a.Stats(e.Options().Workers), exp
}

// scaleRightSide multiplies the right side b of a system by 2^power to about 1, if it is near the
// ends of the range and its matrix was divided by 2^exp ≠ 1. It returns power.
func scaleRightSide[T Element](ctx context.Context, e *Engine, b *blocked.Matrix[T], exp int) (power int, err error) {
	if exp == 0 {
		return 0, nil
	}
	top, err := NormInPlace(ctx, e, b, lapack.MaxAbs)
	power = -scaleExponent[T](top)
	return power, rescale(ctx, e, b, power, err)
}

// rescale multiplies v by 2^exp, unless err is not nil. It returns err or its own error.
func rescale[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], exp int, err error) error {
	switch {
	case err != nil || exp == 0:
		return err
	case v.IsDistributed():
		return scaleDistributed(ctx, e, v, exp)
	}
	scaleByPower(v, exp)
	return nil
}

// scaledTriangle returns a copy of the triangular v times 2^exp, distributed if v is, and the
// function that closes it, nil if there is nothing to close.
func scaledTriangle[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], exp int) (_ *blocked.Matrix[T],
	end func() error, err error) {
	if distributedOn[T](e, v) == nil {
		w, _ := blocked.From(Source[T](v), v.Kind(), v.NB(), copying(e))
		scaleByPower(w, exp)
		return w, nil, nil
	}
	w, err := copyDistributed(ctx, e, v, blocked.Full)
	if err == nil {
		err = scaleDistributed(ctx, e, w, exp)
	}
	if err != nil {
		closeMatrix(w)
		return nil, nil, err
	}
	return w, w.Close, nil
}
