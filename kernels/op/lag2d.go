package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Lag2d is the parameter of op "lag2d" (LAPACK SLAG2D): B = A·D or, with Add, B = B + A·D,
// computed in float64.
//
// Operands: A (in, float32, m×n), D as of [Lag2s], B (out, m×n; with Add inout).
type Lag2d struct {
	Add bool
}

// lag2dOp defines op "lag2d".
func lag2dOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "lag2d", Work: elements[float32](0), NewParams: fresh[Lag2d]},
		about:  "converts float32 to float64",
		copies: lag2d[T],
	}
}

// lag2d is the function of the version of op "lag2d".
func lag2d[T kernels.Element](call *versions.Call) error {
	p := params[Lag2d](call)
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
