package cpu

// gebd2 is [Bidiagonal.Gebrd] for a small matrix.
//
// Reference: LAPACK xGEBD2.
func (c *condensed[T]) gebd2(m, n int, a []T, lda int, d, e, tauq, taup, work []T) {
	column, row, product := work[:m], work[m:m+n], work[m+n:2*m+n]
	for i := range n {
		v := column[:m-i]
		for r := range v {
			v[r] = a[(i+r)*lda+i]
		}
		tauq[i], d[i] = c.larfg(v)
		v[0] = 1
		for r := 1; r < len(v); r++ {
			a[(i+r)*lda+i] = v[r]
		}
		a[i*lda+i] = d[i]
		if i == n-1 {
			return
		}
		// The rest of A becomes A − v·yᵀ with y = τ·Aᵀ·v, and then that times G: it is A − v·yᵀ − x·uᵀ with
		// x = τ·(A − v·yᵀ)·u.
		right := n - i - 1
		y := row[:right]
		clear(y)
		c.stripColumns(0, len(v), right, a[i*lda+i+1:], lda, v, y)
		scalWith(&c.vectors, tauq[i], y)
		u := a[i*lda+i+1 : i*lda+n]
		for j, s := range y {
			u[j] -= s
		}
		taup[i], e[i] = c.larfg(u)
		u[0] = 1
		x, rest := product[:m-i-1], a[(i+1)*lda+i+1:]
		c.mulVec(len(x), right, rest, lda, u, x)
		axpyWith(&c.vectors, -dotWith(&c.vectors, y, u), v[1:], x)
		scalWith(&c.vectors, taup[i], x)
		c.ger2(len(x), right, rest, lda, v[1:], y, x, u)
		u[0] = e[i]
	}
}
