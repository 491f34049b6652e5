package cpu

import "gonum.org/v1/gonum/blas"

// luPanel is the panel of one call of Getrf or Getrfnp.
type luPanel[T Element] struct {
	r       Routines[T]
	leaves  luLeaves[T]
	a       []Block[T]
	m       int // rows
	pivot   bool
	ipiv    []int
	info    int
	scratch []T // of the leaf
	work    []T // of the routines
}

// leaf factors columns c to c+w-1 from row c down.
func (p *luPanel[T]) leaf(c, w int) {
	m := p.m - c
	ld := p.leaves.ld(m)
	x := p.scratch[:ld*w]
	p.copyIn(x, ld, c, w)
	var ipiv []int
	if p.pivot {
		ipiv = p.ipiv[c : c+w]
	}
	var info int
	if p.leaves.set() {
		info = p.leaves.columns(m, w, x, ld, ipiv)
	} else {
		info = luColumns(m, w, x, ld, ipiv)
	}
	for i := range ipiv {
		ipiv[i] += c
	}
	if info != 0 && p.info == 0 {
		p.info = c + info
	}
	p.copyOut(x, ld, c, w)
}

// copyIn copies columns c to c+w-1 from row c down into the columns of x.
func (p *luPanel[T]) copyIn(x []T, ld, c, w int) {
	m := p.m - c
	p.gatherRows(x, ld, c, w, c, p.m)
	if end := roundUp(m, p.leaves.block()); end > m {
		for j := range w {
			clear(x[j*ld+m : j*ld+end])
		}
	}
}

// copyOut undoes copyIn.
func (p *luPanel[T]) copyOut(x []T, ld, c, w int) { p.scatterRows(x, ld, c, w, c, p.m) }

// gatherRows copies rows lo to hi-1 of columns c to c+w-1 into the columns of x.
func (p *luPanel[T]) gatherRows(x []T, ld, c, w, lo, hi int) {
	b, r := p.row(lo)
	for at := lo; at < hi; b, r = b+1, 0 {
		blk := &p.a[b]
		if h := min(blk.Rows-r, hi-at); h > 0 {
			p.leaves.gather(x[at-lo:], ld, blk.Data[r*blk.Stride+c:], blk.Stride, h, w)
			at += h
		}
	}
}

// scatterRows undoes gatherRows.
func (p *luPanel[T]) scatterRows(x []T, ld, c, w, lo, hi int) {
	b, r := p.row(lo)
	for at := lo; at < hi; b, r = b+1, 0 {
		blk := &p.a[b]
		if h := min(blk.Rows-r, hi-at); h > 0 {
			p.leaves.scatter(blk.Data[r*blk.Stride+c:], blk.Stride, x[at-lo:], ld, h, w)
			at += h
		}
	}
}

// row returns the block that row i of the panel is in, and the row of it that it
// is.
func (p *luPanel[T]) row(i int) (b, r int) {
	for b < len(p.a) && i >= p.a[b].Rows {
		i -= p.a[b].Rows
		b++
	}
	return b, i
}

// product subtracts from the n columns from j on, below row c+w-1 and in blocks
// from to to-1, the product of L21 and U12.
func (p *luPanel[T]) product(c, w, j, n, from, to int, work []T) {
	ld := p.a[0].Stride
	u12 := p.a[0].Data[c*ld+j:]
	for b := from; b < to; b++ {
		x, r := &p.a[b], 0
		if b == 0 {
			r = c + w
		}
		if r < x.Rows {
			p.r.Gemm(blas.NoTrans, blas.NoTrans, x.Rows-r, n, w, -1, x.Data[r*x.Stride+c:], x.Stride, u12, ld, 1, x.Data[r*x.Stride+j:], x.Stride, work)
		}
	}
}

// swap applies the interchanges of columns c to c+w-1 to the n columns from j
// on.
func (p *luPanel[T]) swap(c, w, j, n int) {
	if p.pivot {
		p.leaves.swapRows(p.a, j, n, c, p.ipiv[c:c+w], false)
	}
}
