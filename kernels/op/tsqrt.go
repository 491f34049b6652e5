package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Tsqrt is the parameter of op "tsqrt" (LAPACK xTPQRT with L = 0): the QR
// factorization of an upper triangle R (n×n) on top of an m×n tile A,
//
//	⎡R⎤       ⎡R'⎤
//	⎣A⎦ = Q · ⎣0 ⎦.
//
// Operands: R (inout), A (inout), T (out, for n reflectors). R' overwrites the upper
// triangle of the first n rows of R's tile, and V overwrites A. The elements of R's tile
// below the diagonal are neither read nor written, so they may hold another V.
type Tsqrt struct {
	IB int
}

// Validate returns an error if a field is out of range.
func (p *Tsqrt) Validate() error { return check("tsqrt", p) }

// tsqrtOp defines op "tsqrt".
func tsqrtOp[T kernels.Element]() definition[T] {
	op := versions.Op{Name: "tsqrt", Work: tsqrtWork[T], NewParams: fresh[Tsqrt]}
	return tpqrtOp[T](op, "QR of a triangle upon a tile", false, params[Tsqrt])
}

// tpqrtOp defines op "ttqrt", if triangle, or "tsqrt". p returns the parameter of a call.
func tpqrtOp[T kernels.Element](op versions.Op, about string, triangle bool,
	p func(*versions.Call) *Tsqrt) definition[T] {
	return definition[T]{
		Op: op, about: about,
		run: func(by implementation[T]) func(*versions.Call) error {
			return func(call *versions.Call) error { return tpqrt(by.qr, call, p(call), triangle) }
		},
		cuda: versions.Version{
			Run:    func(call *versions.Call) error { return cudaTpqrt[T](call, p(call), triangle) },
			Memory: func(call *versions.Call) int64 { return cudaTpqrtMemory[T](call, p(call)) },
		},
	}
}

// tpqrtOf returns the operands of op "tsqrt" or "ttqrt".
func tpqrtOf[T kernels.Element](call *versions.Call, p *Tsqrt) (r, a, t *kernels.Tile[T]) {
	r, t = args[T](call, 3)
	a = arg[T](call, 1)
	panicIf(r.Rows < a.Cols || r.Cols != a.Cols, kernels.ErrShape)
	checkT(t, p.IB, a.Cols)
	return r, a, t
}

// tsqrtWork returns 2·m·n².
func tsqrtWork[T kernels.Element](call *versions.Call) float64 {
	_, a, _ := tpqrtOf[T](call, params[Tsqrt](call))
	return 2 * float64(a.Rows) * float64(a.Cols) * float64(a.Cols)
}

// tpqrt executes a call of op "ttqrt", if triangle, or "tsqrt".
func tpqrt[T kernels.Element](q cpu.QRRoutines[T], call *versions.Call, p *Tsqrt, triangle bool) error {
	r, a, t := tpqrtOf[T](call, p)
	m, l := a.Rows, 0
	if triangle {
		m = min(a.Rows, a.Cols)
		l = m
	}
	work := versions.Scratch[T](call.Work, q.Work(max(m, a.Cols), a.Cols, p.IB))
	q.Tpqrt(m, a.Cols, l, p.IB, r.Data, r.Stride, a.Data, a.Stride, t.Data, t.Stride, work)
	return nil
}

// cudaTpqrt enqueues a call of op "ttqrt", if trapezoid, or "tsqrt".
func cudaTpqrt[T kernels.Element](call *versions.Call, p *Tsqrt, trapezoid bool) error {
	_, a, _ := tpqrtOf[T](call, p)
	ib := p.IB
	checkIB(ib)
	m, n := a.Rows, a.Cols
	q := queueOf[T](call)
	if n == 0 {
		return nil
	}
	if m == 0 { // all reflectors are I
		t := q.operand(2)
		for j := 0; j < n; j += ib {
			w := min(ib, n-j)
			if err := q.s.SetUpper(q.typ, w, w, 0, q.rowMajor(q.from(t, 0, j))); err != nil {
				return err
			}
		}
		return nil
	}
	rowsOf := func(j, w int) int { return tpqrtRows(m, j, w, trapezoid) }
	f, err := newCUDAPanels[T](call, n, n, ib, func(j, w int) int { return w + rowsOf(j, w) }, q.operand(2))
	if err != nil {
		return err
	}
	r, b := q.operand(0), q.operand(1)
	return f.eachPanel(func(j, w int) error {
		rows, right := rowsOf(j, w), n-j-w
		d := -rows // pack and unpack then copy all elements, and with -j the trapezoid
		if trapezoid {
			d = -j
		}
		top, below := f.from(r, j, j), f.from(b, 0, j)
		c1, c2 := f.from(r, j, j+w), f.from(b, 0, j+w)
		vt := f.from(f.panel, 0, w)
		return untilError(
			func() error { return f.pack(w, w, 0, top, 0) },
			func() error { return f.pack(rows, w, d, below, w) },
			func() error { return f.factor(w+rows, w) },
			func() error { return f.unpack(w, w, 0, top, 0) },
			func() error { return f.unpack(rows, w, d, below, w) },
			func() error { return f.larft(j, w, rows, vt) },
			func() error { return f.copy(w, right, c1, f.w) },
			func() error { return f.gemm(blas.NoTrans, blas.NoTrans, w, right, rows, 1, vt, c2, 1, f.w) },
			func() error { return f.applyT(j, w, right) },
			func() error { return f.add(w, right, c1, -1, f.w, c1) },
			func() error { return f.gemm(blas.Trans, blas.NoTrans, rows, right, w, -1, vt, f.w, 1, c2) },
		)
	})
}

// tpqrtRows returns the number of rows of A that have elements in columns j to j+w−1.
func tpqrtRows(m, j, w int, trapezoid bool) int {
	if trapezoid {
		return min(m, j+w)
	}
	return m
}

// cudaTpqrtMemory returns the bytes of scratch memory that cudaTpqrt needs.
func cudaTpqrtMemory[T kernels.Element](call *versions.Call, p *Tsqrt) int64 {
	_, a, _ := tpqrtOf[T](call, p)
	return panelsMemory[T](min(p.IB, a.Cols)+a.Rows, a.Cols, a.Cols, p.IB)
}
