package cpu

import "gonum.org/v1/gonum/blas"

// product computes C = alpha·A·B + beta·C with vector micro-kernels.
func (p *Packed[T]) product(a, b operand[T], m, n, k int, alpha, beta T, c []T, ldc int, work []T) {
	if p.isLarge(m, n, k) {
		p.large(blas.All, a, b, m, n, k, alpha, beta, c, ldc, work)
	} else {
		p.strips(a, b, m, n, k, alpha, beta, c, ldc, work)
	}
}

// isLarge reports whether a product is one for large: if its matrices do not
// fit into the second-level cache together, unless C is so narrow that packing
// takes long beside the product.
func (p *Packed[T]) isLarge(m, n, k int) bool {
	v := &p.vectors
	return min(m, n) >= v.narrow && float64(m)*float64(k)+float64(k)*float64(n)+float64(m)*float64(n) > float64(v.all)
}

// large is strips for products of which the operands do not stay in the
// caches: both are packed, but A not if its rows lie near enough to each other
// to stay in the second-level cache as they are.
//
//	for all columns of C, NC at a time
//	  for all of k, KC at a time
//	    pack op(B): KC×NC, strips of NR columns, for the third-level cache
//	    for all rows of C, MC at a time
//	      pack op(A): MC×KC, panels of MR rows, for the second-level cache
//	      for all strips of B
//	        for all panels of A
//	          C += A·B; fetch the next strip of B
//
// Each strip of B is used MC/MR times, and the next one fetched meanwhile, so
// that none is waited for.
//
// Elements out of the uplo triangle of C are neither read nor written, and of
// their sums no more are computed than what shares a panel and a vector with
// the diagonal.
func (p *Packed[T]) large(uplo blas.Uplo, a, b operand[T], m, n, k int, alpha, beta T, c []T, ldc int, work []T) {
	checkWork(len(work), p.blockA(m, k)+p.blockB(n, k))
	ap, bp := work[:p.blockA(m, k)], work[p.blockA(m, k):]
	mcMax, kcMax, ncMax := part(m, p.MC, p.MR), part(k, p.KC, 1), part(n, p.NC, p.NR)
	packA := p.packsA(a, m)
	for jc := 0; jc < n; jc += ncMax {
		nc := min(ncMax, n-jc)
		s := strip[T]{alpha: alpha, beta: beta, padded: true, ldc: ldc, uplo: blas.All}
		for pc := 0; pc < k; pc += kcMax {
			s.k = min(kcMax, k-pc)
			x, rs, cs := b.from(pc, jc)
			if b.packed != nil {
				bp = p.packedB(b, n, k, pc)
			} else {
				p.packAllB(bp, x, rs, cs, nc, s.k)
			}
			first, last := 0, m // the rows that have a part in these columns
			switch uplo {
			case blas.Lower:
				first = jc
			case blas.Upper:
				last = min(m, jc+nc)
			}
			for ic := first; ic < last; ic += mcMax {
				s.m = min(mcMax, last-ic)
				p.operandA(&s, a, m, k, ic, pc, packA, ap)
				p.blockStrips(s, uplo, ic-jc, bp, nc, 0, nc, c[ic*ldc+jc:])
			}
			s.beta = 1
		}
	}
}

// blockStrips multiplies the block of A that s has with the strips of the packed B,
// of nc columns, from column lo to hi. Of the triangle of C that uplo says, diag is
// the row minus the column of its first element.
func (p *Packed[T]) blockStrips(s strip[T], uplo blas.Uplo, diag int, bp []T, nc, lo, hi int, c []T) {
	v, h := &p.vectors, s.m
	for j := lo; j < hi; j += s.n {
		s.n = p.width(nc - j)
		if uplo == blas.Lower && diag-j+h <= 0 || uplo == blas.Upper && diag-j >= s.n {
			continue
		}
		s.b, s.ldb = bp[j*s.k:], roundUp(s.n, v.lanes)
		s.ahead = bp
		if j+s.n < nc {
			s.ahead = bp[(j+s.n)*s.k:]
		}
		s.c = c[j:]
		if uplo == blas.All {
			v.run(s)
		} else {
			p.triangle(s, uplo, diag-j, h)
		}
	}
}
