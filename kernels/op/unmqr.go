package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Unmqr is the parameter of op "unmqr" (LAPACK xGEMQRT): the orthogonal factor of op "geqrt"
// applied to a tile,
//
//	C = op(Q)·C (Side = Left, V m×k) or C = C·op(Q) (Side = Right, V n×k).
//
// Operands: V (in), T (in), C (inout, m×n). The tile of V may have more columns than rows; k is
// the smaller number. Only the part of V below the diagonal is read. Tasks share V and T packed
// ([kernels.Packings]).
type Unmqr struct {
	Side  blas.Side
	Trans blas.Transpose
	IB    int
	// Row is the first row of V's tile that takes part, and also the first row
	// (Left) or column (Right) of C's tile that does. The op neither reads nor
	// writes elements before these.
	Row int
}

// Validate returns an error if a field is out of range.
func (p *Unmqr) Validate() error { return check("unmqr", p) }

// unmqrOp defines op "unmqr".
func unmqrOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op: versions.Op{Name: "unmqr", Work: unmqrWork[T], NewParams: fresh[Unmqr], Thin: thin[T],
			Derive: sharePacked[T](asFactor, -1)},
		about: "Q of geqrt times a tile",
		run:   unmqr[T],
		help:  sharing[T](unmqrWork[T]),
		cuda:  versions.Version{Run: cudaUnmqr[T], Memory: cudaUnmqrMemory[T]},
	}
}

// unmqrOf returns the operands and the number of reflectors of op "unmqr".
func unmqrOf[T kernels.Element](call *versions.Call, p *Unmqr) (v kernels.Tile[T], t *kernels.Tile[T],
	c kernels.Tile[T], k int) {
	wholeV, wholeC := args[T](call, 3)
	t = arg[T](call, 1)
	v = fromRow(wholeV, p.Row)
	if p.Side == blas.Right {
		c = fromColumn(wholeC, p.Row)
	} else {
		c = fromRow(wholeC, p.Row)
	}
	if order, _ := factorOrder(p.Side, c.Rows, c.Cols); v.Rows != order {
		panic(kernels.ErrShape)
	}
	k = min(v.Rows, v.Cols)
	checkT(t, p.IB, k)
	return v, t, c, k
}

// unmqrWork returns 2·n·k·(2m−k) or 2·m·k·(2n−k).
func unmqrWork[T kernels.Element](call *versions.Call) float64 {
	p := params[Unmqr](call)
	v, _, c, k := unmqrOf[T](call, p)
	_, n := factorOrder(p.Side, c.Rows, c.Cols)
	return 2 * float64(n) * float64(k) * float64(2*v.Rows-k)
}

// unmqr returns the function of a version of op "unmqr".
func unmqr[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Unmqr](call)
		v, t, c, k := unmqrOf[T](call, p)
		work := versions.Scratch[T](call.Work, by.qr.Work(max(c.Rows, c.Cols), k, p.IB))
		pack := kernels.PackingsOf(call).A
		vp := packedFactor(pack, by.qr, kernels.PackingForm{Dim: v.Rows, K: k, IB: p.IB}, func(ours *cpu.QR[T], dst []T) {
			ours.PackGeqrt(dst, v.Rows, k, p.IB, v.Data, v.Stride, t.Data, t.Stride)
		})
		defer pack.Done(vp != nil)
		gangQR(by.qr, call, vp).Gemqrt(p.Side, p.Trans, c.Rows, c.Cols, k, p.IB, v.Data, v.Stride, t.Data, t.Stride,
			c.Data, c.Stride, work)
		return nil
	}
}

// cudaUnmqr is the function of version "cuda" of op "unmqr". V is a triangle,
// with ones on its diagonal that are not stored, on top of a full matrix.
func cudaUnmqr[T kernels.Element](call *versions.Call) error {
	p := params[Unmqr](call)
	v, _, c, k := unmqrOf[T](call, p)
	checkFactor(p.Side, p.Trans, p.IB)
	skipPackings(call)
	_, n := factorOrder(p.Side, c.Rows, c.Cols)
	q := queueOf[T](call)
	if n == 0 || k == 0 {
		return nil
	}
	f, err := newCUDAFactor[T](call, p.Side, p.Trans, n, k, p.IB, q.from(q.operand(0), p.Row, 0), q.operand(1))
	if err != nil {
		return err
	}
	x := f.at(q.operand(2), p.Row)
	return f.eachBlock(func(j, w int) error {
		top, rest := v.Rows-j-w, f.from(f.v, j+w, j)
		corner, c1, c2 := f.from(f.v, j, j), f.at(x, j), f.at(x, j+w)
		return untilError(
			func() error { return f.applyVT(blas.Lower, blas.Unit, w, corner, c1, f.w) },
			func() error { return f.addVTC(top, w, rest, c2, f.w) },
			func() error { return f.applyT(j, w) },
			func() error { return f.subtractVW(top, w, rest, f.w, c2) },
			func() error { return f.applyV(blas.Lower, blas.Unit, w, corner, f.w, f.w) },
			func() error { return f.addStrips(w, c1, -1, f.w, c1) },
		)
	})
}

// cudaUnmqrMemory returns the bytes of scratch memory that cudaUnmqr needs.
func cudaUnmqrMemory[T kernels.Element](call *versions.Call) int64 {
	p := params[Unmqr](call)
	_, _, c, k := unmqrOf[T](call, p)
	_, n := factorOrder(p.Side, c.Rows, c.Cols)
	return factorMemory[T](n, k, p.IB)
}
