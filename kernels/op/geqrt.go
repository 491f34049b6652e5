package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// The ops of the tile QR factorization. Every orthogonal factor is a product of
// block reflectors I − V·T·Vᵀ of IB columns each, T upper triangular. A tile of T is
// min(IB, k)×k for k reflectors, or larger; the triangle of the block that
// begins at column j occupies its columns j to j+min(IB, k−j)−1 from row 0 on,
// as LAPACK's xGEQRT and xTPQRT store it. The elements below the triangles are
// neither read nor written.
//
// The factorizations scale columns whose squares would over- or underflow. A column
// that is zero below the diagonal gets the reflector I, and T's element is zero. NaN
// and infinities propagate.

// Geqrt is the parameter of op "geqrt" (LAPACK xGEQRT): the QR factorization of
// an m×n tile,
//
//	A = Q·R.
//
// Operands: A (inout), T (out, for min(m, n) reflectors). R overwrites the upper triangle
// of A, and V the elements below the diagonal. The ones on V's diagonal are not stored.
type Geqrt struct {
	IB int // columns of a block reflector, at least 1

	Row int // first row of the tile that takes part; rows above are neither read nor written
}

// Validate returns an error if a field is out of range.
func (p *Geqrt) Validate() error { return check("geqrt", p) }

// geqrtOp defines op "geqrt".
func geqrtOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "geqrt", Work: geqrtWork[T], NewParams: fresh[Geqrt]},
		about: "QR factorization of a tile, A = QR",
		run:   geqrt[T],
		cuda:  versions.Version{Run: cudaGeqrt[T], Memory: cudaGeqrtMemory[T]},
	}
}

// geqrtOf returns the parameter, the operands and the number of reflectors k of op "geqrt".
func geqrtOf[T kernels.Element](call *versions.Call) (p *Geqrt, a kernels.Tile[T], t *kernels.Tile[T], k int) {
	p = params[Geqrt](call)
	whole, t := args[T](call, 2)
	a = fromRow(whole, p.Row)
	k = min(a.Rows, a.Cols)
	checkT(t, p.IB, k)
	return p, a, t, k
}

// geqrtWork returns 4·(m·n·k − (m+n)·k²/2 + k³/3) for k = min(m, n).
func geqrtWork[T kernels.Element](call *versions.Call) float64 {
	whole, _ := args[T](call, 2)
	a := fromRow(whole, params[Geqrt](call).Row)
	m, n, k := float64(a.Rows), float64(a.Cols), float64(min(a.Rows, a.Cols))
	return 4*m*n*k - 2*(m+n)*k*k + 4*k*k*k/3
}

// geqrt returns the function of a version of op "geqrt".
func geqrt[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p, a, t, k := geqrtOf[T](call)
		work := versions.Scratch[T](call.Work, by.qr.Work(max(a.Rows, a.Cols), k, p.IB))
		by.qr.Geqrt(a.Rows, a.Cols, p.IB, a.Data, a.Stride, t.Data, t.Stride, work)
		return nil
	}
}

// cudaGeqrt is the function of version "cuda" of op "geqrt".
func cudaGeqrt[T kernels.Element](call *versions.Call) error {
	p, tile, _, k := geqrtOf[T](call)
	checkIB(p.IB)
	m, n := tile.Rows, tile.Cols
	q := queueOf[T](call)
	if k == 0 {
		return nil
	}
	f, err := newCUDAPanels[T](call, n, k, p.IB, func(j, _ int) int { return m - j }, q.operand(1))
	if err != nil {
		return err
	}
	a := q.from(q.operand(0), p.Row, 0)
	return f.eachPanel(func(j, w int) error {
		rows, right := m-j, n-j-w
		v, c := f.from(a, j, j), f.from(a, j, j+w)
		return untilError(
			func() error { return f.pack(rows, w, -rows, v, 0) },
			func() error { return f.factor(rows, w) },
			func() error { return f.unpack(rows, w, -rows, v, 0) },
			// V with its ones and zeros instead of R.
			func() error { return f.s.SetUpper(f.typ, w, w, 1, f.rowMajorT(f.panel)) },
			func() error { return f.larft(j, w, rows, f.panel) },
			func() error { return f.gemm(blas.NoTrans, blas.NoTrans, w, right, rows, 1, f.panel, c, 0, f.w) },
			func() error { return f.applyT(j, w, right) },
			func() error { return f.gemm(blas.Trans, blas.NoTrans, rows, right, w, -1, f.panel, f.w, 1, c) },
		)
	})
}

// cudaGeqrtMemory returns the bytes of scratch memory that cudaGeqrt needs.
func cudaGeqrtMemory[T kernels.Element](call *versions.Call) int64 {
	p, a, _, k := geqrtOf[T](call)
	return panelsMemory[T](a.Rows, a.Cols, k, p.IB)
}
