package cpu

import (
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// trsm is trsmLeaf by strips of right-hand sides. Whatever the case, the
// triangle is taken as a lower one, its unknowns in the order in which they
// are solved, and read where it lies; the right-hand sides are the columns of
// a strip, transposed into it and back if they are the rows of B.
func (l *leaves[T]) trsm(s triangular[T], n int, a, b []T) {
	mr, nr, size := l.mr, l.nr, l.size()
	rows := roundUp(n, mr)
	checkWork(len(s.work), l.work(n))
	x, inv, tri := s.work[:rows*nr], s.work[rows*nr:rows*nr+rows], s.work[rows*nr+rows:l.work(n)]

	// Element (i, j), i ≥ j, of the triangle in order of solution is
	// a[base+i*rs+j*cs]. Forward the order is that of A; backward it is
	// reversed. Right-hand triangles are transposed by nature.
	rs, cs, base := s.lda, 1, 0
	if s.transposed() == s.left() {
		rs, cs = cs, rs
	}
	// Unknown 0 is row or column first of B.
	first, step := 0, 1
	if !s.forward() {
		base = (n - 1) * (s.lda + 1)
		rs, cs = -rs, -cs
		first, step = n-1, -1
	}
	divide := reciprocals(s, n, a, inv)
	full := n / mr * mr
	last := tri[full*(full+mr)/2:]
	if full < n { // the last panel would reach beyond A
		copyLastPanel(last[:rows*mr], mr, full, n, a, base, rs, cs)
		for i := n; i < rows; i++ {
			inv[i] = 1
		}
	}
	whole := isa.Leaf{X: at(x, 0), Inv: at(inv, 0), A: at(a, base), RS: rs * size, CS: cs * size, PS: mr * rs * size}
	if l.packs(n, cs, s.rhs) && !divide {
		for u := 0; u < full; u += mr {
			// Backward the rows of a panel keep the order of A.
			l.PackTriangle(at(tri, u*(u+mr)/2), at(a, base+u*rs+min(rs, 0)*(mr-1)), cs*size, u+mr)
		}
		whole.A, whole.CS = at(tri, -min(rs, 0)*(mr-1)), mr*size
		whole.PS, whole.Grow = mr*mr*size, mr*mr*size
	}

	for v := 0; v < s.rhs; v += nr {
		w := min(nr, s.rhs-v)
		t := whole
		direct := s.left() && !divide
		l.shape(&t, w, !direct)
		t.C, t.LDC = at(x, 0), nr*size
		var bv []T
		switch {
		case direct:
			bv = b[v:]
			t.C, t.LDC = at(bv, first*s.ldb), step*s.ldb*size
			copyRows(x, full, 1, nr, bv, first+full*step, step, s.ldb, w, n-full)
		case s.left():
			bv = b[v:]
			copyRows(x, 0, 1, nr, bv, first, step, s.ldb, w, n)
		default:
			bv = b[v*s.ldb:]
			l.gather(x, first, step, bv, s.ldb, w, n)
		}
		if divide {
			l.divide(t, n, a, base, rs, cs, x)
		} else {
			if full > 0 {
				t.Panels = full / mr
				l.Solve(isa.Hide(&t))
			}
			if full < n {
				t.A, t.RS, t.CS = at(last, 0), size, mr*size
				t.C, t.LDC = at(x, full*nr), nr*size
				l.shape(&t, w, true)
				t.Inv, t.K, t.Panels = at(inv, full), full, 1
				l.Solve(isa.Hide(&t))
			}
		}
		switch {
		case direct:
			copyRows(bv, first+full*step, step, s.ldb, x, full, 1, nr, w, n-full)
		case s.left():
			copyRows(bv, first, step, s.ldb, x, 0, 1, nr, w, n)
		default:
			l.scatter(bv, s.ldb, x, first, step, w, n)
		}
	}
}

// copyLastPanel copies the last panel of a triangle of order n, whose rows full, …, n-1 are fewer than the mr
// of a panel, and completes it with zeros. Element (i, j) of the triangle is a[base+i*rs+j*cs].
func copyLastPanel[T Element](panel []T, mr, full, n int, a []T, base, rs, cs int) {
	for j := range n {
		p := panel[j*mr : j*mr+mr]
		clear(p)
		for i := max(full, j); i < n; i++ {
			p[i-full] = a[base+i*rs+j*cs]
		}
	}
	clear(panel[n*mr:])
}

// packs reports whether the panels of a triangle of order n are to be packed,
// of which columns lie cs apart. Those of neighbours never need it. With AVX2
// others do, for 4 rows are less than a cache line; with AVX-512 only if the
// columns lie in the same sets of the cache. docs/internals/kernels-triangular.md has
// the figures.
func (l *leaves[T]) packs(n, cs, rhs int) bool {
	if cs == 1 || cs == -1 || rhs <= 2*l.nr {
		return false
	}
	if l.mr == 4 {
		return n >= 96
	}
	return n >= 256 && cs*l.size()%4096 == 0
}

// reciprocals stores the reciprocals of the diagonal of A in order of solution
// in inv. It reports true if one of them overflows or loses its digits.
func reciprocals[T Element](s triangular[T], n int, a, inv []T) (divide bool) {
	if s.diag == blas.Unit {
		for i := range inv[:n] {
			inv[i] = 1
		}
		return false
	}
	o, step := 0, s.lda+1
	if !s.forward() {
		o, step = (n-1)*step, -step
	}
	for i := range inv[:n] {
		v := a[o]
		r := 1 / v
		inv[i] = r
		// Of a finite diagonal the reciprocal may overflow or be denormal; of
		// zeros, infinities and NaN it is as good as the division.
		if v != 0 && v-v == 0 && !inverse(v, r) {
			divide = true
		}
		o += step
	}
	return divide
}

// divide solves for the strip x with triangles of which a reciprocal cannot
// be used: each panel is divided by its diagonal here.
func (l *leaves[T]) divide(t isa.Leaf, n int, a []T, base, rs, cs int, x []T) {
	mr, nr, size := l.mr, l.nr, l.size()
	t.RS, t.CS, t.Plain = rs*size, cs*size, 1
	for u := 0; u < n; u += mr {
		h := min(mr, n-u)
		if h == mr {
			t.A, t.C = at(a, base+u*rs), at(x, u*nr)
			t.K, t.Panels = u, 1
			l.Solve(isa.Hide(&t))
		}
		for i := u; i < u+h; i++ {
			xi := x[i*nr : i*nr+nr]
			from := u
			if h < mr {
				from = 0
			}
			for j := from; j < i; j++ {
				f := a[base+i*rs+j*cs]
				for v, y := range x[j*nr : j*nr+nr] {
					xi[v] -= f * y
				}
			}
			d := a[base+i*rs+i*cs]
			for v := range xi {
				xi[v] /= d
			}
		}
	}
}

// inverse reports whether r·v is one to working precision.
func inverse[T Element](v, r T) bool {
	var eps T = 0x1p-52
	if T(1)+eps == 1 {
		eps = 0x1p-23
	}
	e := r*v - 1
	return -2*eps <= e && e <= 2*eps
}
