package cpu

// Tb2bd reduces the upper triangular n×n matrix A, which has b superdiagonals, to
//
//	Qᵀ·A·P = B,  Q = Π H(s,u),  P = Π G(s,u),  s = 0, …, n−2,  u = 0, 1, …,
//
// an upper bidiagonal matrix with the diagonal d and e above it. band holds A as [BandStride] has it, with zeros below the
// diagonal, and is overwritten. The reflectors H(s,u) are left in q and the G(s,u) in p, unless p is without memory. q may
// be any memory then.
//
// Sweep s makes row s bidiagonal. What that fills below the diagonal and above the band, bulges, it chases to the end of the
// matrix, but for the part that the next sweep has to chase anyway:
//
//	s ─ x x x x                 A reflector from the right makes zeros in row s. It fills D.
//	      D D D B B B           One from the left makes zeros in the first column of D. It fills B.
//	      D D D B B B           The next from the right makes zeros in the first row of B, and so on.
//	      D D D B B B
//	            D D D
//
// The order of the steps is that of [Tridiagonal.Sb2st].
//
// d has n elements, and e has n−1. The bits of the result do not depend on the crew.
//
// References: Lang, Parallel reduction of banded matrices to bidiagonal form (1996); Haidar, Kurzak and Luszczek, An improved
// parallel singular value algorithm and its implementation for multicore hardware (2013).
func (t *Bidiagonal[T]) Tb2bd(n, b int, band []T, q, p Sweeps[T], d, e []T) {
	if n == 0 {
		return
	}
	c := bidiagonalChase[T]{chase[T]{condensed: &t.condensed, n: n, b: b, band: band, ld: BandStride[T](b)}, q, p, d, e}
	c.all(4*b, c.move)
	d[n-1] = c.at(n-1, n-1)[0]
}

// bidiagonalChase is one call of Tb2bd.
type bidiagonalChase[T Element] struct {
	chase[T]
	q, p Sweeps[T] // the reflectors from the left and from the right
	d, e []T
}

// move makes zeros in row s (u = 0) or in the first row of a block B by a reflector from the right, and in the first
// column of the block D below by one from the left.
func (c *bidiagonalChase[T]) move(s, u int, scratch []T) {
	b := c.b
	at := s + 1 + u*b
	nc := min(b, c.n-at)
	v, w, y, z := scratch[:nc], scratch[b:][:nc], scratch[2*b:][:b], scratch[3*b:][:nc]
	if c.p.V != nil {
		v = c.p.V[s*c.p.Stride+at:][:nc]
	}
	taus := c.q.Tau[s*ChaseSteps(c.n, b):]
	var tau T
	if u == 0 {
		c.d[s] = c.at(s, s)[0]
		copy(v, c.at(s, at))
		tau, c.e[s] = c.larfg(v)
		v[0] = 1
	} else {
		// B = (I − τ'·x·xᵀ)·B·(I − τ·v·vᵀ), with the reflector before from the left as x, in one update of rank 2. Its first
		// row after the product from the left is what v is made of.
		x, block := c.q.V[s*c.q.Stride+at-b:][:b], c.at(at-b, at)
		clear(w)
		c.stripColumns(0, b, nc, block, c.ld, x, w)
		scalWith(&c.vectors, -taus[u-1], w)
		copy(v, block)
		axpyWith(&c.vectors, 1, w, v)
		var beta T
		tau, beta = c.larfg(v)
		v[0] = 1
		clear(y)
		c.stripRows(0, b, nc, block, c.ld, v, y)
		axpyWith(&c.vectors, dotWith(&c.vectors, w, v), x, y)
		copy(z, v)
		scalWith(&c.vectors, -tau, z)
		c.stripUpdate(b, nc, block, c.ld, x, y, w, z)
		block[0] = beta
		clear(block[1:nc]) // rounding errors, which the next sweeps would take for elements
	}
	if c.p.V != nil {
		c.p.Tau[s*ChaseSteps(c.n, b)+u] = tau
	}
	// D = (I − τ'·x·xᵀ)·D·(I − τ·v·vᵀ), and x is made of its first column after the product from the right.
	block := c.at(at, at)
	x, y := c.q.V[s*c.q.Stride+at:][:nc], y[:nc]
	clear(y)
	c.stripRows(0, nc, nc, block, c.ld, v, y)
	scalWith(&c.vectors, -tau, y)
	for i := range x {
		x[i] = block[i*c.ld] + y[i]
	}
	var beta T
	taus[u], beta = c.larfg(x)
	x[0] = 1
	clear(w)
	c.stripColumns(0, nc, nc, block, c.ld, x, w)
	axpyWith(&c.vectors, dotWith(&c.vectors, x, y), v, w)
	scalWith(&c.vectors, -taus[u], w)
	c.stripUpdate(nc, nc, block, c.ld, x, y, w, v)
	block[0] = beta
	for i := 1; i < nc; i++ {
		block[i*c.ld] = 0
	}
}
