package cpu

import "gonum.org/v1/gonum/blas"

// trsvLeaf is the order of the triangles that Trsv solves with element by element.
const trsvLeaf = 32

// Trsv overwrites x with op(A)⁻¹·x for the uplo triangle of an n×n A; with diag = Unit the
// diagonal is taken to be ones and not read. As [Packed.Gemv], which does most of it, it reads
// the triangle once and in order. It is no part of Trsm for the same reason: sums are added up in
// another order.
//
// Reference: BLAS xTRSV.
func (p *Packed[T]) Trsv(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, n int, a []T, lda int, x []T) {
	checkUplo(uplo)
	checkDiag(diag)
	checkMatrix(n, n, len(a), lda)
	checkMatrix(1, n, len(x), n)
	transposed, lower := checkTranspose(trans), uplo == blas.Lower
	forward := lower != transposed
	for step := 0; step < n; step += trsvLeaf {
		lo, hi := step, min(step+trsvLeaf, n)
		if !forward {
			lo, hi = max(n-step-trsvLeaf, 0), n-step
		}
		// The unknowns on the other side of the leaf in its rows of A.
		first, end := 0, lo
		if !lower {
			first, end = hi, n
		}
		if end > first && !transposed {
			p.Gemv(trans, hi-lo, end-first, -1, a[lo*lda+first:], lda, x[first:end], 1, 1, x[lo:hi], 1)
		}
		SmallTrsv(lower, transposed, diag == blas.Unit, a[lo*lda+lo:], lda, x[lo:hi])
		if end > first && transposed {
			p.Gemv(trans, hi-lo, end-first, -1, a[lo*lda+first:], lda, x[lo:hi], 1, 1, x[first:end], 1)
		}
	}
}

// SmallTrsv is [Packed.Trsv] for a small triangle of the order that x has.
func SmallTrsv[T Element](lower, transposed, unit bool, a []T, lda int, x []T) {
	n := len(x)
	for step := range n {
		i := step
		if lower == transposed {
			i = n - 1 - step
		}
		row, y := a[i*lda:i*lda+i], x[:i]
		if !lower {
			row, y = a[i*lda+i+1:i*lda+n], x[i+1:]
		}
		row = row[:len(y)]
		s := x[i]
		switch {
		case transposed:
		case lower:
			for k, v := range y {
				s -= row[k] * v
			}
		default: // what has just been computed comes last: nothing waits for it
			for k := len(y) - 1; k >= 0; k-- {
				s -= row[k] * y[k]
			}
		}
		if !unit {
			s /= a[i*lda+i]
		}
		x[i] = s
		if transposed {
			for k, v := range row {
				y[k] -= v * s
			}
		}
	}
}
