package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Laset is the parameter of op "laset" (LAPACK xLASET): A = Beta on the diagonal
// and Alpha off it, in all of A (Uplo = All) or in its Uplo triangle. The rest of A
// is not written.
//
// Operand: A (out, m×n; inout unless Uplo = All).
type Laset[T kernels.Element] struct {
	Uplo        blas.Uplo `uplo:"all"`
	Alpha, Beta T
}

// Validate returns an error if a field is out of range.
func (p *Laset[T]) Validate() error { return check("laset", p) }

// lasetOp defines op "laset".
func lasetOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "laset", Work: elements[T](0), NewParams: fresh[Laset[T]]},
		about:  "sets the elements of a tile",
		copies: laset[T],
	}
}

// laset is the function of the version of op "laset".
func laset[T kernels.Element](call *versions.Call) error {
	p := params[Laset[T]](call)
	a, _ := args[T](call, 1)
	for i := range a.Rows {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		row := a.Row(i)
		for j := lo; j < hi; j++ {
			row[j] = p.Alpha
		}
		if lo <= i && i < hi {
			row[i] = p.Beta
		}
	}
	return nil
}
