package cpu

import "gonum.org/v1/gonum/blas"

// Gemm implements [Routines].
func (p *Packed[T]) Gemm(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, work []T) {
	if gemmTrivial(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		return
	}
	ta, tb := transA != blas.NoTrans, transB != blas.NoTrans
	if p.vectors.set() {
		p.product(operand[T]{a, lda, ta, nil}, operand[T]{b, ldb, tb, nil}, m, n, k, alpha, beta, c, ldc, work)
		return
	}
	scale(m, n, beta, c, ldc)
	if m == 1 || n == 1 || p.small(m, n, k) {
		p.gemmSmall(ta, tb, m, n, k, alpha, a, lda, b, ldb, c, ldc)
		return
	}
	p.update(blas.All, operand[T]{a, lda, ta, nil}, operand[T]{b, ldb, tb, nil}, m, n, k, alpha, c, ldc, work)
}

// gemmTrivial checks the arguments of gemm, and does the call and reports true
// if there is nothing to multiply.
func gemmTrivial[T Element](transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) bool {
	ta, tb := checkTranspose(transA), checkTranspose(transB)
	ra, ca := m, k
	if ta {
		ra, ca = k, m
	}
	rb, cb := k, n
	if tb {
		rb, cb = n, k
	}
	checkMatrix(m, n, len(c), ldc)
	checkMatrix(ra, ca, len(a), lda)
	checkMatrix(rb, cb, len(b), ldb)

	if m == 0 || n == 0 {
		return true
	}
	if alpha == 0 || k == 0 {
		scale(m, n, beta, c, ldc)
		return true
	}
	return false
}

// update computes C += alpha·A·B for the elements of the uplo triangle of C,
// or for all of them if uplo is All. It is the packed GEMM that every routine
// comes down to.
func (p *Packed[T]) update(uplo blas.Uplo, a, b operand[T], m, n, k int, alpha T, c []T, ldc int, work []T) {
	checkWork(len(work), p.tile()+p.blockA(m, k)+p.blockB(n, k))
	tmp := work[:p.tile()]
	work = work[p.tile():]
	ap, bp := work[:p.blockA(m, k)], work[p.blockA(m, k):]

	mcMax, kcMax := part(m, p.MC, p.MR), part(k, p.KC, 1)
	for jc := 0; jc < n; jc += p.NC {
		nc := min(p.NC, n-jc)
		first, last := 0, m // the rows that have a part in these columns
		switch uplo {
		case blas.Lower:
			first = jc
		case blas.Upper:
			last = min(m, jc+nc)
		}
		for pc := 0; pc < k; pc += kcMax {
			kc := min(kcMax, k-pc)
			x, rs, cs := b.from(pc, jc)
			p.Pack(bp, x, cs, rs, nc, kc, p.NR, alpha)
			for ic := first; ic < last; ic += mcMax {
				mc := min(mcMax, last-ic)
				x, rs, cs := a.from(ic, pc)
				p.Pack(ap, x, rs, cs, mc, kc, p.MR, 1)
				p.block(uplo, ic-jc, mc, nc, kc, ap, bp, c[ic*ldc+jc:], ldc, tmp)
			}
		}
	}
}

// block computes C += A·B for packed blocks. diag is the row of C minus its
// column, in the whole matrix, of the block's first element.
func (p *Packed[T]) block(uplo blas.Uplo, diag, mc, nc, kc int, ap, bp, c []T, ldc int, tmp []T) {
	mr, nr := p.MR, p.NR
	for j := 0; j < nc; j += nr {
		b := bp[j*kc : (j+nr)*kc]
		w := min(nr, nc-j)
		for i := 0; i < mc; i += mr {
			h := min(mr, mc-i)
			d := diag + i - j // as diag, of this tile
			whole := h == mr && w == nr
			switch uplo {
			case blas.Lower:
				if d+h <= 0 {
					continue
				}
				whole = whole && d >= nr-1
			case blas.Upper:
				if d >= w {
					continue
				}
				whole = whole && d+mr <= 1
			}
			a := ap[i*kc : (i+mr)*kc]
			if whole {
				p.Micro(kc, a, b, c[i*ldc+j:], ldc)
				continue
			}
			clear(tmp)
			p.Micro(kc, a, b, tmp, nr)
			for x := range h {
				lo, hi := 0, w
				switch uplo {
				case blas.Lower:
					hi = min(w, d+x+1)
				case blas.Upper:
					lo = max(0, d+x)
				}
				if lo < hi {
					add(c[(i+x)*ldc+j+lo:(i+x)*ldc+j+hi], tmp[x*nr+lo:])
				}
			}
		}
	}
}

// add computes dst += src.
func add[T Element](dst, src []T) {
	for i, v := range src[:len(dst)] {
		dst[i] += v
	}
}

// scale computes C = beta·C for an m×n matrix without reading C if beta = 0.
func scale[T Element](m, n int, beta T, c []T, ldc int) {
	if beta == 1 {
		return
	}
	for i := range m {
		scaleVec(beta, c[i*ldc:i*ldc+n])
	}
}

func scaleVec[T Element](beta T, x []T) {
	if beta == 0 {
		clear(x)
		return
	}
	for i := range x {
		x[i] *= beta
	}
}

// gemmSmall computes C += alpha·op(A)·op(B) without packing, for matrices so small, or so narrow, that packing would
// take longer than the arithmetic. Each element has the bits that update gives it: they do not depend on the part of
// a product that a call computes.
func (p *Packed[T]) gemmSmall(ta, tb bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	kcMax := part(k, p.KC, 1)
	for pc := 0; pc < k; pc += kcMax {
		kc := min(kcMax, k-pc)
		x, ra, ca := operand[T]{a, lda, ta, nil}.from(0, pc)
		y, rb, cb := operand[T]{b, ldb, tb, nil}.from(pc, 0)
		switch {
		case n == 1: // Cᵀ = alpha·Bᵀ·Aᵀ
			gemmRows(1, m, kc, alpha, y, 0, rb, 1, x, ca, ra, c, 0, ldc)
		case alpha == 1 || alpha == -1: // no rounding error, wherever it multiplies
			gemmRows(m, n, kc, alpha, x, ra, ca, 1, y, rb, cb, c, ldc, 1)
		default:
			gemmRows(m, n, kc, 1, x, ra, ca, alpha, y, rb, cb, c, ldc, 1)
		}
	}
}

// gemmRows computes C += (alpha·A)·(beta·B), where the rows of a matrix are r elements apart and its columns c.
func gemmRows[T Element](m, n, k int, alpha T, a []T, ra, ca int, beta T, b []T, rb, cb int, c []T, rc, cc int) {
	for i := range m {
		ai, ci := a[i*ra:], c[i*rc:]
		j := 0
		for ; j+4 <= n; j += 4 {
			var s0, s1, s2, s3 T
			b0, b1, b2, b3 := b[j*cb:], b[(j+1)*cb:], b[(j+2)*cb:], b[(j+3)*cb:]
			if beta == 1 {
				for l := range k {
					t, at := alpha*ai[l*ca], l*rb
					s0 += t * b0[at]
					s1 += t * b1[at]
					s2 += t * b2[at]
					s3 += t * b3[at]
				}
			} else {
				for l := range k {
					t, at := ai[l*ca], l*rb
					s0 += t * (beta * b0[at])
					s1 += t * (beta * b1[at])
					s2 += t * (beta * b2[at])
					s3 += t * (beta * b3[at])
				}
			}
			ci[j*cc] += s0
			ci[(j+1)*cc] += s1
			ci[(j+2)*cc] += s2
			ci[(j+3)*cc] += s3
		}
		for ; j < n; j++ {
			var s T
			for l := range k {
				s += (alpha * ai[l*ca]) * (beta * b[l*rb+j*cb])
			}
			ci[j*cc] += s
		}
	}
}
