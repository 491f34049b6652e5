package op

import (
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Unmqr overwrites x with Qᵀ·x, or Q·x if not transposed, for the Q of op "geqrt" with the tiles V and T, in blocks of ib
// columns. x has as many elements as V has rows, and w at least ib elements of scratch.
func (v Vectors[T]) Unmqr(transposed bool, ib int, a, t *kernels.Tile[T], x, w []T) {
	v.eachReflector(transposed, min(a.Rows, a.Cols), ib, func(j, n int) {
		// A unit lower triangle of order n is on top of the rest of the reflectors.
		below := a.Data[min((j+n)*a.Stride+j, len(a.Data)):]
		w, top, rest := w[:n], x[j:j+n], x[j+n:a.Rows]
		copy(w, top)
		for r := 1; r < n; r++ {
			addScaled(w, top[r], a.Data[(j+r)*a.Stride+j:][:r])
		}
		if len(rest) > 0 {
			v.r.Gemv(blas.Trans, len(rest), n, 1, below, a.Stride, rest, 1, 1, w, 1)
		}
		byTriangle(transposed, t, j, w)
		for r := range top {
			top[r] -= w[r] + dot(a.Data[(j+r)*a.Stride+j:][:r], w)
		}
		if len(rest) > 0 {
			v.r.Gemv(blas.NoTrans, len(rest), n, -1, below, a.Stride, w, 1, 1, rest, 1)
		}
	})
}

// Tpmqrt overwrites x1 and x2 as [Vectors.Unmqr] does x, for the Q of op "tsqrt", or of "ttqrt" if V is a triangle. x1
// has at least as many elements as V has columns, of which these take part. x2 has as many as V has rows, or those of the
// triangle.
func (v Vectors[T]) Tpmqrt(transposed, triangle bool, ib int, a, t *kernels.Tile[T], x1, x2, w []T) {
	v.eachReflector(transposed, a.Cols, ib, func(j, n int) {
		full, edge := a.Rows, 0 // rows of the block, and rows of its triangle below them
		if triangle {
			rows := min(a.Rows, a.Cols)
			full = min(j, rows)
			edge = min(n, rows-full)
		}
		w, top := w[:n], x1[j:j+n]
		copy(w, top)
		if full > 0 {
			v.r.Gemv(blas.Trans, full, n, 1, a.Data[j:], a.Stride, x2, 1, 1, w, 1)
		}
		for r := range edge {
			addScaled(w[r:], x2[full+r], a.Data[(full+r)*a.Stride+j+r:][:n-r])
		}
		byTriangle(transposed, t, j, w)
		addScaled(top, -1, w)
		if full > 0 {
			v.r.Gemv(blas.NoTrans, full, n, -1, a.Data[j:], a.Stride, w, 1, 1, x2, 1)
		}
		for r := range edge {
			x2[full+r] -= dot(a.Data[(full+r)*a.Stride+j+r:][:n-r], w[r:])
		}
	})
}

// eachReflector calls f for each block of n columns from column j on, of k, in the order of Qᵀ or of Q.
func (v Vectors[T]) eachReflector(transposed bool, k, ib int, f func(j, n int)) {
	last := (k - 1) / ib * ib
	for at := 0; at < k; at += ib {
		j := at
		if !transposed {
			j = last - at
		}
		f(j, min(ib, k-j))
	}
}

// byTriangle overwrites w with Tᵀ·w, or T·w if not transposed, for the triangle of the block of T from column j on.
func byTriangle[T kernels.Element](transposed bool, t *kernels.Tile[T], j int, w []T) {
	if !transposed {
		for r := range w {
			w[r] = dot(t.Data[r*t.Stride+j+r:][:len(w)-r], w[r:])
		}
		return
	}
	for r := len(w) - 1; r >= 0; r-- {
		x := w[r]
		w[r] = 0
		addScaled(w[r:], x, t.Data[r*t.Stride+j+r:][:len(w)-r])
	}
}

// addScaled adds alpha·x to y, which has at least the elements of x.
func addScaled[T kernels.Element](y []T, alpha T, x []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

// dot returns the inner product of x and the first elements of y.
func dot[T kernels.Element](x, y []T) (s T) {
	y = y[:len(x)]
	for i, v := range x {
		s += v * y[i]
	}
	return s
}
