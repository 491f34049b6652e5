package cpu

import "gonum.org/v1/gonum/blas"

// Syrk implements [Routines].
func (p *Packed[T]) Syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int, work []T) {
	if syrkTrivial(uplo, trans, n, k, alpha, a, lda, beta, c, ldc) {
		return
	}
	t := trans != blas.NoTrans
	if v := &p.vectors; v.set() {
		if p.syrkLarge(n) {
			p.large(uplo, operand[T]{a, lda, t, nil}, operand[T]{a, lda, !t, nil}, n, n, k, alpha, beta, c, ldc, work)
		} else {
			p.syrkHalves(uplo, t, n, k, alpha, a, lda, beta, c, ldc, work)
		}
		return
	}
	scaleTriangle(uplo, n, beta, c, ldc)
	if p.small(n, n, k) {
		syrkSmall(uplo, t, n, k, alpha, a, lda, c, ldc)
		return
	}
	p.update(uplo, operand[T]{a, lda, t, nil}, operand[T]{a, lda, !t, nil}, n, n, k, alpha, c, ldc, work)
}

// syrkLarge reports whether a product of order n goes the way of large. With panels
// as narrow as those of AVX2, strips that are read as panels come from the
// second-level cache once for each panel. Measured on an EPYC (Zen 3) by the
// commands in docs/internals/kernels-gemm.md.
func (p *Packed[T]) syrkLarge(n int) bool {
	return p.vectors.PackStrips != nil && n > 2*p.vectors.narrow
}

// syrkHalves halves C until what syrkStrips packs stays in the second-level
// cache; the square between the halves is a product.
func (p *Packed[T]) syrkHalves(uplo blas.Uplo, t bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int, work []T) {
	if n <= p.NC && (n <= 2*p.NR || n*min(k, p.KC) <= p.vectors.spanA) {
		p.syrkStrips(uplo, operand[T]{a, lda, !t, nil}, n, k, alpha, beta, c, ldc, work)
		return
	}
	h := roundUp(n/2, p.NR)
	rest := a[h:]
	if !t {
		rest = a[h*lda:]
	}
	p.syrkHalves(uplo, t, h, k, alpha, a, lda, beta, c, ldc, work)
	p.syrkHalves(uplo, t, n-h, k, alpha, rest, lda, beta, c[h*ldc+h:], ldc, work)
	if uplo == blas.Lower {
		p.product(operand[T]{rest, lda, t, nil}, operand[T]{a, lda, !t, nil}, n-h, h, k, alpha, beta, c[h*ldc:], ldc, work)
	} else {
		p.product(operand[T]{a, lda, t, nil}, operand[T]{rest, lda, !t, nil}, h, n-h, k, alpha, beta, c[h:], ldc, work)
	}
}

// syrkStrips computes the uplo triangle of C = alpha·Bᵀ·B + beta·C for a k×n
// matrix B, n ≤ NC, with vector micro-kernels. B is packed only once: its
// strips of columns are read as panels of Bᵀ, too.
func (p *Packed[T]) syrkStrips(uplo blas.Uplo, b operand[T], n, k int, alpha, beta T, c []T, ldc int, work []T) {
	checkWork(len(work), p.blockB(n, k))
	kcMax := part(k, p.KC, 1)
	s := strip[T]{alpha: alpha, beta: beta, rs: 1, ps: p.MR, padded: true, ldc: ldc}
	for pc := 0; pc < k; pc += kcMax {
		s.k = min(kcMax, k-pc)
		x, rs, cs := b.from(pc, 0)
		p.packStrips(work, x, rs, cs, n, s.k)
		for j := 0; j < n; j += s.n {
			s.n = p.width(n - j)
			s.b, s.ldb = work[j*s.k:], roundUp(s.n, p.vectors.lanes)
			first, last := 0, j // the strips beside the diagonal
			if uplo == blas.Lower {
				first, last = j+s.n, n
			}
			s.uplo = blas.All
			for i := first; i < last; i += s.m {
				s.m = p.width(n - i)
				s.a, s.cs = work[i*s.k:], roundUp(s.m, p.vectors.lanes)
				s.c = c[i*ldc+j:]
				p.vectors.run(s)
			}
			s.a, s.cs, s.c = s.b, s.ldb, c[j*ldc+j:]
			p.triangle(s, uplo, 0, s.n)
		}
		s.beta = 1
	}
}

// syrkTrivial checks the arguments of syrk, and does the call and reports true
// if there is nothing to multiply.
func syrkTrivial[T Element](uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) bool {
	checkUplo(uplo)
	ra, ca := n, k
	if checkTranspose(trans) {
		ra, ca = k, n
	}
	checkMatrix(n, n, len(c), ldc)
	checkMatrix(ra, ca, len(a), lda)

	if n == 0 {
		return true
	}
	if alpha == 0 || k == 0 {
		scaleTriangle(uplo, n, beta, c, ldc)
		return true
	}
	return false
}

// scaleTriangle computes C = beta·C in the uplo triangle without reading C if
// beta = 0.
func scaleTriangle[T Element](uplo blas.Uplo, n int, beta T, c []T, ldc int) {
	if beta == 1 {
		return
	}
	for i := range n {
		lo, hi := triangleRow(uplo, i, n)
		scaleVec(beta, c[i*ldc+lo:i*ldc+hi])
	}
}

// triangleRow returns the columns [lo, hi) of row i that the uplo triangle of
// an n×n matrix holds.
func triangleRow(uplo blas.Uplo, i, n int) (lo, hi int) {
	if uplo == blas.Lower {
		return 0, i + 1
	}
	return i, n
}

// syrkSmall computes the uplo triangle of C += alpha·A·Aᵀ, or alpha·Aᵀ·A,
// without packing.
func syrkSmall[T Element](uplo blas.Uplo, t bool, n, k int, alpha T, a []T, lda int, c []T, ldc int) {
	for i := range n {
		lo, hi := triangleRow(uplo, i, n)
		ci := c[i*ldc+lo : i*ldc+hi]
		if !t {
			ai := a[i*lda : i*lda+k]
			for j := range ci {
				ci[j] += alpha * dot(ai, a[(lo+j)*lda:])
			}
			continue
		}
		for l := range k {
			s := alpha * a[l*lda+i]
			for j, v := range a[l*lda+lo : l*lda+hi] {
				ci[j] += s * v
			}
		}
	}
}

// dot returns Σ x[i]·y[i] over the elements of x.
func dot[T Element](x, y []T) T {
	var s0, s1, s2, s3 T
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	s := (s0 + s1) + (s2 + s3)
	for i, v := range x {
		s += v * y[i]
	}
	return s
}
