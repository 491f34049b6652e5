package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Lacpy is the parameter of op "lacpy" (LAPACK xLACPY): B = A, in all of B (Uplo = All) or in its
// Uplo triangle with the diagonal. The rest of B is not written. If B is only out, the rest is
// undefined, since a device has not received it.
//
// Operands: A (in), B (out, m×n; inout to keep the rest). A is m×n or larger; its leading block
// is copied.
type Lacpy struct {
	Uplo blas.Uplo `uplo:"all"`
}

// Validate returns an error if a field is out of range.
func (p *Lacpy) Validate() error { return check("lacpy", p) }

// lacpyOp defines op "lacpy".
func lacpyOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "lacpy", Work: elements[T](1), NewParams: fresh[Lacpy]},
		about:  "copies a tile",
		copies: lacpy[T],
		cuda:   versions.Version{Run: cudaLacpy[T]},
	}
}

// lacpyOf returns the operands of op "lacpy".
func lacpyOf[T kernels.Element](call *versions.Call) (a, b *kernels.Tile[T]) {
	a, b = args[T](call, 2)
	panicIf(a.Rows < b.Rows || a.Cols < b.Cols, kernels.ErrShape)
	return a, b
}

// lacpy is the function of the version of op "lacpy".
func lacpy[T kernels.Element](call *versions.Call) error {
	p := params[Lacpy](call)
	a, b := lacpyOf[T](call)
	for i := range b.Rows {
		lo, hi := triangle(p.Uplo, i, b.Cols)
		copy(b.Row(i)[lo:hi], a.Row(i)[lo:hi])
	}
	return nil
}

// cudaLacpy is the function of version "cuda" of op "lacpy". A lower triangle is the upper one of
// the transpose.
func cudaLacpy[T kernels.Element](call *versions.Call) error {
	p := params[Lacpy](call)
	_, b := lacpyOf[T](call)
	q := queueOf[T](call)
	from, to := q.operand(0), q.operand(1)
	switch p.Uplo {
	case blas.Upper:
		return q.s.CopyUpper(q.typ, b.Rows, b.Cols, 0, q.rowMajor(from), q.rowMajor(to), false)
	case blas.Lower:
		return q.s.CopyUpper(q.typ, b.Cols, b.Rows, 0, q.rowMajorT(from), q.rowMajorT(to), false)
	}
	return q.copy(b.Rows, b.Cols, from, to)
}
