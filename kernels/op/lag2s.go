package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Lag2s is the parameter of op "lag2s" (LAPACK DLAG2S): B = A·D, rounded to float32 once.
// Elements too large for float32 become infinite.
//
// Operands: A (in, m×n), D (in, float64, 1×n: the elements of a diagonal matrix), B (out,
// float32, m×n).
type Lag2s struct{}

// lag2sOp defines op "lag2s".
func lag2sOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "lag2s", Work: elements[T](0), NewParams: fresh[Lag2s]},
		about:  "rounds float64 to float32",
		copies: lag2s[T],
	}
}

// lagOf returns the operands of ops "lag2s" and "lag2d".
func lagOf[A, B kernels.Element](call *versions.Call) (a *kernels.Tile[A], d []float64, b *kernels.Tile[B]) {
	panicIf(len(call.Args) != 3, kernels.ErrArgs)
	a, b = arg[A](call, 0), arg[B](call, 2)
	s := arg[float64](call, 1)
	panicIf(a.Rows != b.Rows || a.Cols != b.Cols || s.Rows != 1 || s.Cols != a.Cols, kernels.ErrShape)
	return a, s.Row(0), b
}

// lag2s is the function of the version of op "lag2s".
func lag2s[T kernels.Element](call *versions.Call) error {
	_ = params[Lag2s](call)
	a, d, b := lagOf[T, float32](call)
	for i := range a.Rows * min(len(d), 1) { // without columns there is no memory
		x, y := a.Row(i)[:len(d)], b.Row(i)[:len(d)]
		for j, s := range d {
			y[j] = float32(float64(x[j]) * s)
		}
	}
	return nil
}
