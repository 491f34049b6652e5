package dropin

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Dtrsv solves a triangular system with one right-hand side in place,
//
//	x = op(A)⁻¹·x,
//
// for an n×n A of which only the uplo triangle is read, and not its diagonal if
// diag is Unit. Memory bounds it: A is read once and along its rows. It panics
// as gonum's does.
//
// Reference: BLAS xTRSV.
func (b BLAS) Dtrsv(uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []float64, lda int, x []float64, incX int) {
	if b.core.small(smallTrsv, n, n) || incX != 1 || !fitsTri(blas.Left, uplo, tA, diag) || !fits(n, n, a, lda) || len(x) < n {
		b.Implementation.Dtrsv(uplo, tA, diag, n, a, lda, x, incX)
		return
	}
	trsv(vectorsOf[float64](b), uplo, tA, diag, n, a, lda, x)
}

// Strsv is Dtrsv in float32.
func (b BLAS) Strsv(uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []float32, lda int, x []float32, incX int) {
	if b.core.small(smallTrsv, n, n) || incX != 1 || !fitsTri(blas.Left, uplo, tA, diag) || !fits(n, n, a, lda) || len(x) < n {
		b.Implementation.Strsv(uplo, tA, diag, n, a, lda, x, incX)
		return
	}
	trsv(vectorsOf[float32](b), uplo, tA, diag, n, a, lda, x)
}

// smallTrsv is the largest n·n left to gonum by default.
const smallTrsv = 1 << 15

// vectors is what trsv is made of: the routines on T.
type vectors[T la.Element] struct {
	gemv func(tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	dot  func(n int, x []T, incX int, y []T, incY int) T
	axpy func(n int, alpha T, x []T, incX int, y []T, incY int)
}

// vectorBlock is the order of the blocks on the diagonal.
const vectorBlock = 128

// trsv solves op(A)·x = b in blocks of x, such that A is read in panels of
// rows: where it is not transposed, what is solved is taken out of a block
// before it is solved for, otherwise a block is taken out of all others after.
//
//	NoTrans:  x(k) = A(k,k)⁻¹·(x(k) − A(k,rest)·x(rest))
//	Trans:    x(k) = A(k,k)⁻ᵀ·x(k),  x(rest) −= A(k,rest)ᵀ·x(k)
func trsv[T la.Element](v vectors[T], uplo blas.Uplo, tA blas.Transpose, diag blas.Diag, n int, a []T, lda int, x []T) {
	upper := uplo == blas.Upper
	blocks := (n + vectorBlock - 1) / vectorBlock
	for step := range blocks {
		k := step
		if upper == (tA == blas.NoTrans) {
			k = blocks - 1 - step
		}
		lo, hi := k*vectorBlock, min((k+1)*vectorBlock, n)
		// The columns of the panel beside the triangle.
		from, to := 0, lo
		if upper {
			from, to = hi, n
		}
		xk := x[lo:hi]
		if tA == blas.NoTrans && from < to {
			v.gemv(blas.NoTrans, hi-lo, to-from, -1, a[lo*lda+from:], lda, x[from:to], 1, 1, xk, 1)
		}
		v.triangle(upper, tA, diag, a[lo*lda+lo:], lda, xk)
		if tA != blas.NoTrans && from < to {
			v.gemv(blas.Trans, hi-lo, to-from, -1, a[lo*lda+from:], lda, xk, 1, 1, x[from:to], 1)
		}
	}
}

// triangle solves for one block.
func (v vectors[T]) triangle(upper bool, tA blas.Transpose, diag blas.Diag, a []T, lda int, x []T) {
	n := len(x)
	for step := range n {
		i := step
		if upper == (tA == blas.NoTrans) {
			i = n - 1 - step
		}
		from, to := 0, i
		if upper {
			from, to = i+1, n
		}
		beside := from < to // gonum's routines refuse vectors without elements
		if tA == blas.NoTrans {
			if beside {
				x[i] -= v.dot(to-from, a[i*lda+from:], 1, x[from:to], 1)
			}
			if diag == blas.NonUnit {
				x[i] /= a[i*lda+i]
			}
			continue
		}
		if diag == blas.NonUnit {
			x[i] /= a[i*lda+i]
		}
		switch {
		case beside && x[i] != 0:
			v.axpy(to-from, -x[i], a[i*lda+from:], 1, x[from:to], 1)
		case beside: // axpy does nothing, and would lose NaN
			for j, s := range a[i*lda+from : i*lda+to] {
				x[from+j] -= x[i] * s
			}
		}
	}
}

func vectorsOf[T la.Element](b BLAS) vectors[T] {
	return scalar.Pick[T, any](vectors32, vectors64).(func(BLAS) vectors[T])(b)
}

func vectors32(b BLAS) vectors[float32] {
	return vectors[float32]{b.Sgemv, b.Sdot, b.Saxpy}
}

func vectors64(b BLAS) vectors[float64] {
	return vectors[float64]{b.Dgemv, b.Ddot, b.Daxpy}
}
