package builtin

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// cudaFactor is an orthogonal factor Q of k reflectors in blocks of ib on a
// device, and the side and the number of rows (from the right: columns) of C
// that it is applied to,
//
//	C = op(Q)·C or C = C·op(Q).
//
// A block is H = I − V·T·Vᵀ. From the left, W is w×n for a block of w columns:
//
//	W = Vᵀ·C,  W = op(T)·W,  C = C − V·W
//
// and from the right n×w: W = C·V, W = W·op(T), C = C − W·Vᵀ.
type cudaFactor[T kernels.Element] struct {
	queue[T]
	left  bool
	trans blas.Transpose
	n     int // columns of C, or rows from the right
	k, ib int
	v, t  stored
	w     stored
}

// newCUDAFactor returns a factor with room for W.
func newCUDAFactor[T kernels.Element](call *versions.Call, side blas.Side, trans blas.Transpose, n, k, ib int, v, t stored) (f cudaFactor[T], err error) {
	f = cudaFactor[T]{queue: queueOf[T](call), left: side == blas.Left, trans: plain(trans), n: n, k: k, ib: min(ib, k), v: v, t: t}
	f.w, err = f.scratch(f.strip(f.ib))
	return f, err
}

// checkFactor panics unless side and ib are right.
func checkFactor(side blas.Side, trans blas.Transpose, ib int) {
	facing(side)
	plain(trans)
	checkIB(ib)
}

// strip returns the dimensions of r rows of C, from the right of r columns.
func (f *cudaFactor[T]) strip(r int) (rows, cols int) {
	if f.left {
		return r, f.n
	}
	return f.n, r
}

// at returns C or W from row i on, from the right column i.
func (f *cudaFactor[T]) at(c stored, i int) stored {
	if f.left {
		return f.from(c, i, 0)
	}
	return f.from(c, 0, i)
}

// eachBlock calls apply for the blocks in their order, with the first column
// and the width.
func (f *cudaFactor[T]) eachBlock(apply func(j, w int) error) error {
	blocks := (f.k + f.ib - 1) / max(f.ib, 1)
	for b := range blocks {
		if f.left != (f.trans != blas.NoTrans) {
			b = blocks - 1 - b
		}
		j := b * f.ib
		if err := apply(j, min(f.ib, f.k-j)); err != nil {
			return err
		}
	}
	return nil
}

// triangle computes dst = op(A)·src for a triangle A of order w, from the right
// dst = src·op(A).
func (f *cudaFactor[T]) triangle(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, w int, a, src, dst stored) error {
	side := blas.Right
	if f.left {
		side = blas.Left
	}
	m, n := f.strip(w)
	return f.trmm(side, uplo, trans, diag, m, n, 1, a, src, dst)
}

// into computes dst = Vᵀ·src for a triangle of V, from the right dst = src·V, and
// out computes dst = V·src, from the right dst = src·Vᵀ.
func (f *cudaFactor[T]) into(uplo blas.Uplo, diag blas.Diag, w int, v, src, dst stored) error {
	if f.left {
		return f.triangle(uplo, blas.Trans, diag, w, v, src, dst)
	}
	return f.triangle(uplo, blas.NoTrans, diag, w, v, src, dst)
}

func (f *cudaFactor[T]) out(uplo blas.Uplo, diag blas.Diag, w int, v, src, dst stored) error {
	if f.left {
		return f.triangle(uplo, blas.NoTrans, diag, w, v, src, dst)
	}
	return f.triangle(uplo, blas.Trans, diag, w, v, src, dst)
}

// gather computes W += Vᵀ·C for r full rows of V of w columns, from the right
// W += C·V.
func (f *cudaFactor[T]) gather(r, w int, v, c, to stored) error {
	if r == 0 {
		return nil
	}
	if f.left {
		return f.gemm(blas.Trans, blas.NoTrans, w, f.n, r, 1, v, c, 1, to)
	}
	return f.gemm(blas.NoTrans, blas.NoTrans, f.n, w, r, 1, c, v, 1, to)
}

// spread computes C −= V·W for r full rows of V of w columns, from the right
// C −= W·Vᵀ.
func (f *cudaFactor[T]) spread(r, w int, v, from, c stored) error {
	if r == 0 || w == 0 {
		return nil
	}
	if f.left {
		return f.gemm(blas.NoTrans, blas.NoTrans, r, f.n, w, -1, v, from, 1, c)
	}
	return f.gemm(blas.NoTrans, blas.Trans, f.n, r, w, -1, from, v, 1, c)
}

// plus computes dst = x + beta·y in w rows, from the right in w columns.
func (f *cudaFactor[T]) plus(w int, x stored, beta float64, y, dst stored) error {
	m, n := f.strip(w)
	return f.add(m, n, x, beta, y, dst)
}

// middle computes W = op(T)·W, from the right W·op(T), for the block that begins
// in column j.
func (f *cudaFactor[T]) middle(j, w int) error {
	return f.triangle(blas.Upper, f.trans, blas.NonUnit, w, f.from(f.t, 0, j), f.w, f.w)
}

// cudaUnmqr is the function of version "cuda" of op "unmqr". V is a triangle,
// with ones on its diagonal that are not stored, on top of a full matrix.
func cudaUnmqr[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Unmqr](call)
	v, _, c, k := unmqrOf[T](call, p)
	checkFactor(p.Side, p.Trans, p.IB)
	unpacked(call)
	_, n := along(p.Side, c.Rows, c.Cols)
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
		return inOrder(
			func() error { return f.into(blas.Lower, blas.Unit, w, corner, c1, f.w) },
			func() error { return f.gather(top, w, rest, c2, f.w) },
			func() error { return f.middle(j, w) },
			func() error { return f.spread(top, w, rest, f.w, c2) },
			func() error { return f.out(blas.Lower, blas.Unit, w, corner, f.w, f.w) },
			func() error { return f.plus(w, c1, -1, f.w, c1) },
		)
	})
}

// inOrder calls the functions until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// cudaTsmqr is the function of version "cuda" of op "tsmqr". V is a unit matrix,
// which meets C1, on top of a full one, which meets C2.
func cudaTsmqr[T kernels.Element](call *versions.Call) error { return cudaTpmqrt[T](call, false) }

// cudaTtmqr is the function of version "cuda" of op "ttmqr". V is a unit matrix,
// which meets C1, on top of an upper trapezoid, which meets C2.
func cudaTtmqr[T kernels.Element](call *versions.Call) error { return cudaTpmqrt[T](call, true) }

func cudaTpmqrt[T kernels.Element](call *versions.Call, trapezoid bool) error {
	unpacked(call)
	p, v, _, _, c2, rows := tpmqrtOf[T](call, trapezoid)
	checkFactor(p.Side, p.Trans, p.IB)
	_, n := along(p.Side, c2.Rows, c2.Cols)
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
		// The rows of V in three parts: full ones, d that are a triangle in their
		// first d columns, and what is right of that.
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
		return inOrder(
			// W = C1 + Vᵀ·C2
			func() error { return f.into(blas.Upper, blas.NonUnit, d, corner, cd, f.w) },
			func() error { return f.plus(d, f.w, 1, c1, f.w) },
			func() error {
				r, c := f.strip(w - d)
				return f.copy(r, c, f.at(c1, d), wRight)
			},
			func() error { return f.gather(d, w-d, right, cd, wRight) },
			func() error { return f.gather(full, w, rest, x2, f.w) },
			func() error { return f.middle(j, w) },
			// C1 −= W, C2 −= V·W
			func() error { return f.plus(w, c1, -1, f.w, c1) },
			func() error { return f.spread(full, w, rest, f.w, x2) },
			func() error { return f.spread(d, w-d, right, wRight, cd) },
			func() error { return f.out(blas.Upper, blas.NonUnit, d, corner, f.w, f.w) },
			func() error { return f.plus(d, cd, -1, f.w, cd) },
		)
	})
}

// factorMemory returns the bytes of W.
func factorMemory[T kernels.Element](n, k, ib int) int64 {
	return int64(n)*int64(min(ib, k))*int64(unsafe.Sizeof(*new(T))) + scratchUnit
}

func cudaUnmqrMemory[T kernels.Element](call *versions.Call) int64 {
	p := params[kernels.Unmqr](call)
	_, _, c, k := unmqrOf[T](call, p)
	_, n := along(p.Side, c.Rows, c.Cols)
	return factorMemory[T](n, k, p.IB)
}

func cudaTsmqrMemory[T kernels.Element](call *versions.Call) int64 {
	return cudaTpmqrtMemory[T](call, false)
}

func cudaTtmqrMemory[T kernels.Element](call *versions.Call) int64 {
	return cudaTpmqrtMemory[T](call, true)
}

func cudaTpmqrtMemory[T kernels.Element](call *versions.Call, trapezoid bool) int64 {
	p, v, _, _, c2, _ := tpmqrtOf[T](call, trapezoid)
	_, n := along(p.Side, c2.Rows, c2.Cols)
	return factorMemory[T](n, v.Cols, p.IB)
}
