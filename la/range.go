package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/lapack"
)

// Matrices near the ends of the range. Squares and products of their elements lose digits, or
// overflow, where what comes out need not. So they are multiplied by a power of two before they are
// factored, which changes no digit, and what comes out is multiplied back.

// immoderate reports whether a matrix whose largest magnitude is top has to be
// scaled: xGELS's bounds.
func immoderate[T Element](top float64) bool {
	small := 0x1p-1022 / 0x1p-52
	if epsilon[T]() > 0x1p-53 {
		small = 0x1p-126 / 0x1p-23
	}
	return top > 0 && top < small || top > 1/small && top <= math.MaxFloat64
}

// excess returns the power of two by which a matrix whose largest magnitude is top is to be
// divided: 0 but near the ends of the range. It is even, so that its root is a power, too.
func excess[T Element](top float64) int {
	if !immoderate[T](top) {
		return 0
	}
	return exponent(top) &^ 1
}

// scaled returns a copy of a times two to the power given.
func scaled[T Element](e *Engine, a Source[T], exp int) *blocked.Matrix[T] {
	m, n := a.Dims()
	v, _ := blocked.From(a, blocked.Full, max(1, min(max(m, n), 256)), e.copying(false))
	multiply(v, exp)
	return v
}

// moderate brings the columns of x that are near the ends of the range to about 1, each by a power
// of two, and returns what brings solutions with a matrix back that was divided by two to the
// power given; nil if there is nothing to bring back.
func moderate[T Element](x *blocked.Matrix[T], exp, workers int) (back []int) {
	tops := x.ColumnMax(workers)
	var there []int
	for j, top := range tops {
		if e := excess[T](top); e != 0 {
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

// moderately calls solve, which overwrites x with its quotient by a matrix that was divided by two
// to the power given, and makes it that by the matrix itself. A distributed x has one scale for
// all of its columns, and that of an ordinary matrix none.
func moderately[T Element](ctx context.Context, e *Engine, x *blocked.Matrix[T], exp int, solve func() error) error {
	if x.IsDistributed() {
		power, err := balance(ctx, e, x, exp)
		if err == nil {
			err = solve()
		}
		return rescale(ctx, e, x, -power-exp, err)
	}
	workers := e.options().Workers
	back := moderate(x, exp, workers)
	err := solve()
	if err == nil && back != nil {
		shiftColumns(x, x, back, workers)
	}
	return err
}

// moderateInPlace divides a, the elements of which are as r says, by a power of two if it is near
// the ends of the range, and returns the power and how a is then.
func moderateInPlace[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T], r *reading[T]) (exp int, _ *reading[T], err error) {
	if exp = excess[T](r.stats.Max); exp == 0 {
		return 0, r, nil
	}
	if err := shiftSpread(ctx, e, a, -exp); err != nil {
		return exp, nil, err
	}
	r, err = measured(ctx, e, a)
	return exp, r, err
}

// moderated returns the stats of a, which From has copied with the ones given, and the power of two by
// which it has been divided.
func moderated[T Element](e *Engine, a *blocked.Matrix[T], stats blocked.Stats) (blocked.Stats, int) {
	exp := excess[T](stats.Max)
	if exp == 0 || stats.NonFinite {
		return stats, 0
	}
	multiply(a, -exp)
	workers := e.options().Workers
	return blocked.Stats{Norm: a.Norm(lapack.MaxColumnSum, workers), Columns: a.ColumnSums(workers), Max: a.Norm(lapack.MaxAbs, workers)}, exp
}

// balance brings the right side b of a system to about 1 if it is near the ends of the range and its
// matrix was: divided by two to the power given. It returns the power of two that b was multiplied by.
func balance[T Element](ctx context.Context, e *Engine, b *blocked.Matrix[T], exp int) (power int, err error) {
	if exp == 0 {
		return 0, nil
	}
	top, err := NormInPlace(ctx, e, b, lapack.MaxAbs)
	power = -excess[T](top)
	return power, rescale(ctx, e, b, power, err)
}

// rescale multiplies v by two to the power given, if there is no error yet.
func rescale[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], exp int, err error) error {
	switch {
	case err != nil || exp == 0:
		return err
	case v.IsDistributed():
		return shiftSpread(ctx, e, v, exp)
	}
	multiply(v, exp)
	return nil
}

// shifted returns a copy of the triangular v, times two to the power given, where v is, and what
// closes it, if anything is to be closed.
func shifted[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], exp int) (_ *blocked.Matrix[T], end func() error, err error) {
	if spread[T](e, v) == nil {
		w, _ := blocked.From(Source[T](v), v.Kind(), v.NB(), e.copying(false))
		multiply(w, exp)
		return w, nil, nil
	}
	w, err := copySpread(ctx, e, v, blocked.Full)
	if err == nil {
		err = shiftSpread(ctx, e, w, exp)
	}
	if err != nil {
		closed(w)
		return nil, nil, err
	}
	return w, w.Close, nil
}
