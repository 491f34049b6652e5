package op

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

// inOrder calls the functions until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// factorMemory returns the bytes of W.
func factorMemory[T kernels.Element](n, k, ib int) int64 {
	return int64(n)*int64(min(ib, k))*int64(unsafe.Sizeof(*new(T))) + scratchUnit
}
