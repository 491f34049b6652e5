package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Trsm is the parameter of op "trsm" (BLAS xTRSM):
//
//	B = Alpha·op(A)⁻¹·B  (Side = Left,  A m×m)
//	B = Alpha·B·op(A)⁻¹  (Side = Right, A n×n)
//
// Operands: A (in), B (inout, m×n). Only the Uplo triangle of A is read, and
// not its diagonal if Diag is Unit. A may be the leading block of a larger
// tile, as the factor in the last tile of a rectangular matrix is. With Alpha = 0
// neither A nor B is read, and both may hold NaN; B becomes 0.
type Trsm[T kernels.Element] struct {
	Side  blas.Side
	Uplo  blas.Uplo
	Trans blas.Transpose
	Diag  blas.Diag
	Alpha T
}

// Validate returns an error if a field is out of range.
func (p *Trsm[T]) Validate() error { return check("trsm", p) }

// trsmOp defines op "trsm".
func trsmOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:      versions.Op{Name: "trsm", Work: trsmWork[T], NewParams: fresh[Trsm[T]], Thin: thin[T]},
		about:   "triangular systems, B ← αL⁻¹B",
		variant: splitVariant,
		run:     trsm[T],
		help:    sharing[T](trsmWork[T]),
		cuda:    versions.Version{Run: cudaTrsm[T], Batch: &versions.Batch{Key: cudaTrsmKey[T], Run: cudaTrsms[T]}},
	}
}

// triangularOf returns the operands of op "trmm", if product, or "trsm".
func triangularOf[T kernels.Element](call *versions.Call, p *Trsm[T], product bool) (a, b *kernels.Tile[T]) {
	a, b = args[T](call, 2)
	order, _ := factorOrder(p.Side, b.Rows, b.Cols)
	panicIf(a.Rows < order || a.Cols < order || product && (a.Rows != order || a.Cols != order), kernels.ErrShape)
	return a, b
}

// trsmWork returns m²·n or m·n².
func trsmWork[T kernels.Element](call *versions.Call) float64 {
	_, b := args[T](call, 2)
	order, _ := factorOrder(params[Trsm[T]](call).Side, b.Rows, b.Cols)
	return float64(order) * float64(b.Rows) * float64(b.Cols)
}

// trsm returns the function of a version of op "trsm".
func trsm[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Trsm[T]](call)
		a, b := triangularOf[T](call, p, false)
		m, n := b.Rows, b.Cols
		work := versions.Scratch[T](call.Work, by.blas.Work(max(m, n)))
		gangRoutines(by.blas, call).Trsm(p.Side, p.Uplo, p.Trans, p.Diag, m, n, p.Alpha, a.Data, a.Stride, b.Data,
			b.Stride, work)
		return nil
	}
}

// cudaTrsm is the function of version "cuda" of op "trsm".
func cudaTrsm[T kernels.Element](call *versions.Call) error {
	p := params[Trsm[T]](call)
	_, b := triangularOf[T](call, p, false)
	checkDiag(p.Diag)
	q := queueOf[T](call)
	return q.trsm(p.Side, p.Uplo, p.Trans, p.Diag, b.Rows, b.Cols, p.Alpha, q.operand(0), q.operand(1))
}

// checkDiag panics unless diag is valid.
func checkDiag(diag blas.Diag) {
	if diag != blas.Unit && diag != blas.NonUnit {
		panic(cpu.ErrDiag)
	}
}

// batchedTrsm is the largest dimension of a solution that is sent in a batch: NVIDIA documents
// cublas<t>trsmBatched as a routine for small matrices.
const batchedTrsm = 256

// trsmKey identifies solutions that one batched call can compute. Sides and triangles are those
// of the transposes: see [queue].
type trsmKey[T kernels.Element] struct {
	side  blas.Side
	uplo  blas.Uplo
	trans blas.Transpose
	diag  blas.Diag
	m, n  int
	alpha T
	a, b  layout
}

// cudaTrsmKey returns the trsmKey of a call, or nil if the call goes alone.
func cudaTrsmKey[T kernels.Element](call *versions.Call) any {
	p := params[Trsm[T]](call)
	a, b := triangularOf[T](call, p, false)
	checkDiag(p.Diag)
	if min(b.Rows, b.Cols) == 0 || max(b.Rows, b.Cols) > batchedTrsm || p.Alpha == 0 {
		return nil
	}
	return trsmKey[T]{otherSide(p.Side), otherUplo(p.Uplo), unconjugated(p.Trans), p.Diag, b.Rows, b.Cols, p.Alpha,
		layoutOf(a), layoutOf(b)}
}

// cudaTrsms solves for the calls with the same trsmKey.
func cudaTrsms[T kernels.Element](calls []*versions.Call) error {
	key := cudaTrsmKey[T](calls[0]).(trsmKey[T])
	q := queueOf[T](calls[0])
	t, err := operandTables[T](q, calls, 2)
	if err != nil {
		return err
	}
	return q.s.TrsmBatched(q.typ, key.side, key.uplo, key.trans, key.diag, key.n, key.m, float64(key.alpha), t[0], t[1],
		len(calls))
}
