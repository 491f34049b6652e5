package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// gangedQR makes versions that use several computing units of the routines
// that multiply by an orthogonal factor or a triangle: columns of C (rows, from
// the right) have nothing to do with each other. The factorizations stay with
// one unit: a panel has too few rows to share.
type gangedQR[T kernels.Element] struct {
	*ganged[T]
	q cpu.QRRoutines[T]
}

// functions returns the functions of versions by the names of their ops.
func (g *gangedQR[T]) functions() map[string]func(*versions.Call) error {
	run := qrFunctions(g.q, g.r)
	run["trmm"], run["unmqr"], run["tsmqr"], run["ttmqr"] = g.trmm, g.unmqr, g.tsmqr, g.ttmqr
	return run
}

// strips cuts n into strips as [ganged.strips] does, with work elements of
// scratch each.
func (g *gangedQR[T]) strips(call *versions.Call, n, work int, f part[T]) {
	parts := max(1, min(2*g.units, n/g.grain))
	bound := func(i int) int {
		if i == parts {
			return n
		}
		return i * n / parts / g.grain * g.grain
	}
	call.Parallel(parts, func(i int, w *versions.Workspace) {
		if lo, hi := bound(i), bound(i+1); lo < hi {
			f(lo, hi, versions.Scratch[T](w, work))
		}
	})
}

// across returns the number of columns of a matrix that is multiplied from the
// left, or of rows of one from the right, and the distance of the one from the
// next in the tile.
func across[T kernels.Element](c *kernels.Tile[T], side blas.Side) (n, step int) {
	if side == blas.Right {
		return c.Rows, c.Stride
	}
	return c.Cols, 1
}

// between returns the shape of strip lo to hi of an m×n matrix.
func between(side blas.Side, m, n, lo, hi int) (rows, cols int) {
	if side == blas.Right {
		return hi - lo, n
	}
	return m, hi - lo
}

func (g *gangedQR[T]) trmm(call *versions.Call) error {
	p := params[kernels.Trmm](call)
	a, b := trmmOf[T](call, p)
	n, step := across(b, p.Side)
	g.strips(call, n, g.r.Work(max(b.Rows, b.Cols)), func(lo, hi int, work []T) {
		m, n := between(p.Side, b.Rows, b.Cols, lo, hi)
		g.r.Trmm(p.Side, p.Uplo, p.Trans, p.Diag, m, n, T(p.Alpha), a.Data, a.Stride, b.Data[min(lo*step, len(b.Data)):], b.Stride, work)
	})
	return nil
}

func (g *gangedQR[T]) unmqr(call *versions.Call) error {
	p := params[kernels.Unmqr](call)
	v, t, c, k := unmqrOf[T](call, p)
	p.PackV.Done(false)
	n, step := across(&c, p.Side)
	g.strips(call, n, g.q.Work(max(c.Rows, c.Cols), k, p.IB), func(lo, hi int, work []T) {
		m, n := between(p.Side, c.Rows, c.Cols, lo, hi)
		g.q.Gemqrt(p.Side, p.Trans, m, n, k, p.IB, v.Data, v.Stride, t.Data, t.Stride, c.Data[min(lo*step, len(c.Data)):], c.Stride, work)
	})
	return nil
}

// tpmqrt is [tpmqrt] on the units of the gang.
func (g *gangedQR[T]) tpmqrt(call *versions.Call, side blas.Side, trans blas.Transpose, ib int, triangle bool) {
	v, t, c1, c2, rows := tpmqrtOf[T](call, side, ib, triangle)
	l := 0
	if triangle {
		l = rows
	}
	n, step2 := across(c2, side)
	_, step1 := across(c1, side)
	g.strips(call, n, g.q.Work(max(n, rows, v.Cols), v.Cols, ib), func(lo, hi int, work []T) {
		m, n := between(side, rows, rows, lo, hi)
		g.q.Tpmqrt(side, trans, m, n, v.Cols, l, ib, v.Data, v.Stride, t.Data, t.Stride,
			c1.Data[min(lo*step1, len(c1.Data)):], c1.Stride, c2.Data[min(lo*step2, len(c2.Data)):], c2.Stride, work)
	})
}

func (g *gangedQR[T]) tsmqr(call *versions.Call) error {
	p := params[kernels.Tsmqr](call)
	p.PackV.Done(false)
	g.tpmqrt(call, p.Side, p.Trans, p.IB, false)
	return nil
}

func (g *gangedQR[T]) ttmqr(call *versions.Call) error {
	p := params[kernels.Ttmqr](call)
	p.PackV.Done(false)
	g.tpmqrt(call, p.Side, p.Trans, p.IB, true)
	return nil
}
