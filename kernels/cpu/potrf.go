package cpu

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// Potrf implements [Routines].
func (p *Packed[T]) Potrf(uplo blas.Uplo, n int, a []T, lda int, work []T) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	if n == 0 {
		return 0
	}
	return potrfSplit(p, p.Leaf, uplo, n, a, lda, work)
}

// potrfParts is what potrfSplit puts a potrf together from.
type potrfParts[T Element] interface {
	Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, work []T)
	Syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int, work []T)
	// potrfLeaf is Potrf for n ≤ leaf.
	potrfLeaf(uplo blas.Uplo, n int, a []T, lda int, work []T) (info int)
}

// potrfSplit is potrf from the parts of r. It halves the matrix, so that the
// work is in a trsm and a syrk as large as can be:
//
//	A11 = L11·L11ᵀ,  L21 = A21·L11⁻ᵀ,  A22 − L21·L21ᵀ = L22·L22ᵀ
//
// and likewise with U = Lᵀ. Reference: LAPACK xPOTRF2.
func potrfSplit[T Element](r potrfParts[T], leaf int, uplo blas.Uplo, n int, a []T, lda int, work []T) (info int) {
	if n <= leaf {
		return r.potrfLeaf(uplo, n, a, lda, work)
	}
	n1 := half(n, leaf)
	n2 := n - n1
	a22 := a[n1*lda+n1:]
	if info := potrfSplit(r, leaf, uplo, n1, a, lda, work); info != 0 {
		return info
	}
	if uplo == blas.Lower {
		a21 := a[n1*lda:]
		r.Trsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, n2, n1, 1, a, lda, a21, lda, work)
		r.Syrk(blas.Lower, blas.NoTrans, n2, n1, -1, a21, lda, 1, a22, lda, work)
	} else {
		a12 := a[n1:]
		r.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, n1, n2, 1, a, lda, a12, lda, work)
		r.Syrk(blas.Upper, blas.Trans, n2, n1, -1, a12, lda, 1, a22, lda, work)
	}
	if info := potrfSplit(r, leaf, uplo, n2, a22, lda, work); info != 0 {
		return n1 + info
	}
	return 0
}

// potrfLeaf implements potrfParts by dot products of the rows of L. An upper
// triangle is transposed into scratch for that.
func (p *Packed[T]) potrfLeaf(uplo blas.Uplo, n int, a []T, lda int, work []T) (info int) {
	if p.leaves.set() {
		return p.leaves.potrf(uplo, n, a, lda, work)
	}
	l, ldl := a, lda
	if uplo == blas.Upper {
		checkWork(len(work), n*n)
		l, ldl = work, n
		for i := range n {
			for j, v := range a[i*lda+i : i*lda+n] {
				l[(i+j)*ldl+i] = v
			}
		}
	}
	info = potrfRows(n, l, ldl)
	if uplo == blas.Upper {
		for i := range n {
			row := a[i*lda+i : i*lda+n]
			for j := range row {
				row[j] = l[(i+j)*ldl+i]
			}
		}
	}
	return info
}

func potrfRows[T Element](n int, a []T, lda int) (info int) {
	for i := range n {
		ai := a[i*lda : i*lda+i+1]
		for j := range i {
			aj := a[j*lda : j*lda+j+1]
			ai[j] = (ai[j] - dot(aj[:j], ai)) / aj[j]
		}
		d := ai[i] - dot(ai[:i], ai)
		ai[i] = d
		// Written so that a NaN fails too.
		if !(d > 0) {
			return i + 1
		}
		ai[i] = T(math.Sqrt(float64(d)))
	}
	return 0
}
