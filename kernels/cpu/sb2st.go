package cpu

// Sb2st reduces the symmetric n×n matrix B, which has b superdiagonals, to
//
//	Qᵀ·B·Q = T,  Q = Π H(s,u),  s = 0, …, n−2,  u = 0, 1, …,
//
// with the diagonal d of T and e beside it. band holds B as [BandStride] has it: b superdiagonals and b−1
// subdiagonals. It is overwritten. The reflectors H(s,u) are left in q.
//
// Sweep s makes row s tridiagonal. What that fills above the band, a bulge, it chases to the end of the matrix, but for
// the part that the next sweep has to chase anyway:
//
//	s ─ x x x x                 H(s,0) makes zeros in row s,
//	      D D D B B B           two-sided it changes D, and from the left B, which it fills.
//	      D D D B B B           H(s,1) makes zeros in the first row of B, and so on.
//	      D D D B B B
//	            D D D
//
// Sweep s may do step u as soon as sweep s−1 has done step u+1. So several groups of sweeps are on their way at once.
//
// d has n elements, and e has n−1. The bits of the result do not depend on the crew.
//
// References: Bischof, Lang and Sun, A framework for symmetric band reduction (2000); Haidar, Ltaief and Dongarra,
// Parallel reduction to condensed forms for symmetric eigenvalue problems using aggregated fine-grained and memory-aware
// kernels (2011).
func (t *Tridiagonal[T]) Sb2st(n, b int, band []T, q Sweeps[T], d, e []T) {
	if n == 0 {
		return
	}
	c := symmetricChase[T]{chase[T]{condensed: &t.condensed, n: n, b: b, band: band, ld: BandStride[T](b)}, q, d, e}
	c.all(3*b, c.move)
	d[n-1] = c.at(n-1, n-1)[0]
}

// symmetricChase is one call of Sb2st.
type symmetricChase[T Element] struct {
	chase[T]
	Sweeps[T]
	d, e []T
}

// move makes v(s,u), which makes zeros in row s (u = 0) or in the first row of a block B, and applies it.
func (c *symmetricChase[T]) move(s, u int, scratch []T) {
	b := c.b
	at := s + 1 + u*b
	nc := min(b, c.n-at)
	row := c.row(s)
	v, taus := c.V[row*c.Stride+at:][:nc], c.Tau[row*ChaseSteps(c.n, b):]
	if c.Done != nil && at+nc == c.n {
		defer c.Done(s, c.V[row*c.Stride+s+1:][:c.n-s-1], taus[:u+1])
	}
	y, w, z := scratch[:b], scratch[b:][:nc], scratch[2*b:][:nc]
	if u == 0 {
		c.d[s] = c.at(s, s)[0]
		copy(v, c.at(s, at))
		taus[0], c.e[s] = c.larfg(v)
		v[0] = 1
	} else {
		// B = (I − τ·x·xᵀ)·B·(I − τ'·v·vᵀ), with the reflector before as x, in one update of rank 2. Its first row after
		// the product from the left is what v is made of.
		x, block := c.V[row*c.Stride+at-b:][:b], c.at(at-b, at)
		clear(w)
		c.stripColumns(0, b, nc, block, c.ld, x, w)
		scalWith(&c.vectors, -taus[u-1], w)
		copy(v, block)
		axpyWith(&c.vectors, 1, w, v)
		var beta T
		taus[u], beta = c.larfg(v)
		v[0] = 1
		clear(y)
		c.stripRows(0, b, nc, block, c.ld, v, y)
		axpyWith(&c.vectors, dotWith(&c.vectors, w, v), x, y)
		copy(z, v)
		scalWith(&c.vectors, -taus[u], z)
		c.stripUpdate(b, nc, block, c.ld, x, y, w, z)
		block[0] = beta
		clear(block[1:nc]) // rounding errors, which the next sweeps would take for elements
	}
	// D is stored as a whole, since that is faster to multiply with. Its last column was in B up to now.
	block := c.at(at, at)
	for i := range nc - 1 {
		block[(nc-1)*c.ld+i] = block[i*c.ld+nc-1]
	}
	if taus[u] == 0 {
		return
	}
	y = y[:nc]
	clear(y)
	c.stripColumns(0, nc, nc, block, c.ld, v, y)
	scalWith(&c.vectors, -taus[u], y)
	axpyWith(&c.vectors, -taus[u]/2*dotWith(&c.vectors, y, v), v, y)
	c.stripUpdate(nc, nc, block, c.ld, v, y, y, v)
}
