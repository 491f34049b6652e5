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
	crew    Crew[T]
	vectors isa.Vectors[T]
	kernel  func(a *T, lda, n int, x *T, c, s *[4]T, y *T) // see symv
}

// NewTridiagonal returns the reduction by a set of routines and a crew; nil is the caller's goroutine
// alone. The bits of the result do not depend on the crew.
func NewTridiagonal[T Element](r Routines[T], crew Crew[T]) *Tridiagonal[T] {
	t := &Tridiagonal[T]{Routines: r, crew: crew}
	if crew == nil {
		t.crew = func(parts, work int, f func(part, parts int, work []T)) {
			scratch := make([]T, work)
			for i := range parts {
				f(i, parts, scratch)
			}
		}
	}
	if p, ok := r.(*Packed[T]); ok && p.kernels != nil {
		t.vectors, t.kernel = p.kernels.Vectors, p.kernels.Symv
	}
	return t
}

const (
	// sytrdPanel is how many rows are reduced before the rest of the matrix is updated.
	sytrdPanel = 32
	// sytrdBlock is the order of the blocks of the triangle that is updated.
	sytrdBlock = 128
	// ormtrPanel is how many reflectors are applied as one, ormtrRows to how many rows by one part.
	ormtrPanel = 64
	ormtrRows  = 256
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
// tau. So rows that are eigenvectors of T become eigenvectors of A.
//
// Reference: LAPACK xORMTR, with SIDE = 'L' and TRANS = 'N' for the same elements by columns.
func (t *Tridiagonal[T]) Ormtr(m, n int, a []T, lda int, tau []T, x []T, ldx int) {
	checkMatrix(n, n, len(a), lda)
	checkMatrix(m, n, len(x), ldx)
	if m == 0 || n < 2 {
		return
	}
	parts := (m + ormtrRows - 1) / ormtrRows
	t.crew(parts, ormtrWork(min(m, ormtrRows), n)+t.Work(max(ormtrRows, n)), func(part, _ int, work []T) {
		i := part * ormtrRows
		t.ormtr(min(ormtrRows, m-i), n, a, lda, tau, x[i*ldx:], ldx, work)
	})
}

// ormtrWork returns the scratch of ormtr beside that of its products.
func ormtrWork(m, n int) int { return ormtrPanel * (n + 2*m + 2*ormtrPanel) }

// ormtr is Ormtr for some rows.
func (t *Tridiagonal[T]) ormtr(m, n int, a []T, lda int, tau []T, x []T, ldx int, work []T) {
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
