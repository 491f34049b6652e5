package cpu

import "gonum.org/v1/gonum/blas"

// strips computes C = alpha·A·B + beta·C with vector micro-kernels, for
// matrices that the caches hold. It packs what it must:
//
//   - A if it lies so far apart that a block of it would not stay in the
//     caches;
//   - B if it is transposed or lies far apart, strip by strip, each just before
//     it is used, so that it is in the first-level cache then and next to
//     nothing in the second; but all strips of a block of B at once if there
//     are several blocks of A to multiply.
func (p *Packed[T]) strips(a, b operand[T], m, n, k int, alpha T, beta T, c []T, ldc int, work []T) {
	checkWork(len(work), p.tile()+p.blockA(m, k)+p.blockB(n, k))
	v := &p.vectors
	ap, bp := work[:p.blockA(m, k)], work[p.blockA(m, k):]
	mcMax, kcMax, ncMax := part(m, p.MC, p.MR), part(k, p.KC, 1), part(n, p.NC, v.lanes)
	packA, packB := p.packs(a, b, m, mcMax, kcMax)
	once := m <= mcMax
	if !packA && m*kcMax <= v.near {
		mcMax, once = m, true
	}
	for jc := 0; jc < n; jc += ncMax {
		nc := min(ncMax, n-jc)
		s := strip[T]{alpha: alpha, beta: beta, ldc: ldc, uplo: blas.All}
		for pc := 0; pc < k; pc += kcMax {
			s.k = min(kcMax, k-pc)
			bx, brs, bcs := b.from(pc, jc)
			if packB && !once {
				p.packStrips(bp, bx, brs, bcs, nc, s.k)
			}
			for ic := 0; ic < m; ic += mcMax {
				s.m = min(mcMax, m-ic)
				p.operandA(&s, a, m, k, ic, pc, packA, ap)
				for j := 0; j < nc; j += s.n {
					s.n = p.width(nc - j)
					wide := roundUp(s.n, v.lanes)
					switch {
					case packB && !once:
						s.b, s.ldb, s.padded = bp[j*s.k:], wide, true
					case packB, s.n < wide && s.m > 2*p.MR: // the kernels are quicker with whole vectors
						s.b, s.ldb, s.padded = bp, wide, true
						v.packB(bp, bx[j*bcs:], brs, bcs, s.n, s.k, wide)
					default:
						s.b, s.ldb, s.padded = bx[j:], brs, false
					}
					s.c = c[ic*ldc+jc+j:]
					v.run(s)
				}
			}
			s.beta = 1
		}
	}
}

// packs reports which operands of a product are to be packed; mc and kc are
// the sizes of the blocks. Measured on a Xeon (model 167, 48 KiB, 2 MiB) by
// the commands in docs/internals/kernels-gemm.md.
func (p *Packed[T]) packs(a, b operand[T], m, mc, kc int) (packA, packB bool) {
	v := &p.vectors
	span := mc * a.ld
	if a.trans {
		span = kc * a.ld
	}
	packA = span > v.spanA
	packB = b.trans || m > 2*p.MR && kc*b.ld > v.spanB
	return packA, packB
}

// triangle runs those rows of a strip of mc rows that have elements in the
// uplo triangle. diag is the row of C minus its column of the strip's first
// element.
func (p *Packed[T]) triangle(s strip[T], uplo blas.Uplo, diag, mc int) {
	all := s
	for i := 0; i < mc; i += s.m {
		// Panels that the diagonal crosses go one by one, with the vectors
		// that they have in the triangle; those beside it at once.
		s.m, s.diag, s.uplo = min(p.MR, mc-i), diag+i, uplo
		lo, hi := 0, all.n
		switch {
		case uplo == blas.Lower && s.diag >= all.n-1:
			s.m, s.uplo = mc-i, blas.All
		case uplo == blas.Lower:
			if hi = min(all.n, s.diag+s.m); hi <= 0 {
				continue
			}
		case s.diag+s.m <= 1:
			s.uplo = blas.All
			if s.m = 1 - s.diag; s.m >= mc-i {
				s.m = mc - i
			} else {
				s.m -= s.m % p.MR
			}
		case s.diag >= all.n:
			return
		default:
			lo = max(0, s.diag)
			lo -= lo % p.vectors.lanes
		}
		s.a = all.a[i/p.MR*s.ps:]
		s.b = all.b[lo:]
		s.c = all.c[i*s.ldc+lo:]
		s.n = hi - lo
		s.diag -= lo
		p.vectors.run(s)
	}
}
