package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Trmm is the parameter of op "trmm" (BLAS xTRMM):
//
//	B = Alpha·op(A)·B  (Side = Left,  A m×m)
//	B = Alpha·B·op(A)  (Side = Right, A n×n)
//
// Operands: A (in), B (inout, m×n). Only the Uplo triangle of A is read, and
// not its diagonal if Diag is Unit. A NaN or an infinity in B affects only its column
// (its row if Side = Right). There it may make any element NaN, since parts of the
// triangle are multiplied as squares. With Alpha = 0 neither A nor B is read, and both
// may hold NaN; B becomes 0.
type Trmm[T kernels.Element] struct {
	Side  blas.Side
	Uplo  blas.Uplo
	Trans blas.Transpose
	Diag  blas.Diag
	Alpha T
}

// Validate returns an error if a field is out of range.
func (p *Trmm[T]) Validate() error { return check("trmm", p) }

// trmmOp defines op "trmm".
func trmmOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "trmm", Work: trmmWork[T], NewParams: fresh[Trmm[T]], Thin: thin[T]},
		about: "triangular product, B ← αTB",
		run:   trmm[T],
		cuda:  versions.Version{Run: cudaTrmm[T]},
	}
}

// trmmWork returns m²·n or m·n².
func trmmWork[T kernels.Element](call *versions.Call) float64 {
	a, b := args[T](call, 2)
	return float64(a.Rows) * float64(b.Rows) * float64(b.Cols)
}

// trmm returns the function of a version of op "trmm".
func trmm[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Trmm[T]](call)
		a, b := triangularOf[T](call, (*Trsm[T])(p), true)
		m, n := b.Rows, b.Cols
		work := versions.Scratch[T](call.Work, by.blas.Work(max(m, n)))
		by.blas.Trmm(p.Side, p.Uplo, p.Trans, p.Diag, m, n, p.Alpha, a.Data, a.Stride, b.Data, b.Stride, work)
		return nil
	}
}

// cudaTrmm is the function of version "cuda" of op "trmm".
func cudaTrmm[T kernels.Element](call *versions.Call) error {
	p := params[Trmm[T]](call)
	_, b := triangularOf[T](call, (*Trsm[T])(p), true)
	checkDiag(p.Diag)
	q := queueOf[T](call)
	x := q.operand(1)
	return q.trmm(p.Side, p.Uplo, p.Trans, p.Diag, b.Rows, b.Cols, p.Alpha, q.operand(0), x, x)
}
