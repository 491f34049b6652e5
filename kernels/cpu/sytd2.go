package cpu

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// condensedFew is the order up to which the reductions of small matrices are by single reflectors. The matrix is in the
// nearest caches then, and the products of blocks gain less than their calls take (docs/internals/measurements.md).
const condensedFew = 96

// condensedLoops is condensedFew without the vector routines, up to where the blocks' own memory costs more than they gain.
const condensedLoops = 48

// few reports whether small matrices are reduced by single reflectors.
func (c *condensed[T]) few(n int) bool {
	return n <= condensedLoops || n <= condensedFew && c.vectors.Ger2 != nil && c.vectors.MulVec != nil
}

// sytd2 is [Tridiagonal.Sytrd] for a small matrix. It works on both triangles.
//
// Reference: LAPACK xSYTD2.
func (t *condensed[T]) sytd2(n int, a []T, lda int, d, e, tau, work []T) {
	completeUpper(n, a, lda)
	for i := range n {
		row := a[i*lda+i : i*lda+n]
		d[i] = row[0]
		if i == n-1 {
			return
		}
		x := row[1:]
		tau[i], e[i] = t.larfg(x)
		if tau[i] != 0 {
			x[0] = 1
			// w = τ·A·v, and then w −= ½τ·(wᵀ·v)·v.
			rest, w := a[(i+1)*lda+i+1:], work[:len(x)]
			if len(x) <= fewElements {
				rank2Loop(tau[i], rest, lda, x, w)
				x[0] = e[i]
				continue
			}
			t.mulVec(len(x), len(x), rest, lda, x, w)
			scalWith(&t.vectors, tau[i], w)
			axpyWith(&t.vectors, -tau[i]/2*dotWith(&t.vectors, w, x), x, w)
			t.ger2(len(x), len(x), rest, lda, x, w, w, x)
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

// mulVec computes y = A·x for a small m×n matrix A.
func (c *condensed[T]) mulVec(m, n int, a []T, lda int, x, y []T) {
	if m < 8 || c.vectors.MulVec == nil {
		LoopMulVec(a, lda, x[:n], y[:m])
		return
	}
	c.vectors.MulVec(isa.Hide(&a[:(m-1)*lda+n][0]), lda, m, n, isa.Hide(&x[:n][0]), isa.Hide(&y[:m][0]))
}

// ger2 computes A −= p·qᵀ + r·sᵀ for a small m×n matrix A.
func (c *condensed[T]) ger2(m, n int, a []T, lda int, p, q, r, s []T) {
	_, _, _, _, _ = a[:(m-1)*lda+n], p[:m], q[:n], r[:m], s[:n]
	if c.vectors.Ger2 == nil {
		for i, x := range p[:m] {
			row, y := a[i*lda:][:n], r[i]
			for j, q := range q[:n] {
				row[j] -= x*q + y*s[j]
			}
		}
		return
	}
	for j := 0; j < n; j += c.vectors.Strip {
		c.vectors.Ger2(isa.Hide(&a[j]), lda, m, min(c.vectors.Strip, n-j), isa.Hide(&p[0]), isa.Hide(&q[j]), isa.Hide(&r[0]),
			isa.Hide(&s[j]))
	}
}
