package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// params returns the parameter of call as *P.
func params[P any](call *versions.Call) *P {
	p, ok := call.Params.(*P)
	if !ok {
		panic(kernels.ErrParams)
	}
	return p
}

// args returns the first and the last operand of call, which must have n.
func args[T kernels.Element](call *versions.Call, n int) (first, last *kernels.Tile[T]) {
	if len(call.Args) != n {
		panic(kernels.ErrArgs)
	}
	return arg[T](call, 0), arg[T](call, n-1)
}

func arg[T kernels.Element](call *versions.Call, i int) *kernels.Tile[T] {
	return operand[*kernels.Tile[T]](call, i)
}

// operand returns operand i of call, which must be there and a V.
func operand[V any](call *versions.Call, i int) V {
	if i < 0 || i >= len(call.Args) {
		panic(kernels.ErrArgs)
	}
	v, ok := call.Args[i].(V)
	if !ok {
		panic(kernels.ErrArgs)
	}
	return v
}

// along returns the order of a square factor on that side of a matrix, and the other
// dimension of that.
func along(side blas.Side, rows, cols int) (order, others int) {
	if side == blas.Right {
		return cols, rows
	}
	return rows, cols
}

// dims returns the shape of op(t).
func dims[T kernels.Element](t *kernels.Tile[T], trans blas.Transpose) (r, c int) {
	if trans == blas.NoTrans {
		return t.Rows, t.Cols
	}
	return t.Cols, t.Rows
}

// gemmOf returns the operands of op "gemm" and its dimensions.
func gemmOf[T kernels.Element](call *versions.Call, p *kernels.Gemm) (a, b, c *kernels.Tile[T], m, n, k int) {
	a, c = args[T](call, 3)
	b = arg[T](call, 1)
	m, k = dims(a, p.TransA)
	kb, n := dims(b, p.TransB)
	if k != kb || c.Rows != m || c.Cols != n {
		panic(kernels.ErrShape)
	}
	return a, b, c, m, n, k
}

// gemm returns the function of a version of op "gemm".
func gemm[T kernels.Element](r cpu.Routines[T]) func(*versions.Call) error {
	packed, ours := r.(*cpu.Packed[T])
	return func(call *versions.Call) error {
		p := params[kernels.Gemm](call)
		a, b, c, m, n, k := gemmOf[T](call, p)
		var ap, bp []T
		share := kernels.PackingsOf(call)
		defer func() { share.A.Done(ap != nil); share.B.Done(bp != nil) }()
		if ours && (m == 1 || n == 1) {
			gemv(packed, p, a, b, c)
			return nil
		}
		work := versions.Scratch[T](call.Work, r.Work(max(m, n, k)))
		if ours && packed.Prepacks(m, n, k) {
			ap = packedLeft(share.A, packed, a, p.TransA, m, k)
			bp = packedRight(share.B, packed, b, p.TransB, n, k)
		}
		if ap != nil || bp != nil {
			sharedPacked(packed, call).GemmPacked(p.TransA, p.TransB, m, n, k, T(p.Alpha), a.Data, a.Stride, ap, b.Data, b.Stride, bp, T(p.Beta), c.Data, c.Stride, work)
			return nil
		}
		shared(r, call).Gemm(p.TransA, p.TransB, m, n, k, T(p.Alpha), a.Data, a.Stride, b.Data, b.Stride, T(p.Beta), c.Data, c.Stride, work)
		return nil
	}
}

// thin reports whether one of the operands has at most eight rows or columns. On one
// core of a Xeon (model 167) a product of 512×512 by 512×1 then took 32 µs, one of 64×64
// by 64×64 with the same work 6, and of the kernels that were measured now on one
// and now on the other the slower one was taken.
func thin[T kernels.Element](call *versions.Call) bool {
	for _, a := range call.Args {
		if t, ok := a.(*kernels.Tile[T]); ok && min(t.Rows, t.Cols) <= 8 {
			return true
		}
	}
	return false
}

// gemmWork returns 2·m·n·k.
func gemmWork[T kernels.Element](call *versions.Call) float64 {
	a, c := args[T](call, 3)
	_, k := dims(a, params[kernels.Gemm](call).TransA)
	return 2 * float64(c.Rows) * float64(c.Cols) * float64(k)
}

// syrkOf returns the operands of op "syrk" and its dimensions.
func syrkOf[T kernels.Element](call *versions.Call, p *kernels.Syrk) (a, c *kernels.Tile[T], n, k int) {
	a, c = args[T](call, 2)
	n, k = dims(a, p.Trans)
	if c.Rows != n || c.Cols != n {
		panic(kernels.ErrShape)
	}
	return a, c, n, k
}

// syrk returns the function of a version of op "syrk".
func syrk[T kernels.Element](r cpu.Routines[T]) func(*versions.Call) error {
	packed, ours := r.(*cpu.Packed[T])
	return func(call *versions.Call) error {
		p := params[kernels.Syrk](call)
		a, c, n, k := syrkOf[T](call, p)
		var ap, bp []T
		share := kernels.PackingsOf(call)
		defer func() { share.A.Done(ap != nil); share.B.Done(bp != nil) }()
		work := versions.Scratch[T](call.Work, r.Work(max(n, k)))
		if ours && call.Gang == nil && packed.PrepacksSyrk(n, k) {
			ap = packedLeft(share.A, packed, a, p.Trans, n, k)
			bp = packedRight(share.B, packed, a, flip(p.Trans), n, k)
		}
		if ap != nil || bp != nil {
			packed.SyrkPacked(p.Uplo, p.Trans, n, k, T(p.Alpha), a.Data, a.Stride, ap, bp, T(p.Beta), c.Data, c.Stride, work)
			return nil
		}
		shared(r, call).Syrk(p.Uplo, p.Trans, n, k, T(p.Alpha), a.Data, a.Stride, T(p.Beta), c.Data, c.Stride, work)
		return nil
	}
}

// syrkWork returns n·(n+1)·k.
func syrkWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := args[T](call, 2)
	n, k := dims(a, params[kernels.Syrk](call).Trans)
	return float64(n) * float64(n+1) * float64(k)
}

// triangularOf returns the parameter and the operands of op "trmm", if product, or
// "trsm".
func triangularOf[T kernels.Element](call *versions.Call, product bool) (p *kernels.Trsm, a, b *kernels.Tile[T]) {
	if product {
		p = (*kernels.Trsm)(params[kernels.Trmm](call))
	} else {
		p = params[kernels.Trsm](call)
	}
	a, b = args[T](call, 2)
	order, _ := along(p.Side, b.Rows, b.Cols)
	if a.Rows < order || a.Cols < order || product && (a.Rows != order || a.Cols != order) {
		panic(kernels.ErrShape)
	}
	return p, a, b
}

// triangular returns the function of a version of op "trmm", if product, or "trsm".
func triangular[T kernels.Element](r cpu.Routines[T], product bool) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p, a, b := triangularOf[T](call, product)
		m, n := b.Rows, b.Cols
		work := versions.Scratch[T](call.Work, r.Work(max(m, n)))
		if product {
			r.Trmm(p.Side, p.Uplo, p.Trans, p.Diag, m, n, T(p.Alpha), a.Data, a.Stride, b.Data, b.Stride, work)
		} else {
			shared(r, call).Trsm(p.Side, p.Uplo, p.Trans, p.Diag, m, n, T(p.Alpha), a.Data, a.Stride, b.Data, b.Stride, work)
		}
		return nil
	}
}

// trsmWork returns m²·n or m·n².
func trsmWork[T kernels.Element](call *versions.Call) float64 {
	_, b := args[T](call, 2)
	order, _ := along(params[kernels.Trsm](call).Side, b.Rows, b.Cols)
	return float64(order) * float64(b.Rows) * float64(b.Cols)
}

// trmmWork returns m²·n or m·n².
func trmmWork[T kernels.Element](call *versions.Call) float64 {
	a, b := args[T](call, 2)
	return float64(a.Rows) * float64(b.Rows) * float64(b.Cols)
}

// potrfOf returns the operand of op "potrf".
func potrfOf[T kernels.Element](call *versions.Call) *kernels.Tile[T] {
	a, _ := args[T](call, 1)
	if a.Cols != a.Rows {
		panic(kernels.ErrShape)
	}
	return a
}

// potrf returns the function of a version of op "potrf".
func potrf[T kernels.Element](r cpu.Routines[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[kernels.Potrf](call)
		a := potrfOf[T](call)
		n := a.Rows
		work := versions.Scratch[T](call.Work, r.Work(n))
		if info := shared(r, call).Potrf(p.Uplo, n, a.Data, a.Stride, work); info != 0 {
			return &kernels.NotPositiveDefiniteError{Minor: p.Offset + info}
		}
		return nil
	}
}

// potrfWork returns n³/3 + n²/2 + n/6.
func potrfWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := args[T](call, 1)
	n := float64(a.Rows)
	return n * (n + 1) * (2*n + 1) / 6
}

// flip returns the other of NoTrans and Trans; conjugation means nothing here.
func flip(trans blas.Transpose) blas.Transpose {
	if trans == blas.NoTrans {
		return blas.Trans
	}
	return blas.NoTrans
}
