package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Lasym is the parameter of op "lasym": B = A for a symmetric A that stores its Uplo triangle. B
// stores both triangles.
//
// Operands: A (in, n×n), B (out, n×n).
type Lasym struct {
	Uplo blas.Uplo
}

// Validate returns an error if a field is out of range.
func (p *Lasym) Validate() error { return check("lasym", p) }

// lasymOp defines op "lasym".
func lasymOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "lasym", Work: elements[T](1), NewParams: fresh[Lasym]},
		about:  "completes a symmetric tile",
		copies: lasym[T],
	}
}

// lasymOf returns the operands of op "lasym".
func lasymOf[T kernels.Element](call *versions.Call) (a, b *kernels.Tile[T]) {
	a, b = args[T](call, 2)
	panicIf(a.Rows != a.Cols || b.Rows != a.Rows || b.Cols != a.Cols, kernels.ErrShape)
	return a, b
}

// lasym is the function of the version of op "lasym".
func lasym[T kernels.Element](call *versions.Call) error {
	p := params[Lasym](call)
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
