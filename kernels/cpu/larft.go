package cpu

import "gonum.org/v1/gonum/blas"

// update applies the transpose of H, the first k columns of p, to the n
// columns after them.
func (q *QR[T]) update(p panel[T], k, n int, s *scratch[T]) {
	f := reflectors[T]{sh: p.sh, m: p.m, k: k, ib: k, tb: k, above: p.above, v: p.a, ldv: p.lda, t: s.t, corners: s.corner}
	f.load(0, p.t, p.ldt)
	h := f.block(0, target[T]{true, p.r, p.ldr, p.a, p.lda}.from(k))
	q.applyLeft(h, true, n, s)
}

// factor computes the QR factorization of the first k columns of p with their
// T. It halves them, so that most of the work is in products:
//
//	[A1 A2] = Q1·[R1 B2],  B2 = Q2·R2 below R1,  T = ⎡T1  −T1·(V1ᵀ·V2)·T2⎤
//	                                                 ⎣          T2       ⎦
//
// Reference: Elmroth and Gustavson, "Applying recursion to serial and parallel
// QR factorization leads to better performance", 2000; LAPACK xGEQRT3.
func (q *QR[T]) factor(p panel[T], k int, s *scratch[T]) {
	w := q.panels.width()
	if k <= w {
		q.panels.leaf(p, k)
		return
	}
	k1 := roundUp((k+1)/2, w)
	k2 := k - k1
	q.factor(p, k1, s)
	q.update(p, k1, k2, s)
	q.factor(p.from(k1), k2, s)
	q.merge(p, k1, k2, s)
}

// merge computes the upper right part of the T of k1+k2 columns from the two
// triangles on its diagonal.
func (q *QR[T]) merge(p panel[T], k1, k2 int, s *scratch[T]) {
	x, y := s.w[:k1*k2], s.w2[:k1*k2]
	p2 := p.from(k1)
	var beta T
	add := func(m int, v1 []T, ld1 int, v2 []T, ld2 int) {
		if m > 0 {
			q.r.Gemm(blas.Trans, blas.NoTrans, k1, k2, m, 1, v1, ld1, v2, ld2, beta, x, k2, s.gemm)
			beta = 1
		}
	}
	switch k := k1 + k2; p.sh {
	case trapezoid:
		squareTriangle(k2, blas.Lower, blas.Unit, p2.a, p.lda, s.corner)
		add(k2, p.a[k1*p.lda:], p.lda, s.corner, k2)
		add(p.m-k, from(p.a, k*p.lda), p.lda, from(p.a, k*p.lda+k1), p.lda)
	case square:
		add(p.m, p.a, p.lda, p2.a, p.lda)
	case triangle:
		add(min(p.above, p.m), p.a, p.lda, p2.a, p.lda)
		if d := min(k1, p.m-p.above); d > 0 {
			squareTrapezoid(d, k1, p.a[p.above*p.lda:], p.lda, s.corner)
			add(d, s.corner, k1, p2.a[p.above*p.lda:], p.lda)
		}
	}
	if beta == 0 {
		clear(x) // the matrix has no rows
	}
	squareTriangle(k1, blas.Upper, blas.NonUnit, p.t, p.ldt, s.t)
	squareTriangle(k2, blas.Upper, blas.NonUnit, p2.t, p.ldt, s.t2)
	q.r.Gemm(blas.NoTrans, blas.NoTrans, k1, k2, k2, 1, x, k2, s.t2, k2, 0, y, k2, s.gemm)
	q.r.Gemm(blas.NoTrans, blas.NoTrans, k1, k2, k1, -1, s.t, k1, y, k2, 0, p.t[k1:], p.ldt, s.gemm)
}

// panel returns the panel that begins at column j of A, without the triangle on
// top.
func (f *reflectors[T]) panel(j int, a []T, lda int, t []T, ldt int) panel[T] {
	p := panel[T]{sh: f.sh, m: f.m, above: j, a: from(a, j), lda: lda, t: t[j:], ldt: ldt}
	if f.sh == trapezoid {
		p.m, p.above, p.a = f.m-j, 0, a[j*lda+j:]
	}
	return p
}

// factorBlocks computes the QR factorization of the first k columns of an m×n
// matrix A of the shape of f, below the triangle R unless f is a trapezoid, and
// T. Each block of columns goes through a buffer: there the blocks before it
// are applied, and it is factored.
func (q *QR[T]) factorBlocks(f *reflectors[T], n int, r []T, ldr int, a []T, lda int, t []T, ldt int, s *scratch[T]) {
	for b := range f.blocks() {
		j, w := f.at(b)
		ld := padded[T](w)
		full := f.m // rows of which all columns of the block have an element
		if f.sh == triangle {
			full = min(j, f.m)
		}
		if q.vec != nil && b > 0 {
			g := stripGroup[T]{c: s.c, m: full, n: w, ldu: ldr}
			if f.sh != trapezoid {
				g.unit = from(r, j)
			}
			q.load(&g, from(a, j), lda)
			for i := range b {
				q.applyGroup(f, i, true, &g, nil, s)
			}
			q.store(&g, s.p, ld)
		} else {
			q.panels.copy(s.p, ld, from(a, j), lda, full, w)
		}
		for i := full; i < min(f.m, j+w); i++ {
			copy(s.p[i*ld+i-j:i*ld+w], a[i*lda+i:i*lda+j+w])
		}
		for i := range b {
			if q.vec == nil {
				q.applyLeft(f.block(i, target[T]{true, from(r, j), ldr, s.p, ld}), true, w, s)
			}
		}
		p := panel[T]{sh: f.sh, m: f.m, above: j, a: s.p, lda: ld, t: t[j%f.tb*ldt+j:], ldt: ldt}
		if f.sh == trapezoid {
			p.m, p.above, p.a = f.m-j, 0, s.p[j*ld:]
		} else {
			p.r, p.ldr = r[j*ldr+j:], ldr
		}
		q.factor(p, w, s)
		q.panels.copy(from(a, j), lda, s.p, ld, full, w)
		for i := full; i < min(f.m, j+w); i++ {
			copy(a[i*lda+i:i*lda+j+w], s.p[i*ld+i-j:i*ld+w])
		}
		f.load(b, t, ldt)
		if f.packed != nil {
			f.packRows(b, 0, f.m, q.panels)
		}
		if before := j % f.tb; before > 0 {
			q.merge(f.panel(j-before, a, lda, t, ldt), before, w, s)
		}
	}
	if n > f.k {
		q.apply(f, true, n-f.k, target[T]{left: true, c: from(a, f.k), ldc: lda}, s)
	}
}
