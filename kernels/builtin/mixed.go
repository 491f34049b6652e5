package builtin

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// langeOf returns the operands of op "lange".
func langeOf[T kernels.Element](call *versions.Call) (a *kernels.Tile[T], s *kernels.Tile[float64]) {
	if len(call.Args) != 2 {
		panic(kernels.ErrArgs)
	}
	a, s = arg[T](call, 0), arg[float64](call, 1)
	if s.Rows != 1 || s.Cols != max(a.Cols, 2) {
		panic(kernels.ErrShape)
	}
	return a, s
}

func lange[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Lange](call)
	a, s := langeOf[T](call)
	if p.Symmetric && a.Rows != a.Cols {
		panic(kernels.ErrShape)
	}
	tops := s.Row(0)
	clear(tops)
	for i := range a.Rows * min(a.Cols, 1) { // without columns there is no memory
		lo, hi := triangle(p.Uplo, i, a.Cols)
		for j, v := range a.Row(i)[lo:hi] {
			tops[lo+j] = max(tops[lo+j], math.Abs(float64(v)))
		}
	}
	if !p.Squares {
		return nil
	}
	top := 0.0
	for _, v := range tops {
		top = max(top, v)
	}
	clear(tops)
	tops[0], tops[1] = 1, 1
	switch {
	case top-top != 0:
		tops[0] = top
		return nil
	case top >= 0x1p480:
		tops[0] = 0x1p600
	case top < 0x1p-400 && top > 0:
		tops[0] = 0x1p-600
	}
	inverse, sum, diagonal := 1/tops[0], 0.0, 0.0
	for i := range a.Rows * min(a.Cols, 1) {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		row := 0.0
		for _, v := range a.Row(i)[lo:hi] {
			w := float64(v) * inverse
			row += w * w
		}
		sum += row
		if p.Symmetric {
			w := float64(a.At(i, i)) * inverse
			diagonal += w * w
		}
	}
	if p.Symmetric {
		sum = 2*sum - diagonal
	}
	tops[1] = sum
	return nil
}

// langeWork returns the elements of A.
func langeWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := langeOf[T](call)
	return float64(a.Rows) * float64(a.Cols)
}

// lagOf returns the operands of ops "lag2s" and "lag2d".
func lagOf[A, B kernels.Element](call *versions.Call) (a *kernels.Tile[A], d []float64, b *kernels.Tile[B]) {
	if len(call.Args) != 3 {
		panic(kernels.ErrArgs)
	}
	a, b = arg[A](call, 0), arg[B](call, 2)
	s := arg[float64](call, 1)
	if a.Rows != b.Rows || a.Cols != b.Cols || s.Rows != 1 || s.Cols != a.Cols {
		panic(kernels.ErrShape)
	}
	return a, s.Row(0), b
}

func lag2s[T kernels.Element](call *versions.Call) error {
	_ = params[kernels.Lag2s](call)
	a, d, b := lagOf[T, float32](call)
	for i := range a.Rows * min(len(d), 1) { // without columns there is no memory
		x, y := a.Row(i)[:len(d)], b.Row(i)[:len(d)]
		for j, s := range d {
			y[j] = float32(float64(x[j]) * s)
		}
	}
	return nil
}

func lag2d[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Lag2d](call)
	a, d, b := lagOf[float32, T](call)
	for i := range a.Rows * min(len(d), 1) { // without columns there is no memory
		x, y := a.Row(i)[:len(d)], b.Row(i)[:len(d)]
		for j, s := range d {
			v := float64(x[j]) * s
			if p.Add {
				v += float64(y[j])
			}
			y[j] = T(v)
		}
	}
	return nil
}

func lag2sWork[T kernels.Element](call *versions.Call) float64 {
	a, _, _ := lagOf[T, float32](call)
	return float64(a.Rows) * float64(a.Cols)
}

func lag2dWork[T kernels.Element](call *versions.Call) float64 {
	a, _, _ := lagOf[float32, T](call)
	return float64(a.Rows) * float64(a.Cols)
}

// lasymOf returns the operands of op "lasym".
func lasymOf[T kernels.Element](call *versions.Call) (a, b *kernels.Tile[T]) {
	a, b = args[T](call, 2)
	if a.Rows != a.Cols || b.Rows != a.Rows || b.Cols != a.Cols {
		panic(kernels.ErrShape)
	}
	return a, b
}

func lasym[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Lasym](call)
	a, b := lasymOf[T](call)
	for i := range a.Rows {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		for j, v := range a.Row(i)[lo:hi] {
			b.Set(i, lo+j, v)
			b.Set(lo+j, i, v)
		}
	}
	return nil
}

// lasymWork returns the elements of B.
func lasymWork[T kernels.Element](call *versions.Call) float64 {
	_, b := lasymOf[T](call)
	return float64(b.Rows) * float64(b.Cols)
}
