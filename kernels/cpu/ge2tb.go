package cpu

import "gonum.org/v1/gonum/blas"

const (
	// ge2tbStrip is the number of columns of a strip of the matrix that is reduced to a band, in band widths.
	ge2tbStrip = 4
	// ge2tbPart is the number of rows or columns of a part of a product, in band widths.
	ge2tbPart = 2
)

// Ge2tbWork returns the number of elements of scratch that Ge2tb needs for an m×n matrix and b superdiagonals.
func (t *Bidiagonal[T]) Ge2tbWork(m, n, b int) int {
	nb := ge2tbStrip * b
	return (n+nb-1)/nb*nb*m + 3*b*(m+n+b)
}

// Ge2tb reduces the m×n matrix A, m ≥ n, to
//
//	Qᵀ·A·P = B,  Q = H(0)·H(1)·…·H(n−1),  P = G(0)·G(1)·…·G(n−b−1),
//
// an upper triangular matrix with b superdiagonals, which it stores in band as [BandStride] has it. H(i) is
// I − tauq(i)·v·vᵀ and G(i) is I − taup(i)·u·uᵀ. v is zero up to element i−1 and u up to element i+b−1, the elements after
// these are 1, and the others overwrite column i of a below the diagonal, and row i from column i+b+1 on. The rest of a is
// undefined.
//
// b columns and b rows at a time are reduced, by the factorizations (I − V·F·Vᵀ)·R of the columns and, transposed, of the
// rows beside them. C is what is left of A to the right of the columns, and U and G are V and F of the rows:
//
//	R C C C       Y = Cᵀ·V·F           Qᵀ·C is C − V·Yᵀ
//	  C C C       X = (C − V·Yᵀ)·U·G
//	  C C C       C −= V·Yᵀ + X·Uᵀ
//
// So both reflectors are one update. One unit reduces the next columns while the others update the rest. A is copied to
// strips of columns, on which products run fastest.
//
// tauq has at least n elements, and taup n−b if n > b; or both are nil: then Q and P are not kept, and a is left as it is.
// work has at least [Bidiagonal.Ge2tbWork] elements. Squares of the elements of A must neither overflow nor underflow. The
// bits of the result do not depend on the crew. Ge2tb panics with ErrDim if m < n, and with ErrStride or ErrShort if a does
// not hold such a matrix.
//
// References: Großer and Lang, Efficient parallel reduction to bidiagonal form (1999); Ltaief, Luszczek and Dongarra,
// High-performance bidiagonal reduction using tile algorithms on homogeneous multicore architectures (2013).
func (t *Bidiagonal[T]) Ge2tb(m, n, b int, a []T, lda int, band, tauq, taup, work []T) {
	checkMatrix(m, n, len(a), lda)
	if m < n {
		panic(ErrDim)
	}
	if n == 0 {
		return
	}
	nb := ge2tbStrip * b
	strips := (n + nb - 1) / nb
	p := bidiagonalBand[T]{Bidiagonal: t, qr: NewQR(t.Routines), m: m, n: n, b: b, nb: nb, strips: strips, a: a, lda: lda,
		band: band, ld: BandStride[T](b), tauq: tauq, taup: taup}
	p.data = take(&work, strips*nb*m)
	p.left, p.v = take(&work, 2*b*m), take(&work, b*m)
	p.right, p.u = take(&work, 2*b*n), take(&work, b*n)
	p.f, p.g, p.vu = take(&work, b*b), take(&work, b*b), take(&work, b*b)
	p.load()
	t.crew(1, p.panelWork(), func(_, _ int, work []T) { p.columns(0, work) })
	for k := 0; k+b < n && !t.stopped(); k += b {
		p.reflectLeft(k)
		t.crew(1, p.panelWork(), func(_, _ int, work []T) { p.reduceRows(k, work) })
		p.reflectRight(k)
		p.update(k)
	}
}

// bidiagonalBand is one call of Ge2tb. Rows of left and v have the numbers that they have in A, and rows of right
// and u those of columns of A.
type bidiagonalBand[T Element] struct {
	*Bidiagonal[T]
	qr                  *QR[T]
	m, n, b, nb, strips int
	a                   []T
	lda                 int
	data                []T // strips of nb columns, each row by row
	band                []T
	ld                  int
	tauq, taup          []T
	left, right         []T // V and X side by side, m×2b, and Y and U, n×2b: the factors of the update
	v, u                []T // V and U alone
	f, g                []T // F and G
	vu                  []T // Yᵀ·U
}

// at returns the elements of row i from column j on, up to the end of the strip, and the rows after it.
func (p *bidiagonalBand[T]) at(i, j int) []T {
	s := j / p.nb
	return p.data[s*p.nb*p.m:][i*p.nb+j-s*p.nb : p.nb*p.m]
}

// load copies A to the strips, and clears the band.
func (p *bidiagonalBand[T]) load() {
	p.crew(p.strips, 0, func(s, _ int, _ []T) {
		first, last := s*p.nb, min((s+1)*p.nb, p.n)
		for i := range p.m {
			copy(p.at(i, first), p.a[i*p.lda+first:i*p.lda+last])
		}
		clear(p.band[first*(p.ld+1) : min(last*(p.ld+1), len(p.band))])
	})
}

// panelWork returns the number of elements of scratch for columns and reduceRows.
func (p *bidiagonalBand[T]) panelWork() int {
	return max(p.Work(max(p.m, 2*p.b)), p.qr.Work(p.m, p.b, p.b))
}

// columns reduces columns k to k+b−1: it updates them, factors them, stores their band, and leaves V in v and F in f.
func (p *bidiagonalBand[T]) columns(k int, work []T) {
	b, rows := p.b, p.m-k
	kb := min(b, p.n-k)
	v := p.v[k*b:][:rows*b]
	for i := range rows {
		copy(v[i*b:][:kb], p.at(k+i, k))
		clear(v[i*b+kb : (i+1)*b])
	}
	if k > 0 {
		p.Gemm(blas.NoTrans, blas.Trans, rows, kb, 2*b, -1, p.left[k*2*b:], 2*b, p.right[k*2*b:], 2*b, 1, v, b, work)
	}
	clear(p.f)
	p.qr.Geqrt(rows, kb, b, v, b, p.f, b, work)
	for i := range kb {
		copy(p.band[(k+i)*p.ld+k+i+b-1:][:kb-i], v[i*b+i:])
	}
	if p.tauq != nil {
		for i := range kb {
			p.tauq[k+i] = p.f[i*b+i]
		}
		for i := range rows {
			copy(p.a[(k+i)*p.lda+k:][:min(i, kb)], v[i*b:])
		}
	}
	unitLower(v, rows, kb, b)
}

// unitLower makes the first n columns of rows, which are b elements apart, a unit lower trapezoid.
func unitLower[T Element](v []T, m, n, b int) {
	for i := range min(m, n) {
		v[i*b+i] = 1
		clear(v[i*b+i+1 : i*b+n])
	}
}

// each calls f for the parts of first to last−1.
func (p *bidiagonalBand[T]) each(first, last, work int, f func(lo, hi int, work []T)) {
	h := ge2tbPart * p.b
	begin := first / h
	p.crew((last+h-1)/h-begin, work, func(part, _ int, work []T) {
		f(max(first, (begin+part)*h), min((begin+part+1)*h, last), work)
	})
}

// reflectLeft computes Y, and rows k to k+b−1 of C − V·Yᵀ.
func (p *bidiagonalBand[T]) reflectLeft(k int) {
	b, h := p.b, ge2tbPart*p.b
	p.each(k+b, p.n, h*b+p.Work(max(p.m, p.nb)), func(lo, hi int, work []T) {
		y, work := work[:h*b], work[h*b:]
		p.Gemm(blas.Trans, blas.NoTrans, hi-lo, b, p.m-k, 1, p.at(k, lo), p.nb, p.v[k*b:], b, 0, y, b, work)
		p.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, b, b, 1, y, b, p.f, b, 0, p.right[lo*2*b:], 2*b, work)
		for i := range b {
			for j, x := range p.at(k+i, lo)[:hi-lo] {
				p.u[(lo+j)*b+i] = x
			}
		}
		p.Gemm(blas.NoTrans, blas.Trans, hi-lo, b, b, -1, p.right[lo*2*b:], 2*b, p.v[k*b:], b, 1, p.u[lo*b:], b, work)
	})
}

// reduceRows reduces rows k to k+b−1: it factors them, stores their band, leaves U in u and G in g, and computes Yᵀ·U.
func (p *bidiagonalBand[T]) reduceRows(k int, work []T) {
	b, first := p.b, k+p.b
	cols := p.n - first
	u := p.u[first*b:][:cols*b]
	clear(p.g)
	p.qr.Geqrt(cols, b, b, u, b, p.g, b, work)
	for i := range b {
		for j := range min(i+1, cols) {
			p.band[(k+i)*p.ld+first+j+b-1] = u[j*b+i]
		}
	}
	if p.taup != nil {
		for i := range min(b, cols) {
			p.taup[k+i] = p.g[i*b+i]
			row := p.a[(k+i)*p.lda+first:][:cols]
			for j := i + 1; j < cols; j++ {
				row[j] = u[j*b+i]
			}
		}
	}
	unitLower(u, cols, b, b)
	p.Gemm(blas.Trans, blas.NoTrans, b, b, cols, 1, p.right[first*2*b:], 2*b, u, b, 0, p.vu, b, work)
}

// reflectRight computes X, and the factors of the update.
func (p *bidiagonalBand[T]) reflectRight(k int) {
	b, h, first := p.b, ge2tbPart*p.b, k+p.b
	p.each(first, p.m, h*b+p.Work(p.nb), func(lo, hi int, work []T) {
		x, work := work[:h*b], work[h*b:]
		p.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, b, b, -1, p.v[lo*b:], b, p.vu, b, 0, x, b, work)
		for j, last := first, 0; j < p.n; j = last {
			last = min((j/h+1)*h, p.n) // so few rows of U are read where they lie
			p.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, b, last-j, 1, p.at(lo, j), p.nb, p.u[j*b:], b, 1, x, b, work)
		}
		for i := lo; i < hi; i++ {
			copy(p.left[i*2*b:][:b], p.v[i*b:])
			if i < p.n {
				copy(p.right[i*2*b+b:][:b], p.u[i*b:])
			}
		}
		p.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, b, b, 1, x, b, p.g, b, 0, p.left[lo*2*b+b:], 2*b, work)
	})
}

// update computes C −= V·Yᵀ + X·Uᵀ for the rows and columns from k+b on. The first of these columns are reduced by one
// unit meanwhile.
func (p *bidiagonalBand[T]) update(k int) {
	b, nb, first, next := p.b, p.nb, k+p.b, k+2*p.b
	top, begin := first/nb, next/nb
	rows, cols := (p.m+nb-1)/nb-top, max(p.strips-begin, 0)
	p.crew(1+rows*cols, p.panelWork(), func(part, _ int, work []T) {
		if part == 0 {
			p.columns(first, work)
			return
		}
		i, j := top+(part-1)/cols, begin+(part-1)%cols
		lo, hi := max(first, i*nb), min((i+1)*nb, p.m)
		if c, end := max(next, j*nb), min((j+1)*nb, p.n); c < end {
			p.Gemm(blas.NoTrans, blas.Trans, hi-lo, end-c, 2*b, -1, p.left[lo*2*b:], 2*b, p.right[c*2*b:], 2*b, 1,
				p.at(lo, c), nb, work)
		}
	})
}
