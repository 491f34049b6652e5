package cpu

import (
	"math"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// Tridiagonal reduces symmetric matrices to tridiagonal form, and applies the reduction's
// reflectors.
type Tridiagonal[T Element] struct {
	Routines[T]
	vectors isa.Vectors[T]
}

// NewTridiagonal returns the reduction by a set of routines.
func NewTridiagonal[T Element](r Routines[T]) *Tridiagonal[T] {
	t := &Tridiagonal[T]{Routines: r}
	if p, ok := r.(*Packed[T]); ok && p.kernels != nil {
		t.vectors = p.kernels.Vectors
	}
	return t
}

const (
	// sytrdPanel is how many rows are reduced before the rest of the matrix is updated.
	sytrdPanel = 32
	// sytrdBlock is the order of the blocks of the triangle that is updated.
	sytrdBlock = 128
	// ormtrPanel is how many reflectors are applied as one.
	ormtrPanel = 64
)

// SytrdWork returns the number of elements of scratch that Sytrd and Ormtr need for order n, and
// for Ormtr m rows.
func (t *Tridiagonal[T]) SytrdWork(m, n int) int {
	return max(4*sytrdPanel*n, ormtrPanel*(n+2*m)+2*ormtrPanel*ormtrPanel) + t.Work(max(m, n))
}

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
	work = work[4*sytrdPanel*n:]
	for k := 0; k < n; k += sytrdPanel {
		nb := min(sytrdPanel, n-k)
		t.panel(n, k, nb, a, lda, d, e, tau, vw, wv)
		if rest := k + nb; rest < n {
			t.rank2k(n, rest, nb, a, lda, vw, wv, work)
		}
		for i := k; i < min(k+nb, n-1); i++ {
			a[i*lda+i+1] = e[i]
		}
	}
}

// panel reduces rows k to k+nb−1. It leaves v(i) in rows i−k of vw and nb+i−k of wv, and w(i) in
// the others, with which the rest of A becomes A − v·wᵀ − w·vᵀ.
func (t *Tridiagonal[T]) panel(n, k, nb int, a []T, lda int, d, e, tau, vw, wv []T) {
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
		clear(y)
		symv(t.vectors, n-i-1, a[(i+1)*lda+i+1:], lda, v[i+1:], y)
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

// rank2k updates the upper triangle of rows and columns from first on, and blocks of the lower one on
// its diagonal, A −= Vᵀ·W + Wᵀ·V.
func (t *Tridiagonal[T]) rank2k(n, first, nb int, a []T, lda int, vw, wv, work []T) {
	for i := first; i < n; i += sytrdBlock {
		rows := min(sytrdBlock, n-i)
		t.Gemm(blas.Trans, blas.NoTrans, rows, n-i, 2*nb, -1, vw[i:], n, wv[i:], n, 1, a[i*lda+i:], lda, work)
	}
}

// larfg makes of x the vector v of a reflector with H·x = (beta, 0, …, 0); v(0), which is 1, is not
// stored.
func larfg[T Element](x []T) (tau, beta T) {
	alpha, most := x[0], T(0)
	for _, e := range x[1:] {
		most = max(most, T(math.Abs(float64(e))))
	}
	if most == 0 {
		return 0, alpha
	}
	var sum float64
	for _, e := range x[1:] {
		q := float64(e / most)
		sum += q * q
	}
	beta = T(-math.Copysign(math.Hypot(float64(alpha), float64(most)*math.Sqrt(sum)), float64(alpha)))
	factor := 1 / (alpha - beta)
	if math.IsInf(float64(factor), 0) || factor == 0 {
		for i := range x[1:] {
			x[1+i] /= alpha - beta
		}
	} else {
		for i := range x[1:] {
			x[1+i] *= factor
		}
	}
	return (beta - alpha) / beta, beta
}

// subtract is y −= Mᵀ·x for the m×n matrix M, of which rows are ld apart, and x with elements inc apart.
func (t *Tridiagonal[T]) subtract(m, n int, a, x []T, ld, inc int, y []T) {
	matVec[T]{alpha: -1, m: a, ld: ld, x: x, xInc: inc, y: y, yInc: 1, vectors: t.vectors}.columns(m, n)
}

// products is y += M·x for the m×n matrix M, of which rows are ld apart.
func (t *Tridiagonal[T]) products(m, n int, a []T, ld int, x, y []T) {
	matVec[T]{alpha: 1, m: a, ld: ld, x: x, xInc: 1, y: y, yInc: 1, vectors: t.vectors}.rows(m, n)
}

// Ormtr overwrites the m×n matrix X with X·Qᵀ, where Sytrd has left Q's reflectors in a, n×n, and
// tau. So rows that are eigenvectors of T become eigenvectors of A. Different rows can be worked on at
// once.
//
// Reference: LAPACK xORMTR, with SIDE = 'L' and TRANS = 'N' for the same elements by columns.
func (t *Tridiagonal[T]) Ormtr(m, n int, a []T, lda int, tau []T, x []T, ldx int, work []T) {
	checkMatrix(n, n, len(a), lda)
	checkMatrix(m, n, len(x), ldx)
	if m == 0 || n < 2 {
		return
	}
	take := func(k int) []T {
		s := work[:k]
		work = work[k:]
		return s
	}
	v, y, z := take(ormtrPanel*n), take(ormtrPanel*m), take(ormtrPanel*m)
	f, gram := take(ormtrPanel*ormtrPanel), take(ormtrPanel*ormtrPanel)
	for last := n - 1; last > 0; {
		first := (last - 1) / ormtrPanel * ormtrPanel
		nb := last - first
		cols := n - first - 1 // of X that the block changes
		for i := range nb {
			row := v[i*cols:][:cols]
			clear(row[:i])
			row[i] = 1
			copy(row[i+1:], a[(first+i)*lda+first+i+2:][:cols-i-1])
		}
		t.Gemm(blas.NoTrans, blas.Trans, nb, nb, cols, 1, v, cols, v, cols, 0, gram, ormtrPanel, work)
		factorOfBlock(nb, gram, tau[first:last], f)
		// X −= ((X·Vᵀ)·Tᵀ)·V
		part := x[first+1:]
		t.Gemm(blas.NoTrans, blas.Trans, m, nb, cols, 1, part, ldx, v, cols, 0, y, ormtrPanel, work)
		t.Gemm(blas.NoTrans, blas.Trans, m, nb, nb, 1, y, ormtrPanel, f, ormtrPanel, 0, z, ormtrPanel, work)
		t.Gemm(blas.NoTrans, blas.NoTrans, m, cols, nb, -1, z, ormtrPanel, v, cols, 1, part, ldx, work)
		last = first
	}
}

// factorOfBlock sets f to the upper triangular T with H(0)·…·H(nb−1) = I − Vᵀ·T·V for rows V, where gram
// is V·Vᵀ.
func factorOfBlock[T Element](nb int, gram, tau, f []T) {
	const ld = ormtrPanel
	for j := range nb {
		for i := range nb {
			f[i*ld+j] = 0
		}
		for i := range j {
			var s T
			for l := i; l < j; l++ {
				s += f[i*ld+l] * gram[l*ld+j]
			}
			f[i*ld+j] = -tau[j] * s
		}
		f[j*ld+j] = tau[j]
	}
}
