package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Tsmqr is the parameter of op "tsmqr" (LAPACK xTPMQRT with L = 0): the
// orthogonal factor of op "tsqrt" applied to two tiles,
//
//	⎡C1⎤         ⎡C1⎤
//	⎣C2⎦ = op(Q)·⎣C2⎦ (Side = Left) or [C1 C2] = [C1 C2]·op(Q) (Side = Right).
//
// Operands: V (in), T (in), C1 (inout), C2 (inout). Let k be the number of reflectors,
// the columns of V. C1 has at least k rows (Left) or columns (Right), and the first k
// take part. C2 has as many rows or columns as V has rows. Tasks share V and T packed
// ([kernels.Packings]).
type Tsmqr struct {
	Side  blas.Side
	Trans blas.Transpose
	IB    int
}

// Validate returns an error if a field is out of range.
func (p *Tsmqr) Validate() error { return check("tsmqr", p) }

// tsmqrOp defines op "tsmqr".
func tsmqrOp[T kernels.Element]() definition[T] {
	op := versions.Op{Name: "tsmqr", Work: tsmqrWork[T], NewParams: fresh[Tsmqr]}
	return tpmqrtOp[T](op, "Q of tsqrt times two tiles", false, params[Tsmqr])
}

// tpmqrtOp defines op "ttmqr", if triangle, or "tsmqr". p returns the parameter of a call.
func tpmqrtOp[T kernels.Element](op versions.Op, about string, triangle bool,
	p func(*versions.Call) *Tsmqr) definition[T] {
	op.Thin, op.Derive = thin[T], sharePacked[T](asFactor, -1)
	return definition[T]{
		Op: op, about: about,
		run: func(by implementation[T]) func(*versions.Call) error {
			return func(call *versions.Call) error { return tpmqrt(by.qr, call, p(call), triangle) }
		},
		help: sharing[T](op.Work),
		cuda: versions.Version{
			Run:    func(call *versions.Call) error { return cudaTpmqrt[T](call, p(call), triangle) },
			Memory: func(call *versions.Call) int64 { return cudaTpmqrtMemory[T](call, p(call), triangle) },
		},
	}
}

// tpmqrtOf returns the operands of op "ttmqr", if triangle, or "tsmqr", and the number of rows of
// V that take part. C2 must have that many rows (columns from the right), or at least that many
// if V is a triangle.
func tpmqrtOf[T kernels.Element](call *versions.Call, p *Tsmqr, triangle bool) (v, t, c1, c2 *kernels.Tile[T],
	rows int) {
	v, c2 = args[T](call, 4)
	t, c1 = arg[T](call, 1), arg[T](call, 2)
	k := v.Cols
	rows = v.Rows
	if triangle {
		rows = min(rows, k)
	}
	r1, n1 := factorOrder(p.Side, c1.Rows, c1.Cols)
	r2, n2 := factorOrder(p.Side, c2.Rows, c2.Cols)
	panicIf(r1 < k || n1 != n2 || r2 < rows || !triangle && r2 != rows, kernels.ErrShape)
	checkT(t, p.IB, k)
	return v, t, c1, c2, rows
}

// tsmqrWork returns 4·m·n·k.
func tsmqrWork[T kernels.Element](call *versions.Call) float64 {
	v, _, _, c2, _ := tpmqrtOf[T](call, params[Tsmqr](call), false)
	return 4 * float64(c2.Rows) * float64(c2.Cols) * float64(v.Cols)
}

// tpmqrt executes op "ttmqr", if triangle, or "tsmqr": it applies the factor V to C1 and C2.
func tpmqrt[T kernels.Element](q cpu.QRRoutines[T], call *versions.Call, p *Tsmqr, triangle bool) error {
	v, t, c1, c2, rows := tpmqrtOf[T](call, p, triangle)
	m, n, l := rows, c2.Cols, 0
	if p.Side == blas.Right {
		m, n = c2.Rows, rows
	}
	if triangle {
		l = rows
	}
	work := versions.Scratch[T](call.Work, q.Work(max(m, n, v.Cols), v.Cols, p.IB))
	pack := kernels.PackingsOf(call).A
	vp := packedFactor(pack, q, kernels.PackingForm{Dim: rows, K: v.Cols, IB: p.IB, Trapezoid: triangle},
		func(ours *cpu.QR[T], dst []T) {
			ours.PackTpqrt(dst, rows, v.Cols, l, p.IB, v.Data, v.Stride, t.Data, t.Stride)
		})
	defer pack.Done(vp != nil)
	gangQR(q, call, vp).Tpmqrt(p.Side, p.Trans, m, n, v.Cols, l, p.IB, v.Data, v.Stride, t.Data, t.Stride, c1.Data,
		c1.Stride, c2.Data, c2.Stride, work)
	return nil
}

// cudaTpmqrt enqueues a call of op "ttmqr", if trapezoid, or "tsmqr". V is a unit matrix, which meets C1, on top of a
// full one or an upper trapezoid, which meets C2.
func cudaTpmqrt[T kernels.Element](call *versions.Call, p *Tsmqr, trapezoid bool) error {
	skipPackings(call)
	v, _, _, c2, rows := tpmqrtOf[T](call, p, trapezoid)
	checkFactor(p.Side, p.Trans, p.IB)
	_, n := factorOrder(p.Side, c2.Rows, c2.Cols)
	k := v.Cols
	q := queueOf[T](call)
	if n == 0 || k == 0 {
		return nil
	}
	f, err := newCUDAFactor[T](call, p.Side, p.Trans, n, k, p.IB, q.operand(0), q.operand(1))
	if err != nil {
		return err
	}
	x1, x2 := q.operand(2), q.operand(3)
	return f.eachBlock(func(j, w int) error {
		// The columns j to j+w−1 of V have three parts: full rows, a triangle of order d
		// below these, and a rectangle to the right of the triangle.
		//
		//	      j   j+d  j+w
		//	   ┌──┬────┬───┐
		//	   │  │full    │
		//	 j ├──┼────┬───┤
		//	   │  │ ╲  │   │
		//	j+d│  │   ╲│   │
		//	   └──┴────┴───┘
		full, d := rows, 0
		if trapezoid {
			full = min(j, rows)
			d = min(w, rows-full)
		}
		c1, rest := f.at(x1, j), f.from(f.v, 0, j)
		corner, right, cd := f.from(f.v, full, j), f.from(f.v, full, j+d), f.at(x2, full)
		wRight := f.at(f.w, d)
		return untilError(
			// W = C1 + Vᵀ·C2
			func() error { return f.applyVT(blas.Upper, blas.NonUnit, d, corner, cd, f.w) },
			func() error { return f.addStrips(d, f.w, 1, c1, f.w) },
			func() error {
				r, c := f.strip(w - d)
				return f.copy(r, c, f.at(c1, d), wRight)
			},
			func() error { return f.addVTC(d, w-d, right, cd, wRight) },
			func() error { return f.addVTC(full, w, rest, x2, f.w) },
			func() error { return f.applyT(j, w) },
			// C1 −= W, C2 −= V·W
			func() error { return f.addStrips(w, c1, -1, f.w, c1) },
			func() error { return f.subtractVW(full, w, rest, f.w, x2) },
			func() error { return f.subtractVW(d, w-d, right, wRight, cd) },
			func() error { return f.applyV(blas.Upper, blas.NonUnit, d, corner, f.w, f.w) },
			func() error { return f.addStrips(d, cd, -1, f.w, cd) },
		)
	})
}

// cudaTpmqrtMemory returns the bytes of scratch memory that cudaTpmqrt needs.
func cudaTpmqrtMemory[T kernels.Element](call *versions.Call, p *Tsmqr, trapezoid bool) int64 {
	v, _, _, c2, _ := tpmqrtOf[T](call, p, trapezoid)
	_, n := factorOrder(p.Side, c2.Rows, c2.Cols)
	return factorMemory[T](n, v.Cols, p.IB)
}
