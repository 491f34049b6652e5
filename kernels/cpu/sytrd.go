package cpu

import "gonum.org/v1/gonum/blas"

// Tridiagonal reduces symmetric matrices to tridiagonal form, and applies the reflectors of the reduction.
type Tridiagonal[T Element] struct{ condensed[T] }

// NewTridiagonal returns the reduction by a set of routines and a crew. If crew is nil, the caller's goroutine does all
// the work. The bits of the result do not depend on the crew.
func NewTridiagonal[T Element](r Routines[T], crew Crew[T]) *Tridiagonal[T] {
	return &Tridiagonal[T]{newCondensed(r, crew)}
}

const (
	// sytrdPanel is the number of rows that are reduced before the rest of the matrix is updated.
	sytrdPanel = 16
	// sytrdBlock is the number of rows of the rest that one part updates.
	sytrdBlock = 128
)

// SytrdWork returns the number of elements of scratch that Sytrd needs for order n.
func SytrdWork(n int) int { return (4*sytrdPanel + symvParts(n)) * n }

// Sytrd reduces the symmetric n×n matrix A, whose upper triangle is stored in a, to
//
//	Qᵀ·A·Q = T,  Q = H(0)·H(1)·…·H(n−2),  H(i) = I − tau(i)·v(i)·v(i)ᵀ,
//
// with the diagonal d of T and e beside it. v(i) is zero up to element i, has 1 as element i+1, and
// overwrites row i of a from column i+2 on. The rest of the upper triangle becomes d and e, and the lower triangle is
// overwritten.
//
// d has n elements, and e and tau have at least n−1. work holds at least [SytrdWork] elements. Squares of the elements
// of A must neither overflow nor underflow.
//
// Reference: LAPACK xSYTRD, with UPLO = 'L' for the same elements by columns.
func (t *Tridiagonal[T]) Sytrd(n int, a []T, lda int, d, e, tau, work []T) {
	checkMatrix(n, n, len(a), lda)
	switch {
	case n == 0:
		return
	case t.few(n):
		t.sytd2(n, a, lda, d, e, tau, work)
		return
	}
	// vw holds V above W and wv holds W above V, so that the update is one product.
	vw, wv := work[:2*sytrdPanel*n], work[2*sytrdPanel*n:4*sytrdPanel*n]
	sums := work[4*sytrdPanel*n:][:symvParts(n)*n]
	for k := 0; k < n && !t.stopped(); k += sytrdPanel {
		nb := min(sytrdPanel, n-k)
		t.panel(n, k, nb, a, lda, d, e, tau, vw, wv, sums)
		if rest := k + nb; rest < n {
			t.rank2k(n, rest, nb, a, lda, vw, wv)
		}
		for i := k; i < min(k+nb, n-1); i++ {
			a[i*lda+i+1] = e[i]
		}
	}
}

// panel reduces rows k to k+nb−1. It leaves v(i) in row i−k of vw and in row nb+i−k of wv, and w(i) in row nb+i−k of vw
// and in row i−k of wv. The rest of A then becomes A − Σ v(i)·w(i)ᵀ + w(i)·v(i)ᵀ.
func (t *Tridiagonal[T]) panel(n, k, nb int, a []T, lda int, d, e, tau, vw, wv, sums []T) {
	var coeff [2 * sytrdPanel]T
	for i := k; i < k+nb; i++ {
		row := a[i*lda:][:n:n]
		step := i - k // the number of reflectors of this panel before this one
		// The earlier steps of this panel have not changed row i of A yet.
		t.subtract(step, n-i, vw[i:], vw[nb*n+i:], n, n, row[i:])
		t.subtract(step, n-i, vw[nb*n+i:], vw[i:], n, n, row[i:])
		d[i] = row[i]
		if i == n-1 {
			return
		}
		v, w := vw[step*n:][:n:n], vw[(nb+step)*n:][:n:n]
		x := row[i+1:]
		tau[i], e[i] = t.larfg(x)
		clear(v[:i+1])
		clear(w[:i+1])
		copy(v[i+1:], x)
		v[i+1] = 1
		// w = τ·(A·v − Σ v(j)·(w(j)ᵀ·v) + w(j)·(v(j)ᵀ·v)), and then w −= ½τ·(wᵀ·v)·v.
		y := w[i+1:]
		t.symv(n-i-1, a[(i+1)*lda+i+1:], lda, v[i+1:], y, sums)
		if step > 0 {
			clear(coeff[:])
			t.products(step, len(y), vw[nb*n+i+1:], n, v[i+1:], coeff[:step])
			t.products(step, len(y), vw[i+1:], n, v[i+1:], coeff[sytrdPanel:])
			t.subtract(step, len(y), vw[i+1:], coeff[:], n, 1, y)
			t.subtract(step, len(y), vw[nb*n+i+1:], coeff[sytrdPanel:], n, 1, y)
		}
		scalWith(&t.vectors, tau[i], y)
		axpyWith(&t.vectors, -tau[i]/2*dotWith(&t.vectors, y, v[i+1:]), v[i+1:], y)
		copy(wv[(nb+step)*n:][:n], v)
		copy(wv[step*n:][:n], w)
	}
}

// symv computes y = A·x for a symmetric A whose upper triangle is stored in a.
func (t *Tridiagonal[T]) symv(n int, a []T, lda int, x, y, sums []T) {
	clear(y)
	v := symv[T]{alpha: 1, a: a, lda: lda, x: x[:n], y: y[:n], vectors: &t.vectors}
	v.inParts(t.crew, blas.Upper, n, sums)
}

// rank2k computes A −= Vᵀ·W + Wᵀ·V for the upper triangle of the rows and columns from first on. It also overwrites the
// lower triangles of the blocks on the diagonal.
func (t *Tridiagonal[T]) rank2k(n, first, nb int, a []T, lda int, vw, wv []T) {
	blocks := (n - first + sytrdBlock - 1) / sytrdBlock
	t.crew(blocks, t.Work(n), func(part, _ int, work []T) {
		i := first + part*sytrdBlock
		t.Gemm(blas.Trans, blas.NoTrans, min(sytrdBlock, n-i), n-i, 2*nb, -1, vw[i:], n, wv[i:], n, 1, a[i*lda+i:],
			lda, work)
	})
}

// Ormtr overwrites the m×n matrix X with X·Qᵀ. Sytrd has left the reflectors of Q in the n×n matrix a and in tau. Rows
// that are eigenvectors of T become eigenvectors of A. work holds at least ReflectorsWork(n, n−1) elements.
//
// Reference: LAPACK xORMTR, with SIDE = 'L' and TRANS = 'N' for the same elements by columns.
func (t *Tridiagonal[T]) Ormtr(m, n int, a []T, lda int, tau []T, x []T, ldx int, work []T) {
	checkMatrix(n, n, len(a), lda)
	t.applyReflectors(m, n, max(n-1, 0), vectorsIn[T]{a: a, lda: lda, offset: 1}, false, tau, x, ldx, work)
}
