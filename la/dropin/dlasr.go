package dropin

import (
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// smallLasr is the number of elements of the largest matrix that Dlasr leaves to gonum by default.
const smallLasr = 32 * 32

// Dlasr multiplies the m×n matrix A by a sequence of plane rotations of neighbouring rows or columns,
//
//	A = P·A (side = Left) or A = A·Pᵀ (side = Right),  P = P(z−1)·…·P(1)·P(0), or P(0)·P(1)·…·P(z−1) if direct is Backward,
//
// where P(k) rotates by the cosine c[k] and the sine s[k]: rows or columns k and k+1 if pivot is lapack.Variable.
// gonum's does the other pivots, and a sequence with rotations by nothing, which leave even infinities as they are. It
// panics as gonum's does.
//
// Reference: LAPACK xLASR.
func (l LAPACK) Dlasr(side blas.Side, pivot lapack.Pivot, direct lapack.Direct, m, n int, c, s, a []float64, lda int) {
	co, order := l.blas.core, n
	if side == blas.Left {
		order = m
	}
	rotate := rotations(co)
	if co.small(smallLasr, m, n) || order < 2 || side != blas.Left && side != blas.Right || pivot != lapack.Variable ||
		direct != lapack.Forward && direct != lapack.Backward || !fits(m, n, a, lda) || len(c) < order-1 || len(s) < order-1 {
		l.Implementation.Dlasr(side, pivot, direct, m, n, c, s, a, lda)
		return
	}
	for k, x := range c[:order-1] {
		if x == 1 && s[k] == 0 {
			l.Implementation.Dlasr(side, pivot, direct, m, n, c, s, a, lda)
			return
		}
	}
	if side == blas.Right {
		rotateColumns(co, direct == lapack.Backward, m, n, c, s, a, lda)
		return
	}
	first, step, sign := 0, 1, 1.
	if direct == lapack.Backward { // from the last row, with the rows of each pair exchanged
		first, step, sign = order-1, -1, -1
	}
	cs := make([]float64, 0, 2*(order-1))
	for i := range order - 1 {
		k := i
		if direct == lapack.Backward {
			k = order - 2 - i
		}
		cs = append(cs, c[k], sign*s[k])
	}
	rotate(tridiag.Matrix[float64]{Rows: m, Cols: n, Stride: lda, Data: a}, first, step, cs)
}

// rotateColumns is Dlasr from the right. It goes through A once, by four rows, whose rotations do not wait for one another.
func rotateColumns(co *core, backward bool, m, n int, c, s, a []float64, lda int) {
	first, step := 0, 1
	if backward {
		first, step = n-2, -1
	}
	parallel(co, m, copyGrain/n+16, func(lo, hi int) {
		i := lo
		for ; i+4 <= hi; i += 4 {
			w, x, y, z := a[i*lda:][:n], a[(i+1)*lda:][:n], a[(i+2)*lda:][:n], a[(i+3)*lda:][:n]
			for k, left := first, n-1; left > 0; k, left = k+step, left-1 {
				c, s := c[k], s[k]
				w[k], w[k+1] = c*w[k]+s*w[k+1], c*w[k+1]-s*w[k]
				x[k], x[k+1] = c*x[k]+s*x[k+1], c*x[k+1]-s*x[k]
				y[k], y[k+1] = c*y[k]+s*y[k+1], c*y[k+1]-s*y[k]
				z[k], z[k+1] = c*z[k]+s*z[k+1], c*z[k+1]-s*z[k]
			}
		}
		for ; i < hi; i++ {
			w := a[i*lda:][:n]
			for k, left := first, n-1; left > 0; k, left = k+step, left-1 {
				w[k], w[k+1] = c[k]*w[k]+s[k]*w[k+1], c[k]*w[k+1]-s[k]*w[k]
			}
		}
	})
}

// rotations returns the rotations of rows, shared by the workers.
func rotations(co *core) tridiag.Rotations[float64] {
	rotate := op.Conquering(co.host64()).Rotate
	return func(q tridiag.Matrix[float64], first, step int, cs []float64) {
		parallel(co, q.Cols, 1<<16/max(len(cs), 1)+1, func(lo, hi int) {
			rotate.Apply(q.Block(0, lo, q.Rows, hi-lo), first, step, cs)
		})
	}
}
