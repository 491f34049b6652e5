package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Syrk is the parameter of op "syrk" (BLAS xSYRK):
//
//	C = Alpha·A·Aᵀ + Beta·C  (Trans = NoTrans, A n×k)
//	C = Alpha·Aᵀ·A + Beta·C  (Trans = Trans,   A k×n)
//
// Operands: A (in), C (inout). Only the Uplo triangle of C (n×n) is read or
// written. With Beta = 0, C is not read and may hold NaN; with Alpha = 0 the same holds for A.
//
// Tasks share two packed operands ([kernels.Packings]): op(A), as A, with products that have it on
// their left, and its transpose, as B, with products that have that on their right.
type Syrk[T kernels.Element] struct {
	Uplo        blas.Uplo
	Trans       blas.Transpose
	Alpha, Beta T
}

// Validate returns an error if a field is out of range.
func (p *Syrk[T]) Validate() error { return check("syrk", p) }

// syrkOp defines op "syrk".
func syrkOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "syrk", Work: syrkWork[T], NewParams: fresh[Syrk[T]], Derive: sharePacked[T](onLeft, 0)},
		about: "symmetric product, C ← αAAᵀ + βC",
		run:   syrk[T],
		help:  sharing[T](syrkWork[T]),
		cuda:  versions.Version{Run: cudaSyrk[T]},
	}
}

// syrkOf returns the operands of op "syrk" and its dimensions.
func syrkOf[T kernels.Element](call *versions.Call, p *Syrk[T]) (a, c *kernels.Tile[T], n, k int) {
	a, c = args[T](call, 2)
	n, k = dims(a, p.Trans)
	panicIf(c.Rows != n || c.Cols != n, kernels.ErrShape)
	return a, c, n, k
}

// syrkWork returns n·(n+1)·k.
func syrkWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := args[T](call, 2)
	n, k := dims(a, params[Syrk[T]](call).Trans)
	return float64(n) * float64(n+1) * float64(k)
}

// syrk returns the function of a version of op "syrk".
func syrk[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	packed, ours := by.blas.(*cpu.Packed[T])
	return func(call *versions.Call) error {
		p := params[Syrk[T]](call)
		a, c, n, k := syrkOf[T](call, p)
		var ap, bp []T
		packings := kernels.PackingsOf(call)
		defer func() { packings.A.Done(ap != nil); packings.B.Done(bp != nil) }()
		work := versions.Scratch[T](call.Work, by.blas.Work(max(n, k)))
		if ours && call.Gang == nil && packed.PrepacksSyrk(n, k) {
			ap = packedLeft(packings.A, packed, a, p.Trans, n, k)
			bp = packedRight(packings.B, packed, a, scalar.Flip[T](p.Trans), n, k)
		}
		if ap != nil || bp != nil {
			packed.SyrkPacked(p.Uplo, p.Trans, n, k, p.Alpha, a.Data, a.Stride, ap, bp, p.Beta, c.Data,
				c.Stride, work)
			return nil
		}
		gangRoutines(by.blas, call).Syrk(p.Uplo, p.Trans, n, k, p.Alpha, a.Data, a.Stride, p.Beta, c.Data, c.Stride,
			work)
		return nil
	}
}

// cudaSyrk is the function of version "cuda" of op "syrk".
func cudaSyrk[T kernels.Element](call *versions.Call) error {
	p := params[Syrk[T]](call)
	_, _, n, k := syrkOf[T](call, p)
	skipPackings(call)
	q := queueOf[T](call)
	return q.syrk(p.Uplo, p.Trans, n, k, p.Alpha, q.operand(0), p.Beta, q.operand(1))
}
