package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// checkT panics unless t holds the triangles of k reflectors in blocks of ib.
func checkT[T kernels.Element](t *kernels.Tile[T], ib, k int) {
	if t.Rows < min(ib, k) || t.Cols < k {
		panic(kernels.ErrShape)
	}
}

// geqrtOf returns the parameter, the operands and the number of reflectors of op
// "geqrt".
func geqrtOf[T kernels.Element](call *versions.Call) (p *kernels.Geqrt, a kernels.Tile[T], t *kernels.Tile[T], k int) {
	p = params[kernels.Geqrt](call)
	whole, t := args[T](call, 2)
	a = below(whole, p.Row)
	k = min(a.Rows, a.Cols)
	checkT(t, p.IB, k)
	return p, a, t, k
}

// geqrt returns the function of a version of op "geqrt".
func geqrt[T kernels.Element](q cpu.QRRoutines[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p, a, t, k := geqrtOf[T](call)
		work := versions.Scratch[T](call.Work, q.Work(max(a.Rows, a.Cols), k, p.IB))
		q.Geqrt(a.Rows, a.Cols, p.IB, a.Data, a.Stride, t.Data, t.Stride, work)
		return nil
	}
}

// below returns t from a row on.
func below[T kernels.Element](t *kernels.Tile[T], row int) kernels.Tile[T] {
	if uint(row) > uint(t.Rows) {
		panic(kernels.ErrShape)
	}
	return kernels.Tile[T]{Rows: t.Rows - row, Cols: t.Cols, Stride: t.Stride, Data: t.Data[min(row*t.Stride, len(t.Data)):]}
}

// beside returns t from a column on.
func beside[T kernels.Element](t *kernels.Tile[T], col int) kernels.Tile[T] {
	if uint(col) > uint(t.Cols) {
		panic(kernels.ErrShape)
	}
	return kernels.Tile[T]{Rows: t.Rows, Cols: t.Cols - col, Stride: t.Stride, Data: t.Data[min(col, len(t.Data)):]}
}

// geqrtWork returns 4·(m·n·k − (m+n)·k²/2 + k³/3) for k = min(m, n).
func geqrtWork[T kernels.Element](call *versions.Call) float64 {
	whole, _ := args[T](call, 2)
	a := below(whole, params[kernels.Geqrt](call).Row)
	m, n, k := float64(a.Rows), float64(a.Cols), float64(min(a.Rows, a.Cols))
	return 4*m*n*k - 2*(m+n)*k*k + 4*k*k*k/3
}

// unmqrOf returns the operands and the number of reflectors of op "unmqr".
func unmqrOf[T kernels.Element](call *versions.Call, p *kernels.Unmqr) (v kernels.Tile[T], t *kernels.Tile[T], c kernels.Tile[T], k int) {
	wholeV, wholeC := args[T](call, 3)
	t = arg[T](call, 1)
	v = below(wholeV, p.Row)
	if p.Side == blas.Right {
		c = beside(wholeC, p.Row)
	} else {
		c = below(wholeC, p.Row)
	}
	if order, _ := along(p.Side, c.Rows, c.Cols); v.Rows != order {
		panic(kernels.ErrShape)
	}
	k = min(v.Rows, v.Cols)
	checkT(t, p.IB, k)
	return v, t, c, k
}

// unmqr returns the function of a version of op "unmqr".
func unmqr[T kernels.Element](q cpu.QRRoutines[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[kernels.Unmqr](call)
		v, t, c, k := unmqrOf[T](call, p)
		work := versions.Scratch[T](call.Work, q.Work(max(c.Rows, c.Cols), k, p.IB))
		pack := kernels.PackingsOf(call).A
		vp := packedFactor(pack, q, kernels.PackingForm{Dim: v.Rows, K: k, IB: p.IB}, func(ours *cpu.QR[T], dst []T) {
			ours.PackGeqrt(dst, v.Rows, k, p.IB, v.Data, v.Stride, t.Data, t.Stride)
		})
		defer pack.Done(vp != nil)
		sharedQR(q, call, vp).Gemqrt(p.Side, p.Trans, c.Rows, c.Cols, k, p.IB, v.Data, v.Stride, t.Data, t.Stride, c.Data, c.Stride, work)
		return nil
	}
}

// unmqrWork returns 2·n·k·(2m−k) or 2·m·k·(2n−k).
func unmqrWork[T kernels.Element](call *versions.Call) float64 {
	p := params[kernels.Unmqr](call)
	v, _, c, k := unmqrOf[T](call, p)
	_, n := along(p.Side, c.Rows, c.Cols)
	return 2 * float64(n) * float64(k) * float64(2*v.Rows-k)
}

// tpqrtOf returns the columns of a block reflector and the operands of op "ttqrt", if
// triangle, or "tsqrt".
func tpqrtOf[T kernels.Element](call *versions.Call, triangle bool) (ib int, r, a, t *kernels.Tile[T]) {
	if triangle {
		ib = params[kernels.Ttqrt](call).IB
	} else {
		ib = params[kernels.Tsqrt](call).IB
	}
	r, t = args[T](call, 3)
	a = arg[T](call, 1)
	if r.Rows < a.Cols || r.Cols != a.Cols {
		panic(kernels.ErrShape)
	}
	checkT(t, ib, a.Cols)
	return ib, r, a, t
}

// tpqrt returns the function of a version of op "ttqrt", if triangle, or "tsqrt".
func tpqrt[T kernels.Element](q cpu.QRRoutines[T], triangle bool) func(*versions.Call) error {
	return func(call *versions.Call) error {
		ib, r, a, t := tpqrtOf[T](call, triangle)
		m, l := a.Rows, 0
		if triangle {
			m = min(a.Rows, a.Cols)
			l = m
		}
		work := versions.Scratch[T](call.Work, q.Work(max(m, a.Cols), a.Cols, ib))
		q.Tpqrt(m, a.Cols, l, ib, r.Data, r.Stride, a.Data, a.Stride, t.Data, t.Stride, work)
		return nil
	}
}

// tsqrtWork returns 2·m·n².
func tsqrtWork[T kernels.Element](call *versions.Call) float64 {
	_, _, a, _ := tpqrtOf[T](call, false)
	return 2 * float64(a.Rows) * float64(a.Cols) * float64(a.Cols)
}

// ttqrtWork returns 2·k²·n − 4/3·k³ + 2·k·(n−k)² for k = min(m, n).
func ttqrtWork[T kernels.Element](call *versions.Call) float64 {
	_, _, a, _ := tpqrtOf[T](call, true)
	n, k := float64(a.Cols), float64(min(a.Rows, a.Cols))
	return 2*k*k*n - 4*k*k*k/3 + 2*k*(n-k)*(n-k)
}

// tpmqrtOf returns the parameter and the operands of op "ttmqr", if triangle, or
// "tsmqr", and the number of rows of V that take part, from which C2 must have as many
// rows (columns) or, if it is a triangle, at least as many.
func tpmqrtOf[T kernels.Element](call *versions.Call, triangle bool) (p *kernels.Tsmqr, v, t, c1, c2 *kernels.Tile[T], rows int) {
	if triangle {
		p = (*kernels.Tsmqr)(params[kernels.Ttmqr](call))
	} else {
		p = params[kernels.Tsmqr](call)
	}
	v, c2 = args[T](call, 4)
	t, c1 = arg[T](call, 1), arg[T](call, 2)
	k := v.Cols
	rows = v.Rows
	if triangle {
		rows = min(rows, k)
	}
	r1, n1 := along(p.Side, c1.Rows, c1.Cols)
	r2, n2 := along(p.Side, c2.Rows, c2.Cols)
	if r1 < k || n1 != n2 || r2 < rows || !triangle && r2 != rows {
		panic(kernels.ErrShape)
	}
	checkT(t, p.IB, k)
	return p, v, t, c1, c2, rows
}

// tpmqrt returns the function of a version of op "ttmqr", if triangle, or "tsmqr": it
// applies the factor of rows×k reflectors at V to C1 and C2.
func tpmqrt[T kernels.Element](q cpu.QRRoutines[T], triangle bool) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p, v, t, c1, c2, rows := tpmqrtOf[T](call, triangle)
		m, n, l := rows, c2.Cols, 0
		if p.Side == blas.Right {
			m, n = c2.Rows, rows
		}
		if triangle {
			l = rows
		}
		work := versions.Scratch[T](call.Work, q.Work(max(m, n, v.Cols), v.Cols, p.IB))
		pack := kernels.PackingsOf(call).A
		vp := packedFactor(pack, q, kernels.PackingForm{Dim: rows, K: v.Cols, IB: p.IB, Trapezoid: triangle}, func(ours *cpu.QR[T], dst []T) {
			ours.PackTpqrt(dst, rows, v.Cols, l, p.IB, v.Data, v.Stride, t.Data, t.Stride)
		})
		defer pack.Done(vp != nil)
		sharedQR(q, call, vp).Tpmqrt(p.Side, p.Trans, m, n, v.Cols, l, p.IB, v.Data, v.Stride, t.Data, t.Stride, c1.Data, c1.Stride, c2.Data, c2.Stride, work)
		return nil
	}
}

// tsmqrWork returns 4·m·n·k.
func tsmqrWork[T kernels.Element](call *versions.Call) float64 {
	_, v, _, _, c2, _ := tpmqrtOf[T](call, false)
	return 4 * float64(c2.Rows) * float64(c2.Cols) * float64(v.Cols)
}

// ttmqrWork returns 2·n·r·(2k−r) for the r ≤ k rows of V that take part.
func ttmqrWork[T kernels.Element](call *versions.Call) float64 {
	p, v, _, _, c2, rows := tpmqrtOf[T](call, true)
	_, n := along(p.Side, c2.Rows, c2.Cols)
	return 2 * float64(n) * float64(rows) * float64(2*v.Cols-rows)
}
