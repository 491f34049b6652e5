package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// cudaFactor applies an orthogonal factor Q of k reflectors, in blocks of ib, to C on a device:
//
//	C = op(Q)·C or C = C·op(Q).
//
// A block is H = I − V·T·Vᵀ. From the left, W is w×n for a block of w columns:
//
//	W = Vᵀ·C (applyVT, addVTC),  W = op(T)·W (applyT),  C = C − V·W (applyV, subtractVW)
//
// From the right, W is n×w:
//
//	W = C·V,  W = W·op(T),  C = C − W·Vᵀ
//
// The methods have the names of the steps from the left. From the right they do the corresponding
// steps.
type cudaFactor[T kernels.Element] struct {
	queue[T]
	left  bool // Q is to the left of C
	trans blas.Transpose
	n     int // columns of C, or its rows if Q is on the right
	k, ib int // reflectors, and columns of a block
	v, t  stored
	w     stored // scratch memory
}

// newCUDAFactor returns a factor with scratch memory for W.
func newCUDAFactor[T kernels.Element](call *versions.Call, side blas.Side, trans blas.Transpose, n, k, ib int,
	v, t stored) (f cudaFactor[T], err error) {
	f = cudaFactor[T]{queue: queueOf[T](call), left: side == blas.Left, trans: unconjugated(trans), n: n, k: k,
		ib: min(ib, k), v: v, t: t}
	f.w, err = f.scratch(f.strip(f.ib))
	return f, err
}

// checkFactor panics unless side, trans and ib are valid.
func checkFactor(side blas.Side, trans blas.Transpose, ib int) {
	otherSide(side)
	unconjugated(trans)
	checkIB(ib)
}

// strip returns the shape of r rows of C, or of r columns if Q is on the right.
func (f *cudaFactor[T]) strip(r int) (rows, cols int) {
	if f.left {
		return r, f.n
	}
	return f.n, r
}

// at returns C or W from row i on, or from column i on if Q is on the right.
func (f *cudaFactor[T]) at(c stored, i int) stored {
	if f.left {
		return f.from(c, i, 0)
	}
	return f.from(c, 0, i)
}

// eachBlock calls apply with the first column and the width of each block, in the order of op(Q).
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

// applyTriangle computes dst = op(A)·src, or dst = src·op(A) if Q is on the right, for a triangle A of
// order w.
func (f *cudaFactor[T]) applyTriangle(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, w int,
	a, src, dst stored) error {
	side := blas.Right
	if f.left {
		side = blas.Left
	}
	m, n := f.strip(w)
	return f.trmm(side, uplo, trans, diag, m, n, 1, a, src, dst)
}

// applyVT computes dst = Vᵀ·src, or dst = src·V if Q is on the right, for a triangle of V.
func (f *cudaFactor[T]) applyVT(uplo blas.Uplo, diag blas.Diag, w int, v, src, dst stored) error {
	if f.left {
		return f.applyTriangle(uplo, blas.Trans, diag, w, v, src, dst)
	}
	return f.applyTriangle(uplo, blas.NoTrans, diag, w, v, src, dst)
}

// applyV computes dst = V·src, or dst = src·Vᵀ if Q is on the right, for a triangle of V.
func (f *cudaFactor[T]) applyV(uplo blas.Uplo, diag blas.Diag, w int, v, src, dst stored) error {
	if f.left {
		return f.applyTriangle(uplo, blas.NoTrans, diag, w, v, src, dst)
	}
	return f.applyTriangle(uplo, blas.Trans, diag, w, v, src, dst)
}

// addVTC computes W += Vᵀ·C, or W += C·V if Q is on the right, for r full rows of V with w columns.
func (f *cudaFactor[T]) addVTC(r, w int, v, c, to stored) error {
	if r == 0 {
		return nil
	}
	if f.left {
		return f.gemm(blas.Trans, blas.NoTrans, w, f.n, r, 1, v, c, 1, to)
	}
	return f.gemm(blas.NoTrans, blas.NoTrans, f.n, w, r, 1, c, v, 1, to)
}

// subtractVW computes C −= V·W, or C −= W·Vᵀ if Q is on the right, for r full rows of V with w columns.
func (f *cudaFactor[T]) subtractVW(r, w int, v, from, c stored) error {
	if r == 0 || w == 0 {
		return nil
	}
	if f.left {
		return f.gemm(blas.NoTrans, blas.NoTrans, r, f.n, w, -1, v, from, 1, c)
	}
	return f.gemm(blas.NoTrans, blas.Trans, f.n, r, w, -1, from, v, 1, c)
}

// addStrips computes dst = x + beta·y in w rows, or in w columns if Q is on the right.
func (f *cudaFactor[T]) addStrips(w int, x stored, beta T, y, dst stored) error {
	m, n := f.strip(w)
	return f.add(m, n, x, beta, y, dst)
}

// applyT computes W = op(T)·W, or W = W·op(T) if Q is on the right, for the block at column j.
func (f *cudaFactor[T]) applyT(j, w int) error {
	return f.applyTriangle(blas.Upper, f.trans, blas.NonUnit, w, f.from(f.t, 0, j), f.w, f.w)
}

// untilError calls the functions in order until one fails.
func untilError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// factorMemory returns the bytes of W.
func factorMemory[T kernels.Element](n, k, ib int) int64 {
	return int64(n)*int64(min(ib, k))*int64(scalar.Size[T]()) + scratchUnit
}
