package cpu

// micro4x2 is the micro-kernel in plain Go: eight accumulators, two elements
// of B and a temporary fit into the 15 floating point registers that the
// compiler has on amd64, so nothing spills, and by fours the loop control
// costs less than the arithmetic. Alone it reaches 10.3 GF/s where 3×3, 5×2,
// 6×2 and 4×4 reach 8.8, 10.0, 8.0 and 4.7 (Xeon, model 167, 2.6 GHz, Go
// 1.26.8, GOAMD64=v1, k = 256).
func micro4x2[T Element](k int, a, b, c []T, ldc int) {
	var c00, c01, c10, c11, c20, c21, c30, c31 T
	a, b = a[:4*k], b[:2*k]
	for len(a) >= 16 && len(b) >= 8 {
		p, q := (*[16]T)(a), (*[8]T)(b)
		b0, b1 := q[0], q[1]
		c00 += p[0] * b0
		c01 += p[0] * b1
		c10 += p[1] * b0
		c11 += p[1] * b1
		c20 += p[2] * b0
		c21 += p[2] * b1
		c30 += p[3] * b0
		c31 += p[3] * b1
		b0, b1 = q[2], q[3]
		c00 += p[4] * b0
		c01 += p[4] * b1
		c10 += p[5] * b0
		c11 += p[5] * b1
		c20 += p[6] * b0
		c21 += p[6] * b1
		c30 += p[7] * b0
		c31 += p[7] * b1
		b0, b1 = q[4], q[5]
		c00 += p[8] * b0
		c01 += p[8] * b1
		c10 += p[9] * b0
		c11 += p[9] * b1
		c20 += p[10] * b0
		c21 += p[10] * b1
		c30 += p[11] * b0
		c31 += p[11] * b1
		b0, b1 = q[6], q[7]
		c00 += p[12] * b0
		c01 += p[12] * b1
		c10 += p[13] * b0
		c11 += p[13] * b1
		c20 += p[14] * b0
		c21 += p[14] * b1
		c30 += p[15] * b0
		c31 += p[15] * b1
		a, b = a[16:], b[8:]
	}
	for len(a) >= 4 && len(b) >= 2 {
		b0, b1 := b[0], b[1]
		c00 += a[0] * b0
		c01 += a[0] * b1
		c10 += a[1] * b0
		c11 += a[1] * b1
		c20 += a[2] * b0
		c21 += a[2] * b1
		c30 += a[3] * b0
		c31 += a[3] * b1
		a, b = a[4:], b[2:]
	}
	c0 := (*[2]T)(c)
	c1 := (*[2]T)(c[ldc:])
	c2 := (*[2]T)(c[2*ldc:])
	c3 := (*[2]T)(c[3*ldc:])
	c0[0] += c00
	c0[1] += c01
	c1[0] += c10
	c1[1] += c11
	c2[0] += c20
	c2[1] += c21
	c3[0] += c30
	c3[1] += c31
}

// micro4x4 is micro4x2 for processors with 32 floating point registers: each element of A is
// multiplied by four of B, so that there are half as many loads for a product. Go's compiler makes one
// instruction of a product and its sum there. On arm64 a product of order 128 takes 3.6 million
// instructions with it, and 4.8 million with micro4x2 (neon/testdata/count/count go f64 128).
func micro4x4[T Element](k int, a, b, c []T, ldc int) {
	var c00, c01, c02, c03, c10, c11, c12, c13, c20, c21, c22, c23, c30, c31, c32, c33 T
	a, b = a[:4*k:4*k], b[:4*k:4*k]
	i := 0
	for ; i <= len(a)-16 && i <= len(b)-16; i += 16 { // four steps; an index costs less than to cut slices
		p, q := (*[16]T)(a[i:i+16]), (*[16]T)(b[i:i+16])
		b0, b1, b2, b3 := q[0], q[1], q[2], q[3]
		a0 := p[0]
		c00 += a0 * b0
		c01 += a0 * b1
		c02 += a0 * b2
		c03 += a0 * b3
		a0 = p[1]
		c10 += a0 * b0
		c11 += a0 * b1
		c12 += a0 * b2
		c13 += a0 * b3
		a0 = p[2]
		c20 += a0 * b0
		c21 += a0 * b1
		c22 += a0 * b2
		c23 += a0 * b3
		a0 = p[3]
		c30 += a0 * b0
		c31 += a0 * b1
		c32 += a0 * b2
		c33 += a0 * b3
		b0, b1, b2, b3 = q[4], q[5], q[6], q[7]
		a0 = p[4]
		c00 += a0 * b0
		c01 += a0 * b1
		c02 += a0 * b2
		c03 += a0 * b3
		a0 = p[5]
		c10 += a0 * b0
		c11 += a0 * b1
		c12 += a0 * b2
		c13 += a0 * b3
		a0 = p[6]
		c20 += a0 * b0
		c21 += a0 * b1
		c22 += a0 * b2
		c23 += a0 * b3
		a0 = p[7]
		c30 += a0 * b0
		c31 += a0 * b1
		c32 += a0 * b2
		c33 += a0 * b3
		b0, b1, b2, b3 = q[8], q[9], q[10], q[11]
		a0 = p[8]
		c00 += a0 * b0
		c01 += a0 * b1
		c02 += a0 * b2
		c03 += a0 * b3
		a0 = p[9]
		c10 += a0 * b0
		c11 += a0 * b1
		c12 += a0 * b2
		c13 += a0 * b3
		a0 = p[10]
		c20 += a0 * b0
		c21 += a0 * b1
		c22 += a0 * b2
		c23 += a0 * b3
		a0 = p[11]
		c30 += a0 * b0
		c31 += a0 * b1
		c32 += a0 * b2
		c33 += a0 * b3
		b0, b1, b2, b3 = q[12], q[13], q[14], q[15]
		a0 = p[12]
		c00 += a0 * b0
		c01 += a0 * b1
		c02 += a0 * b2
		c03 += a0 * b3
		a0 = p[13]
		c10 += a0 * b0
		c11 += a0 * b1
		c12 += a0 * b2
		c13 += a0 * b3
		a0 = p[14]
		c20 += a0 * b0
		c21 += a0 * b1
		c22 += a0 * b2
		c23 += a0 * b3
		a0 = p[15]
		c30 += a0 * b0
		c31 += a0 * b1
		c32 += a0 * b2
		c33 += a0 * b3
	}
	for ; i <= len(a)-4 && i <= len(b)-4; i += 4 {
		p, q := (*[4]T)(a[i:i+4]), (*[4]T)(b[i:i+4])
		b0, b1, b2, b3 := q[0], q[1], q[2], q[3]
		a0 := p[0]
		c00 += a0 * b0
		c01 += a0 * b1
		c02 += a0 * b2
		c03 += a0 * b3
		a0 = p[1]
		c10 += a0 * b0
		c11 += a0 * b1
		c12 += a0 * b2
		c13 += a0 * b3
		a0 = p[2]
		c20 += a0 * b0
		c21 += a0 * b1
		c22 += a0 * b2
		c23 += a0 * b3
		a0 = p[3]
		c30 += a0 * b0
		c31 += a0 * b1
		c32 += a0 * b2
		c33 += a0 * b3
	}
	c0 := (*[4]T)(c)
	c1 := (*[4]T)(c[ldc:])
	c2 := (*[4]T)(c[2*ldc:])
	c3 := (*[4]T)(c[3*ldc:])
	c0[0] += c00
	c0[1] += c01
	c0[2] += c02
	c0[3] += c03
	c1[0] += c10
	c1[1] += c11
	c1[2] += c12
	c1[3] += c13
	c2[0] += c20
	c2[1] += c21
	c2[2] += c22
	c2[3] += c23
	c3[0] += c30
	c3[1] += c31
	c3[2] += c32
	c3[3] += c33
}

// pack is [Packed.Pack] for any r, with the two widths of micro4x2 unrolled
// where the vectors are rows.
func pack[T Element](dst, src []T, rs, cs, dim, k, r int, scale T) {
	for i0 := 0; i0 < dim; i0 += r {
		panel := dst[i0*k : i0*k+r*k]
		s := src[i0*rs:]
		w := min(r, dim-i0)
		switch {
		case w == r && cs == 1 && r == 4:
			s0, s1, s2, s3 := s[:k], s[rs:rs+k], s[2*rs:2*rs+k], s[3*rs:3*rs+k]
			for p, v := range s0 {
				d := (*[4]T)(panel[4*p:])
				d[0] = scale * v
				d[1] = scale * s1[p]
				d[2] = scale * s2[p]
				d[3] = scale * s3[p]
			}
		case w == r && cs == 1 && r == 2:
			s0, s1 := s[:k], s[rs:rs+k]
			for p, v := range s0 {
				d := (*[2]T)(panel[2*p:])
				d[0] = scale * v
				d[1] = scale * s1[p]
			}
		case w == r && r == 4:
			for p := range k {
				d, v := (*[4]T)(panel[4*p:]), (*[4]T)(s[p*cs:])
				d[0] = scale * v[0]
				d[1] = scale * v[1]
				d[2] = scale * v[2]
				d[3] = scale * v[3]
			}
		case w == r && r == 2:
			for p := range k {
				d, v := (*[2]T)(panel[2*p:]), (*[2]T)(s[p*cs:])
				d[0] = scale * v[0]
				d[1] = scale * v[1]
			}
		default:
			for p := range k {
				d := panel[p*r : p*r+r]
				for i := range d {
					if i < w {
						d[i] = scale * s[i*rs+p*cs]
					} else {
						d[i] = 0
					}
				}
			}
		}
	}
}
