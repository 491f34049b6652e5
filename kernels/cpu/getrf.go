package cpu

import "gonum.org/v1/gonum/blas"

// Work returns the number of elements of scratch that a call needs for an m×n
// matrix.
func (l *LU[T]) Work(m, n int) int {
	k := min(m, n)
	if k <= 0 {
		return 0
	}
	ours := roundUp(l.leaves.work(m, k), 16) + l.r.Work(max(m, n))
	if l.library != nil {
		return max(ours, m*n)
	}
	return ours
}

// Getrf factors the m×n matrix A, whose rows the blocks hold from top to
// bottom,
//
//	A = P·L·U,
//
// with partial pivoting. U overwrites the upper triangle, and L what is below
// the diagonal; its ones are not stored. Row i was exchanged with row ipiv[i]
// ≥ i, for i = 0, 1, … It returns 0, or the column, from 1, of the first
// pivot that is exactly zero; the factorization is complete nevertheless.
//
// The pivots are LAPACK's: of elements of equal magnitude the uppermost, and
// a NaN only where it is on the diagonal already, else never. By a pivot whose
// reciprocal would overflow the column is divided.
//
// It panics unless ipiv has min(m, n) elements and block 0 at least as many
// rows. Reference: LAPACK xGETRF2; S. Toledo, "Locality of reference in LU
// decomposition with partial pivoting" (1997).
func (l *LU[T]) Getrf(n int, a []Block[T], ipiv []int, work []T) (info int) {
	m := checkBlocks(n, a)
	if len(ipiv) != min(m, n) {
		panic(ErrPivots)
	}
	if l.library != nil && len(ipiv) > 0 && a[0].Rows >= len(ipiv) {
		checkWork(len(work), m*n)
		if info, ok := l.library(m, n, a, ipiv, work); ok {
			return info
		}
	}
	p := luCall[T]{luPanel: luPanel[T]{pivot: true, ipiv: ipiv}}
	l.factor(&p, n, a, work)
	return p.info
}

// Getrfnp is Getrf without exchanges: A = L·U. A zero pivot leaves the column
// below it undivided.
func (l *LU[T]) Getrfnp(n int, a []Block[T], work []T) (info int) {
	var p luCall[T]
	l.factor(&p, n, a, work)
	return p.info
}

// Parts returns how many cores [LU.GetrfTall] makes use of for an m×n panel: 1
// unless it is so much higher than wide that there is little else that they could
// do meanwhile, and has rows for more than one.
func (l *LU[T]) Parts(m, n int) int {
	if !l.leaves.set() || m < l.leaves.LUTall || m/64 < n {
		return 1
	}
	s := tall[T]{rows: luRows}
	return s.parts(m)
}

// TallWork returns the number of elements of scratch that GetrfTall needs.
func (l *LU[T]) TallWork(m, n int) int {
	k := min(m, n)
	if k <= 0 {
		return 0
	}
	s := tall[T]{rows: luRows}
	return roundUp(s.work(&l.leaves, m, k), 16) + l.r.Work(max(m, n))
}

// GetrfTall is [LU.Getrf] for a panel that is tall, by several cores: each has
// some of the rows. The result is the same, bit for bit, however many cores
// there are, and the same as Getrf's.
func (l *LU[T]) GetrfTall(n int, a []Block[T], ipiv []int, work []T, crew Crew[T]) (info int) {
	return l.getrfTall(n, a, ipiv, work, &tall[T]{rows: luRows, crew: crew})
}

func (l *LU[T]) getrfTall(n int, a []Block[T], ipiv []int, work []T, s *tall[T]) (info int) {
	if len(ipiv) != min(checkBlocks(n, a), n) {
		panic(ErrPivots)
	}
	p := luCall[T]{luPanel: luPanel[T]{pivot: true, ipiv: ipiv}}
	if l.leaves.set() {
		p.tall = s
	}
	l.factor(&p, n, a, work)
	return p.info
}

func (l *LU[T]) factor(p *luCall[T], n int, a []Block[T], work []T) {
	m := checkBlocks(n, a)
	k := min(m, n)
	if k == 0 {
		return
	}
	if a[0].Rows < k {
		panic(ErrBlocks)
	}
	leaf := roundUp(l.leaves.work(m, k), 16)
	if p.tall != nil {
		leaf = roundUp(p.tall.work(&l.leaves, m, k), 16)
	}
	checkWork(len(work), leaf+l.r.Work(max(m, n)))
	p.r, p.leaves, p.a, p.m = l.r, l.leaves, a, m
	p.scratch, p.work = work[:leaf], work[leaf:]
	p.columns(0, k)
	if n > k {
		p.update(0, k, k, n-k)
	}
}

// luCall is one call of Getrf or Getrfnp.
type luCall[T Element] struct {
	luPanel[T]
	tall *tall[T] // nil unless several cores are at work
}

// columns factors columns c to c+w-1 from row c down, with the interchanges of
// these columns applied to nothing else. It halves them:
//
//	     c   w1  w2
//	    ┌───┬───┐
//	w1  │L11│U12│    L11\U11 and L21 by recursion, interchanges to the right,
//	    ├───┼───┤    U12 = L11⁻¹·A12,  A22 −= L21·U12 by update,
//	    │L21│A22│    A22 by recursion, interchanges back to the left
//	    └───┴───┘
func (p *luCall[T]) columns(c, w int) {
	leaf := p.leaves.width(p.m - c)
	switch {
	case w <= leaf && p.tall != nil:
		own := p.luPanel // what a crew gets escapes, and only then
		p.tall.leaf(&own, c, w)
		p.info = own.info
		return
	case w <= leaf:
		p.leaf(c, w)
		return
	}
	w1 := half(w, leaf)
	w2 := w - w1
	p.columns(c, w1)
	p.update(c, w1, c+w1, w2)
	p.columns(c+w1, w2)
	p.swap(c+w1, w2, c, w1)
}

// update does to the n columns from j on what columns c to c+w-1, which are
// factored, call for.
func (p *luCall[T]) update(c, w, j, n int) {
	top := &p.a[0]
	ld := top.Stride
	l11, u12 := top.Data[c*ld+c:], top.Data[c*ld+j:]
	p.swap(c, w, j, n)
	p.r.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, w, n, 1, l11, ld, u12, ld, p.work)
	if p.tall != nil {
		p := *p // what a crew gets escapes, and only then
		p.tall.crew(min(len(p.a), p.tall.parts(p.m)), p.r.Work(max(p.m, n)), func(i, parts int, work []T) {
			p.product(c, w, j, n, len(p.a)*i/parts, len(p.a)*(i+1)/parts, work)
		})
		return
	}
	p.product(c, w, j, n, 0, len(p.a), p.work)
}
