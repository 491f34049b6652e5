package cpu

// trsmLeaf implements trsmParts. Whatever the case, the triangle is
// packed as a lower one, its unknowns in the order in which they are solved,
// into the panels of the micro-kernel, and the right-hand sides
// go through a buffer in the form of a packed B, NR at a time:
//
//	x (panel i) += (−A)(panel i, before it)·x (before it)     by Micro
//	x (panel i)  = triangle⁻¹·x (panel i)                     below
func (p *Packed[T]) trsmLeaf(s triangular[T], n int, a, b []T) {
	if p.leaves.set() {
		p.leaves.trsm(s, n, a, b)
		return
	}
	mr, nr := p.MR, p.NR
	rows := roundUp(n, mr)
	checkWork(len(s.work), rows*rows+rows*nr+rows)
	tri := s.work[:rows*rows]
	x := s.work[rows*rows : rows*rows+rows*nr]
	d := s.work[rows*rows+rows*nr : rows*rows+rows*nr+rows]
	divide := packTriangle(s, mr, n, a, tri, d)

	// Element (unknown u, right-hand side v) of B is b[base+u*us+v*vs].
	us, vs := s.ldb, 1
	if !s.left() {
		us, vs = 1, s.ldb
	}
	base := 0
	if !s.forward() {
		base, us = (n-1)*us, -us
	}
	// What is in x beyond the n×w elements in use meets nothing but itself.
	for v0 := 0; v0 < s.rhs; v0 += nr {
		w := min(nr, s.rhs-v0)
		gather(x, b, base+v0*vs, us, vs, n, w, nr)
		for u := 0; u < n; u += mr {
			panel := tri[u*rows : (u+mr)*rows]
			if u > 0 {
				p.Micro(u, panel, x, x[u*nr:], nr)
			}
			if mr == 4 && nr == 2 && u+4 <= n && !divide {
				solve4x2(panel[u*mr:], d[u:], x[u*nr:])
			} else {
				solveTile(min(mr, n-u), mr, nr, panel[u*mr:], d[u:], divide, x[u*nr:])
			}
		}
		scatter(b, x, base+v0*vs, us, vs, n, w, nr)
	}
}

// gather copies n×w elements of B, from b[o] on, into x with rows of nr.
func gather[T Element](x, b []T, o, us, vs, n, w, nr int) {
	if w == 2 && nr == 2 {
		x = x[:2*n]
		for len(x) >= 2 {
			x[0], x[1] = b[o], b[o+vs]
			x = x[2:]
			o += us
		}
		return
	}
	for u := range n {
		for v := range w {
			x[u*nr+v] = b[o+v*vs]
		}
		o += us
	}
}

// scatter undoes gather.
func scatter[T Element](b, x []T, o, us, vs, n, w, nr int) {
	if w == 2 && nr == 2 {
		x = x[:2*n]
		for len(x) >= 2 {
			b[o], b[o+vs] = x[0], x[1]
			x = x[2:]
			o += us
		}
		return
	}
	for u := range n {
		for v := range w {
			b[o+v*vs] = x[u*nr+v]
		}
		o += us
	}
}

// packTriangle packs −op(A), n×n, in panels of mr rows, each with the columns
// up to its own last row, and stores what to multiply by for the diagonal in
// d. It reports true if d holds the diagonal itself, to divide by, because a
// reciprocal would overflow or lose its digits.
func packTriangle[T Element](s triangular[T], mr, n int, a, tri, d []T) (divide bool) {
	rows := roundUp(n, mr)
	// Element (i, j), i ≥ j, of the triangle in order of solution is
	// a[base+i*rs+j*cs]. Forward the order is that of A; backward it is
	// reversed. Right-hand triangles are transposed by nature.
	rs, cs := s.lda, 1
	if s.transposed() == s.left() {
		rs, cs = 1, s.lda
	}
	base := 0
	if !s.forward() {
		base = (n - 1) * (s.lda + 1)
		rs, cs = -rs, -cs
	}
	for u := 0; u < n; u += mr {
		panel := tri[u*rows : (u+mr)*rows]
		for i := range mr {
			if u+i >= n {
				for j := range u {
					panel[j*mr+i] = 0
				}
				continue
			}
			o := base + (u+i)*rs
			for j := range u + i {
				panel[j*mr+i] = -a[o+j*cs]
			}
		}
	}
	divide = reciprocals(s, n, a, d)
	if divide {
		for i := range n {
			d[i] = a[base+i*(rs+cs)]
		}
	}
	return divide
}

// solveTile overwrites h rows of x, nr wide, with the solution for the h×h
// lower triangle whose negated element (i, j) is tri[j*mr+i].
func solveTile[T Element](h, mr, nr int, tri, d []T, divide bool, x []T) {
	for i := range h {
		xi := x[i*nr : i*nr+nr]
		for j := range i {
			t := tri[j*mr+i]
			for v, y := range x[j*nr : j*nr+nr] {
				xi[v] += t * y
			}
		}
		di := d[i]
		if divide {
			for v := range xi {
				xi[v] /= di
			}
		} else {
			for v := range xi {
				xi[v] *= di
			}
		}
	}
}

// solve4x2 is solveTile for h = mr = 4 and nr = 2, in registers.
func solve4x2[T Element](tri, d, x []T) {
	t, r, y := (*[16]T)(tri), (*[4]T)(d), (*[8]T)(x)
	x0, x1 := y[0]*r[0], y[1]*r[0]
	x2, x3 := y[2]+t[1]*x0, y[3]+t[1]*x1
	x4, x5 := y[4]+t[2]*x0, y[5]+t[2]*x1
	x6, x7 := y[6]+t[3]*x0, y[7]+t[3]*x1
	x2 *= r[1]
	x3 *= r[1]
	x4 += t[6] * x2
	x5 += t[6] * x3
	x6 += t[7] * x2
	x7 += t[7] * x3
	x4 *= r[2]
	x5 *= r[2]
	x6 = (x6 + t[11]*x4) * r[3]
	x7 = (x7 + t[11]*x5) * r[3]
	y[0], y[1], y[2], y[3] = x0, x1, x2, x3
	y[4], y[5], y[6], y[7] = x4, x5, x6, x7
}
