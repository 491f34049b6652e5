package cpu

// sytd2 is [Tridiagonal.Sytrd] for a small matrix. It works on both triangles.
//
// Reference: LAPACK xSYTD2.
func (c *condensed[T]) sytd2(n int, a []T, lda int, d, e, tau, work []T) {
	completeUpper(n, a, lda)
	for i := range n {
		row := a[i*lda+i : i*lda+n]
		d[i] = row[0]
		if i == n-1 {
			return
		}
		x := row[1:]
		tau[i], e[i] = c.larfg(x)
		if tau[i] != 0 {
			x[0] = 1
			// w = τ·A·v, and then w −= ½τ·(wᵀ·v)·v.
			rest, w := a[(i+1)*lda+i+1:], work[:len(x)]
			if len(x) <= fewElements {
				rank2Loop(tau[i], rest, lda, x, w)
				x[0] = e[i]
				continue
			}
			c.mulVec(len(x), len(x), rest, lda, x, w)
			scalWith(&c.vectors, tau[i], w)
			axpyWith(&c.vectors, -tau[i]/2*dotWith(&c.vectors, w, x), x, w)
			c.ger2(len(x), len(x), rest, lda, x, w, w, x)
		}
		x[0] = e[i]
	}
}

// rank2Loop applies the reflector with v and τ to both sides of the symmetric matrix A. w is scratch, as long as v.
func rank2Loop[T Element](tau T, a []T, lda int, v, w []T) {
	LoopMulVec(a, lda, v, w)
	var dot T
	for i, x := range v {
		dot += w[i] * x
	}
	half := tau * dot / 2
	for i, x := range v {
		w[i] = tau * (w[i] - half*x)
	}
	for i, x := range v {
		row, y := a[i*lda:][:len(v)], w[i]
		for j, z := range v {
			row[j] -= x*w[j] + y*z
		}
	}
}
