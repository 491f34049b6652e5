package cpu

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// Tridiagonal reduces symmetric matrices to tridiagonal form, and applies the reduction's
// reflectors.
type Tridiagonal[T Element] struct {
	condensed[T]
	kernel func(a *T, lda, n int, x *T, c, s *[4]T, y *T) // see symv
}

// NewTridiagonal returns the reduction by a set of routines and a crew; nil is the caller's goroutine
// alone. The bits of the result do not depend on the crew.
func NewTridiagonal[T Element](r Routines[T], crew Crew[T]) *Tridiagonal[T] {
	t := &Tridiagonal[T]{condensed: newCondensed(r, crew)}
	if p, ok := r.(*Packed[T]); ok && p.kernels != nil {
		t.kernel = p.kernels.Symv
	}
	return t
}

const (
	// sytrdPanel is how many rows are reduced before the rest of the matrix is updated.
	sytrdPanel = 16
	// sytrdBlock is the order of the blocks of the triangle that is updated.
	sytrdBlock = 128
)

// SytrdWork returns the number of elements of scratch that Sytrd needs for order n.
func SytrdWork(n int) int { return (4*sytrdPanel + symvParts(n)) * n }

// Sytrd reduces the symmetric n×n matrix A, of which a has the upper triangle, to
//
//	Qᵀ·A·Q = T,  Q = H(0)·H(1)·…·H(n−2),  H(i) = I − tau(i)·v(i)·v(i)ᵀ,
//
// with the diagonal d of T and e beside it. v(i) is zero up to element i, has 1 as element i+1, and
// overwrites row i of a from column i+2 on. The lower triangle of a is overwritten.
//
// The numbers must be far enough from the ends of T's range that their squares neither over- nor
// underflow. Reference: LAPACK xSYTRD, with UPLO = 'L' for the same elements by columns.
func (t *Tridiagonal[T]) Sytrd(n int, a []T, lda int, d, e, tau, work []T) {
	checkMatrix(n, n, len(a), lda)
	if n == 0 {
		return
	}
	// V and W, and W and V again, so that the update is one product.
	vw, wv := work[:2*sytrdPanel*n], work[2*sytrdPanel*n:4*sytrdPanel*n]
	sums := work[4*sytrdPanel*n:][:symvParts(n)*n]
	for k := 0; k < n; k += sytrdPanel {
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

// panel reduces rows k to k+nb−1. It leaves v(i) in rows i−k of vw and nb+i−k of wv, and w(i) in
// the others, with which the rest of A becomes A − v·wᵀ − w·vᵀ.
func (t *Tridiagonal[T]) panel(n, k, nb int, a []T, lda int, d, e, tau, vw, wv, sums []T) {
	var coeff [2 * sytrdPanel]T
	for i := k; i < k+nb; i++ {
		row := a[i*lda:][:n:n]
		p := i - k // reflectors of this panel so far
		// Row i of what A has become.
		t.subtract(p, n-i, vw[i:], vw[nb*n+i:], n, n, row[i:])
		t.subtract(p, n-i, vw[nb*n+i:], vw[i:], n, n, row[i:])
		d[i] = row[i]
		if i == n-1 {
			return
		}
		v, w := vw[p*n:][:n:n], vw[(nb+p)*n:][:n:n]
		x := row[i+1:]
		tau[i], e[i] = larfg(x)
		clear(v[:i+1])
		clear(w[:i+1])
		copy(v[i+1:], x)
		v[i+1] = 1
		// w = τ·(A·v − Σ v(j)·(w(j)ᵀ·v) + w(j)·(v(j)ᵀ·v)), and then w −= ½τ·(wᵀ·v)·v.
		y := w[i+1:]
		t.symv(n-i-1, a[(i+1)*lda+i+1:], lda, v[i+1:], y, sums)
		if p > 0 {
			clear(coeff[:])
			t.products(p, len(y), vw[nb*n+i+1:], n, v[i+1:], coeff[:p])
			t.products(p, len(y), vw[i+1:], n, v[i+1:], coeff[sytrdPanel:])
			t.subtract(p, len(y), vw[i+1:], coeff[:], n, 1, y)
			t.subtract(p, len(y), vw[nb*n+i+1:], coeff[sytrdPanel:], n, 1, y)
		}
		for j := range y {
			y[j] *= tau[i]
		}
		half := -tau[i] / 2 * dot(y, v[i+1:])
		for j, x := range v[i+1:] {
			y[j] += half * x
		}
		copy(wv[(nb+p)*n:][:n], v)
		copy(wv[p*n:][:n], w)
	}
}

// symvParts returns into how many parts a product with a matrix of order n is divided.
func symvParts(n int) int { return max(1, min(n/256, 8)) }

// symv is y = A·x, where a has the upper triangle. Each part multiplies some rows, of about as many
// elements as the others', and has sums of its own, which are added in order.
func (t *Tridiagonal[T]) symv(n int, a []T, lda int, x, y, sums []T) {
	parts := symvParts(n)
	if parts == 1 {
		clear(y)
		t.triangle(n, a, lda, x, y).rows(blas.Upper, n, 0, n)
		return
	}
	bound := func(part int) int {
		if part == parts {
			return n
		}
		return int(float64(n)*(1-math.Sqrt(1-float64(part)/float64(parts)))) &^ 3
	}
	t.crew(parts, 0, func(part, _ int, _ []T) {
		s := sums[part*n:][:n]
		clear(s)
		t.triangle(n, a, lda, x, s).rows(blas.Upper, n, bound(part), bound(part+1))
	})
	copy(y, sums[:n])
	for part := 1; part < parts; part++ {
		from := bound(part)
		for j, v := range sums[part*n+from:][:n-from] {
			y[from+j] += v
		}
	}
}

// triangle is y += A·x, of which rows are to be chosen.
func (t *Tridiagonal[T]) triangle(n int, a []T, lda int, x, y []T) *symv[T] {
	return &symv[T]{alpha: 1, a: a, lda: lda, x: x[:n], y: y[:n], kernel: t.kernel}
}

// rank2k updates the upper triangle of rows and columns from first on, and blocks of the lower one on
// its diagonal, A −= Vᵀ·W + Wᵀ·V.
func (t *Tridiagonal[T]) rank2k(n, first, nb int, a []T, lda int, vw, wv []T) {
	blocks := (n - first + sytrdBlock - 1) / sytrdBlock
	t.crew(blocks, t.Work(n), func(part, _ int, work []T) {
		i := first + part*sytrdBlock
		t.Gemm(blas.Trans, blas.NoTrans, min(sytrdBlock, n-i), n-i, 2*nb, -1, vw[i:], n, wv[i:], n, 1, a[i*lda+i:], lda, work)
	})
}

// Ormtr overwrites the m×n matrix X with X·Qᵀ, where Sytrd has left Q's reflectors in a, n×n, and
// tau. So rows that are eigenvectors of T become eigenvectors of A.
//
// Reference: LAPACK xORMTR, with SIDE = 'L' and TRANS = 'N' for the same elements by columns.
func (t *Tridiagonal[T]) Ormtr(m, n int, a []T, lda int, tau []T, x []T, ldx int) {
	checkMatrix(n, n, len(a), lda)
	checkMatrix(m, n, len(x), ldx)
	if m == 0 || n < 2 {
		return
	}
	parts := (m + reflectorRows - 1) / reflectorRows
	t.crew(parts, ormtrWork(min(m, reflectorRows), n)+t.Work(max(reflectorRows, n)), func(part, _ int, work []T) {
		i := part * reflectorRows
		t.ormtr(min(reflectorRows, m-i), n, a, lda, tau, x[i*ldx:], ldx, work)
	})
}

// ormtrWork returns the scratch of ormtr beside that of its products.
func ormtrWork(m, n int) int { return reflectorPanel * (n + 2*m + 2*reflectorPanel) }

// ormtr is Ormtr for some rows.
func (t *Tridiagonal[T]) ormtr(m, n int, a []T, lda int, tau []T, x []T, ldx int, work []T) {
	take := func(k int) []T {
		s := work[:k]
		work = work[k:]
		return s
	}
	v, y, z := take(reflectorPanel*n), take(reflectorPanel*m), take(reflectorPanel*m)
	f, gram := take(reflectorPanel*reflectorPanel), take(reflectorPanel*reflectorPanel)
	for last := n - 1; last > 0; {
		first := (last - 1) / reflectorPanel * reflectorPanel
		nb := last - first
		cols := n - first - 1 // of X that the block changes
		for i := range nb {
			row := v[i*cols:][:cols]
			clear(row[:i])
			row[i] = 1
			copy(row[i+1:], a[(first+i)*lda+first+i+2:][:cols-i-1])
		}
		t.Gemm(blas.NoTrans, blas.Trans, nb, nb, cols, 1, v, cols, v, cols, 0, gram, reflectorPanel, work)
		factorOfBlock(nb, gram, tau[first:last], f)
		// X −= ((X·Vᵀ)·Tᵀ)·V
		part := x[first+1:]
		t.Gemm(blas.NoTrans, blas.Trans, m, nb, cols, 1, part, ldx, v, cols, 0, y, reflectorPanel, work)
		t.Gemm(blas.NoTrans, blas.Trans, m, nb, nb, 1, y, reflectorPanel, f, reflectorPanel, 0, z, reflectorPanel, work)
		t.Gemm(blas.NoTrans, blas.NoTrans, m, cols, nb, -1, z, reflectorPanel, v, cols, 1, part, ldx, work)
		last = first
	}
}
