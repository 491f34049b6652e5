package cpu

import "gonum.org/v1/gonum/blas"

// Generalized reduces generalized symmetric-definite eigenproblems to standard ones, and transforms eigenvectors back.
// B = Uᵀ·U is the definite matrix.
type Generalized[T Element] struct {
	Routines[T]
	// Product says that the problem has the product of A and B in it: see [Generalized.Sygst].
	Product bool
	// Stop, if it is not nil, is asked between steps whether to go on. If it returns an error, so does Sygst, and its
	// result is undefined.
	Stop func() error

	crew Crew[T]
}

// NewGeneralized returns the reduction by a set of routines and a crew, which does the triangular products. The bits of
// the result do not depend on the crew.
func NewGeneralized[T Element](r Routines[T], crew Crew[T]) *Generalized[T] {
	return &Generalized[T]{Routines: r, crew: crew}
}

const (
	// sygstLeaf is the largest order that is reduced as a square, by twice the operations.
	sygstLeaf = 64
	// triangularPart is the number of rows or columns that one part of a triangular product multiplies.
	triangularPart = 128
)

// SygstWork returns the number of elements of scratch that Sygst needs for order n, beside the routines' own.
func SygstWork(n int) int { return (n / 2) * (n - n/2) }

// Sygst overwrites the upper triangle of the n×n matrix A with that of
//
//	U⁻ᵀ·A·U⁻¹,  or  U·A·Uᵀ if Product is set,
//
// the standard problem of A·x = λ·B·x, or of A·B·x = λ·x and B·A·x = λ·x. It reads the upper triangles of A and of u,
// and uses the lower triangle of A as scratch. work holds at least [SygstWork] elements and those of the routines.
//
// It halves A: the operations are n³, nearly all of them in products and triangular systems of half the order.
//
// Reference: LAPACK xSYGST with UPLO = 'U'.
func (g *Generalized[T]) Sygst(n int, a []T, lda int, u []T, ldu int, work []T) error {
	checkMatrix(n, n, len(a), lda)
	checkMatrix(n, n, len(u), ldu)
	if g.Stop != nil {
		if err := g.Stop(); err != nil {
			return err
		}
	}
	if n <= sygstLeaf {
		completeUpper(n, a, lda)
		if g.Product {
			g.Trmm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, n, n, 1, u, ldu, a, lda, work)
			g.Trmm(blas.Right, blas.Upper, blas.Trans, blas.NonUnit, n, n, 1, u, ldu, a, lda, work)
		} else {
			g.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, n, n, 1, u, ldu, a, lda, work)
			g.Trsm(blas.Right, blas.Upper, blas.NoTrans, blas.NonUnit, n, n, 1, u, ldu, a, lda, work)
		}
		return nil
	}
	//	A = (A11 A12)   U = (U11 U12)
	//	    (    A22)       (    U22)
	n1 := n / 2
	n2 := n - n1
	a12, a22, u12, u22 := a[n1:], a[n1*lda+n1:], u[n1:], u[n1*ldu+n1:]
	half, rest := work[:n1*n2], work[n1*n2:]
	if err := g.Sygst(n1, a, lda, u, ldu, work); err != nil {
		return err
	}
	if g.Product {
		// With half = U12·A22/2:
		//	A12 = U11·A12 + half,  A11 += A12·U12ᵀ + U12·A12ᵀ,  A12 = (A12 + half)·U22ᵀ
		g.trmmLeft(n1, n2, u, ldu, a12, lda)
		completeUpper(n2, a22, lda)
		g.Gemm(blas.NoTrans, blas.NoTrans, n1, n2, n2, 0.5, u12, ldu, a22, lda, 0, half, n2, rest)
		addTo(n1, n2, 1, half, a12, lda)
		g.syr2k(blas.NoTrans, n1, n2, 1, a12, lda, u12, ldu, a, lda, rest)
		addTo(n1, n2, 1, half, a12, lda)
		g.trmmRight(n1, n2, blas.Trans, u22, ldu, a12, lda)
	} else {
		// With half = A11·U12/2:
		//	A12 = U11⁻ᵀ·A12 − half,  A22 −= A12ᵀ·U12 + U12ᵀ·A12,  A12 = (A12 − half)·U22⁻¹
		g.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, n1, n2, 1, u, ldu, a12, lda, rest)
		completeUpper(n1, a, lda)
		g.Gemm(blas.NoTrans, blas.NoTrans, n1, n2, n1, 0.5, a, lda, u12, ldu, 0, half, n2, rest)
		addTo(n1, n2, -1, half, a12, lda)
		g.syr2k(blas.Trans, n2, n1, -1, a12, lda, u12, ldu, a22, lda, rest)
		addTo(n1, n2, -1, half, a12, lda)
		g.Trsm(blas.Right, blas.Upper, blas.NoTrans, blas.NonUnit, n1, n2, 1, u22, ldu, a12, lda, rest)
	}
	return g.Sygst(n2, a22, lda, u22, ldu, work)
}

// Back overwrites the rows of the m×n matrix Y, eigenvectors of the standard problem, with U⁻¹·y, or with Uᵀ·y if that
// is set. These are eigenvectors of A·x = λ·B·x and A·B·x = λ·x, or of B·A·x = λ·x.
func (g *Generalized[T]) Back(transposed bool, m, n int, u []T, ldu int, y []T, ldy int, work []T) {
	if transposed {
		g.trmmRight(m, n, blas.NoTrans, u, ldu, y, ldy)
		return
	}
	g.Trsm(blas.Right, blas.Upper, blas.Trans, blas.NonUnit, m, n, 1, u, ldu, y, ldy, work)
}

// trmmLeft computes X = U·X for an m×n matrix X.
func (g *Generalized[T]) trmmLeft(m, n int, u []T, ldu int, x []T, ldx int) {
	g.parts(n, g.Work(max(m, triangularPart)), func(lo, hi int, work []T) {
		g.Trmm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, m, hi-lo, 1, u, ldu, x[lo:], ldx, work)
	})
}

// trmmRight computes X = X·op(U) for an m×n matrix X.
func (g *Generalized[T]) trmmRight(m, n int, trans blas.Transpose, u []T, ldu int, x []T, ldx int) {
	g.parts(m, g.Work(max(n, triangularPart)), func(lo, hi int, work []T) {
		g.Trmm(blas.Right, blas.Upper, trans, blas.NonUnit, hi-lo, n, 1, u, ldu, x[lo*ldx:], ldx, work)
	})
}

// parts calls f for n rows or columns in parts that depend on n alone.
func (g *Generalized[T]) parts(n, work int, f func(lo, hi int, work []T)) {
	g.crew((n+triangularPart-1)/triangularPart, work, func(i, _ int, work []T) {
		f(i*triangularPart, min((i+1)*triangularPart, n), work)
	})
}

// syr2k adds alpha·(op(X)·op(Y)ᵀ + op(Y)·op(X)ᵀ) to the upper triangle of the n×n matrix C, where op(X) and op(Y) are
// n×k. Some of the elements below the diagonal become undefined.
//
// Reference: BLAS xSYR2K.
func (g *Generalized[T]) syr2k(trans blas.Transpose, n, k int, alpha T, x []T, ldx int, y []T, ldy int, c []T, ldc int, work []T) {
	flip := blas.Trans
	if trans == blas.Trans {
		flip = blas.NoTrans
	}
	both := func(rows, cols int, x1, y1, x2, y2, c []T) {
		g.Gemm(trans, flip, rows, cols, k, alpha, x1, ldx, y2, ldy, 1, c, ldc, work)
		g.Gemm(trans, flip, rows, cols, k, alpha, y1, ldy, x2, ldx, 1, c, ldc, work)
	}
	if n <= triangularPart {
		both(n, n, x, y, x, y, c)
		return
	}
	h := n / 2
	xh, yh := fromRow(x, ldx, trans, h), fromRow(y, ldy, trans, h)
	g.syr2k(trans, h, k, alpha, x, ldx, y, ldy, c, ldc, work)
	both(h, n-h, x, y, xh, yh, c[h:])
	g.syr2k(trans, n-h, k, alpha, xh, ldx, yh, ldy, c[h*ldc+h:], ldc, work)
}

// completeUpper copies the upper triangle of the n×n matrix A to the lower one, by squares that the cache holds.
func completeUpper[T Element](n int, a []T, lda int) {
	const square = 32
	for i0 := 0; i0 < n; i0 += square {
		for j0 := 0; j0 <= i0; j0 += square {
			for i := i0; i < min(i0+square, n); i++ {
				row := a[i*lda+j0:][:max(0, min(square, i-j0))]
				for j := range row {
					row[j] = a[(j0+j)*lda+i]
				}
			}
		}
	}
}

// addTo adds alpha times the m×n matrix X, whose rows follow each other, to Y.
func addTo[T Element](m, n int, alpha T, x, y []T, ldy int) {
	for i := range m {
		row := y[i*ldy:][:n]
		for j, v := range x[i*n:][:n] {
			row[j] += alpha * v
		}
	}
}
