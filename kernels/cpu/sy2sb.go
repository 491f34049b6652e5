package cpu

import (
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
)

// sy2sbTile is the order of a tile of the matrix that is reduced to a band, in band widths.
const sy2sbTile = 4

// Sy2sbWork returns the number of elements of scratch that Sy2sb needs for order n and b superdiagonals.
func (t *Tridiagonal[T]) Sy2sbWork(n, b int) int {
	nb := sy2sbTile * b
	tiles := (n + nb - 1) / nb
	return tiles*(tiles+1)/2*nb*nb + (4+sy2sbGroups(tiles))*n*b + tiles*sy2sbParts*b*b + 2*b*b
}

// Sy2sb reduces the symmetric n×n matrix A, whose upper triangle is stored in a, to
//
//	Qᵀ·A·Q = B,  Q = H(0)·H(1)·…·H(n−b−1),  H(i) = I − tau(i)·v(i)·v(i)ᵀ,
//
// a matrix with b superdiagonals, which it stores in band as [BandStride] has it, with b−1 subdiagonals. v(i) is zero up
// to element i+b−1, has 1 as element i+b, and overwrites row i of a from column i+b+1 on. The rest of a is undefined.
//
// b rows at a time are reduced, the factorization Pᵀ = (I − V·F·Vᵀ)·R of their part P to the right of the diagonal block:
//
//	Z = A·V·F,  W = Z − ½·V·Fᵀ·(Vᵀ·Z),  A −= V·Wᵀ + W·Vᵀ
//
// A is copied to tiles, on which products run fastest. One pass over them updates each with V and W of some rows and
// multiplies it by V of the next ones. One unit has reduced those before, while the others updated tiles that the pass
// finds done.
//
// tau has at least n−b elements, if n > b, or is nil: then the v(i) are not stored, and a is left as it is. work has at
// least [Tridiagonal.Sy2sbWork]. The bits of the result do not depend on the crew.
//
// References: Dongarra, Hammarling and Sorensen, Block reduction of matrices to condensed forms for eigenvalue
// computations (1989); LAPACK xSYTRD_SY2SB.
func (t *Tridiagonal[T]) Sy2sb(n, b int, a []T, lda int, band, tau, work []T) {
	checkMatrix(n, n, len(a), lda)
	if n == 0 {
		return
	}
	nb := sy2sbTile * b
	p := bandReduction[T]{Tridiagonal: t, qr: NewQR(t.Routines), n: n, b: b, nb: nb, tiles: (n + nb - 1) / nb, a: a, lda: lda,
		band: band, ld: BandStride[T](b), tau: tau}
	p.data = take(&work, p.tiles*(p.tiles+1)/2*nb*nb)
	p.v, p.x = take(&work, n*b), take(&work, 3*n*b)
	p.sums = take(&work, sy2sbGroups(p.tiles)*n*b)
	p.gram = take(&work, p.tiles*sy2sbParts*b*b)
	p.f, p.m = take(&work, b*b), take(&work, b*b)
	p.updated = make([]bool, p.tiles*(p.tiles+1)/2)
	p.load()
	t.crew(1, p.panelWork(), func(_, _ int, work []T) { p.panel(0, work) })
	for k := b; k < n && !t.stopped(); k += b {
		p.pass(k)
		p.finish(k)
		p.ahead(k)
	}
}

// OrmtrSy2sb overwrites the m×n matrix X with X·Qᵀ. Sy2sb has left the reflectors of Q in the n×n matrix a and in tau.
// work holds at least ReflectorsWork(n, n−b) elements.
func (t *Tridiagonal[T]) OrmtrSy2sb(m, n, b int, a []T, lda int, tau []T, x []T, ldx int, work []T) {
	checkMatrix(n, n, len(a), lda)
	t.applyReflectors(m, n, max(n-b, 0), vectorsIn[T]{a: a, lda: lda, offset: b}, false, tau, x, ldx, work)
}

// sy2sbParts is the number of parts into which the rows of a tile are divided where only the panel is computed with. One on
// the diagonal is used in as many parts, so that little is computed in both triangles.
const sy2sbParts = 2

// sy2sbGroups returns the number of groups of rows of tiles whose products with V are summed apart. It is a power of two, as
// the number of units often is.
func sy2sbGroups(tiles int) int {
	groups := 1
	for groups < 16 && 2*groups <= tiles {
		groups *= 2
	}
	return groups
}

// bandReduction is one call of Sy2sb. Rows of v, z and x have the numbers that they have in A.
type bandReduction[T Element] struct {
	*Tridiagonal[T]
	qr              *QR[T]
	n, b, nb, tiles int
	a               []T
	lda             int
	data            []T    // the tiles of the upper triangle, row by row; the parts on the diagonal have both triangles
	updated         []bool // by tiles: ahead has updated it for the next pass
	band            []T
	ld              int
	tau             []T
	v               []T // of the panel, n×b
	x               []T // V, Z or W, and V again, n×3b: from column 0 on and from column b on factors of the update
	f               []T // F of the panel
	sums            []T // A·V by groups, n×b each
	gram            []T // what each part contributes to Vᵀ·Z
	m               []T // −½·Fᵀ·Vᵀ·Z
}

// tile returns tile (i, j), j ≥ i, from its element (row, col) of A on.
func (p *bandReduction[T]) tile(i, j, row, col int) []T {
	return p.data[p.number(i, j)*p.nb*p.nb:][(row-i*p.nb)*p.nb+col-j*p.nb : p.nb*p.nb]
}

// number returns the number of tile (i, j).
func (p *bandReduction[T]) number(i, j int) int { return i*p.tiles - i*(i-1)/2 + j - i }

// load copies A to the tiles, and clears the band. The first pass has nothing to update.
func (p *bandReduction[T]) load() {
	p.crew(p.tiles, 0, func(i, _ int, _ []T) {
		lo, hi := i*p.nb, min((i+1)*p.nb, p.n)
		for j := i; j < p.tiles; j++ {
			for r := lo; r < hi; r++ {
				first := max(j*p.nb, r)
				copy(p.tile(i, j, r, first), p.a[r*p.lda+first:r*p.lda+min((j+1)*p.nb, p.n)])
			}
		}
		for r := lo; r < hi; r++ {
			for c := r + 1; c < hi; c++ {
				p.tile(i, i, c, r)[0] = p.tile(i, i, r, c)[0]
			}
		}
		clear(p.band[lo*(p.ld+1) : min(hi*(p.ld+1), len(p.band))])
	})
	for i := range p.updated {
		p.updated[i] = true
	}
}

// panelWork returns the number of elements of scratch for panel.
func (p *bandReduction[T]) panelWork() int {
	return max(p.Work(max(p.n, 2*p.b)), p.qr.Work(p.n, p.b, p.b))
}

// panel reduces rows k to k+b−1: it updates them, factors P, stores their band, and leaves V in v and F in f.
func (p *bandReduction[T]) panel(k int, work []T) {
	n, b, t := p.n, p.b, k/p.nb
	kb := min(b, n-k)
	block := p.tile(t, t, k, k)
	left, right := p.x[k*3*b:], p.x[k*3*b+b:]
	if k > 0 {
		p.Gemm(blas.NoTrans, blas.Trans, kb, kb, 2*b, -1, left, 3*b, right, 3*b, 1, block, p.nb, work)
	}
	at := func(i, j int) *T { return &p.band[i*p.ld+j+b-1] }
	for i := range kb {
		for j := i; j < kb; j++ {
			*at(k+i, k+j), *at(k+j, k+i) = block[i*p.nb+j], block[i*p.nb+j]
		}
	}
	first, m := k+kb, n-k-kb
	if m == 0 {
		return
	}
	v := p.v[first*b:][:m*b] // Pᵀ up to now
	for j := first / p.nb; j < p.tiles; j++ {
		lo, hi := max(first, j*p.nb), min((j+1)*p.nb, n)
		for i := range b {
			for c, x := range p.tile(t, j, k+i, lo)[:hi-lo] {
				v[(lo-first+c)*b+i] = x
			}
		}
	}
	if k > 0 {
		p.Gemm(blas.NoTrans, blas.Trans, m, b, 2*b, -1, p.x[first*3*b:], 3*b, right, 3*b, 1, v, b, work)
	}
	clear(p.f)
	p.qr.Geqrt(m, b, b, v, b, p.f, b, work)
	for i := range b {
		for j := range min(i+1, m) {
			*at(k+i, first+j) = v[j*b+i]
			if j < i {
				*at(first+j, k+i) = v[j*b+i]
			}
		}
	}
	for i := range min(m, b) {
		v[i*b+i] = 1
		clear(v[i*b+i+1 : (i+1)*b])
	}
	if p.tau == nil {
		return
	}
	for i := range min(m, b) {
		p.tau[k+i] = p.f[i*b+i]
		row := p.a[(k+i)*p.lda+first:][:m]
		for j := i + 1; j < m; j++ {
			row[j] = v[j*b+i]
		}
	}
}

// each calls f for parts of rows k to n−1, by their number, and the first and the last row.
func (p *bandReduction[T]) each(k, work int, f func(part, lo, hi int, work []T)) (parts int) {
	h := p.nb / sy2sbParts
	begin := k / h
	parts = (p.n+h-1)/h - begin
	p.crew(parts, work, func(part, _ int, work []T) {
		f(part, max(k, (begin+part)*h), min((begin+part+1)*h, p.n), work)
	})
	return parts
}

// pass computes A·V by groups, for the rows and columns from k on. First it updates the tiles that ahead has left. Rows
// of tiles are dealt to the groups there and back, so that each has about as many tiles, and none depends on who
// computes it.
func (p *bandReduction[T]) pass(k int) {
	top := k / p.nb
	groups := p.groups(k)
	p.crew(groups, p.Work(p.nb), func(group, _ int, work []T) {
		sums, beta := p.sums[group*p.n*p.b:][:p.n*p.b], T(0) // its first row of tiles meets all rows that others do
		for round, i := 0, top+group; i < p.tiles; round++ {
			for j := i; j < p.tiles; j++ {
				if p.update(k, i, j, work); p.stopped() {
					return
				}
				p.multiply(k, i, j, beta, sums, work)
			}
			beta = 1
			if i += 2*group + 1; round%2 == 0 {
				i += 2 * (groups - 2*group - 1)
			}
		}
	})
}

// groups returns the number of groups from row k on.
func (p *bandReduction[T]) groups(k int) int { return min(sy2sbGroups(p.tiles), p.tiles-k/p.nb) }

// blocks calls f for the blocks of tile (i, j) in the rows and columns from k on: rows lo to hi−1, and columns first to
// last−1. Those on the diagonal begin at column lo and have both triangles to column hi−1.
func (p *bandReduction[T]) blocks(k, i, j int, f func(lo, hi, first, last int)) {
	lo, end, last := max(k, i*p.nb), min((i+1)*p.nb, p.n), min((j+1)*p.nb, p.n)
	if i < j {
		f(lo, end, j*p.nb, last)
		return
	}
	for h := p.nb / sy2sbParts; lo < end; {
		hi := min((lo/h+1)*h, end)
		f(lo, hi, lo, last)
		lo = hi
	}
}

// update computes A −= V·Wᵀ + W·Vᵀ for tile (i, j) in the rows and columns from k on, unless that has been done.
func (p *bandReduction[T]) update(k, i, j int, work []T) {
	b, done := p.b, &p.updated[p.number(i, j)]
	if *done {
		return
	}
	p.blocks(k, i, j, func(lo, hi, first, last int) {
		p.Gemm(blas.NoTrans, blas.Trans, hi-lo, last-first, 2*b, -1, p.x[lo*3*b:], 3*b, p.x[first*3*b+b:], 3*b, 1,
			p.tile(i, j, lo, first), p.nb, work)
	})
	*done = true
}

// multiply adds the products of tile (i, j) and its transpose with V to sums. beta is 0 in the first row of tiles of sums.
func (p *bandReduction[T]) multiply(k, i, j int, beta T, sums, work []T) {
	b, row := p.b, T(1)
	if i == j {
		row = beta
	}
	p.blocks(k, i, j, func(lo, hi, first, last int) {
		p.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, b, last-first, 1, p.tile(i, j, lo, first), p.nb, p.v[first*b:], b, row,
			sums[lo*b:], b, work)
		if first = max(first, hi); first < last {
			p.Gemm(blas.Trans, blas.NoTrans, last-first, b, hi-lo, 1, p.tile(i, j, lo, first), p.nb, p.v[lo*b:], b, beta,
				sums[first*b:], b, work)
		}
		row = 1
		if i == j {
			beta = 1
		}
	})
}

// finish computes Z = A·V·F from the sums, and W.
func (p *bandReduction[T]) finish(k int) {
	b, top, groups := p.b, k/p.nb, p.groups(k)
	parts := p.each(k, p.Work(p.nb), func(part, lo, hi int, work []T) {
		y := p.sums[lo*b : hi*b]
		for group := 1; group < min(groups, lo/p.nb-top+1); group++ {
			axpyWith(&p.vectors, 1, p.sums[(group*p.n+lo)*b:][:len(y)], y)
		}
		for i := lo; i < hi; i++ {
			v, row := p.v[i*b:][:b], p.x[i*3*b:][:3*b]
			copy(row, v)
			copy(row[2*b:], v)
		}
		z := p.x[lo*3*b+b:]
		p.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, b, b, 1, y, b, p.f, b, 0, z, 3*b, work)
		p.Gemm(blas.Trans, blas.NoTrans, b, b, hi-lo, 1, p.v[lo*b:], b, z, 3*b, 0, p.gram[part*b*b:], b, work)
	})
	p.crew(1, p.Work(b), func(_, _ int, work []T) {
		gram := p.gram[:b*b]
		for part := 1; part < parts; part++ {
			axpyWith(&p.vectors, 1, p.gram[part*b*b:][:b*b], gram)
		}
		p.Gemm(blas.Trans, blas.NoTrans, b, b, b, -0.5, p.f, b, gram, b, 0, p.m, b, work)
	})
	p.each(k, p.Work(p.nb), func(_, lo, hi int, work []T) {
		p.Gemm(blas.NoTrans, blas.NoTrans, hi-lo, b, b, 1, p.v[lo*b:], b, p.m, b, 1, p.x[lo*3*b+b:], 3*b, work)
	})
}

// ahead reduces rows k to k+b−1 on one unit. Until it has, others update tiles in the rows and columns from k+b on.
func (p *bandReduction[T]) ahead(k int) {
	next := k + p.b
	top := next / p.nb
	rows := max(p.tiles-top, 0)
	clear(p.updated)
	var reduced atomic.Bool
	p.crew(1+rows*(rows+1)/2, p.panelWork(), func(part, _ int, work []T) {
		if part == 0 {
			defer reduced.Store(true)
			p.panel(k, work)
			return
		}
		if reduced.Load() {
			return
		}
		i, j := top+part-1, p.tiles-1 // by columns, so that the groups have about as much left
		for i > j {
			i -= j - top + 1
			j--
		}
		if next < p.n {
			p.update(next, i, j, work)
		}
	})
}
