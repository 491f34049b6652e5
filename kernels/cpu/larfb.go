package cpu

import "gonum.org/v1/gonum/blas"

// apply computes C = op(Q)·C, or C·op(Q) if not left, for a C of n columns, or
// rows if not left, of which unit is the part that the unit matrix meets.
//
// From the left, a strip of C at a time goes through a buffer, where it stays
// while all blocks are applied to it. Reference: LAPACK xLARFB and xTPRFB.
func (q *QR[T]) apply(f *reflectors[T], left, trans bool, n int, unit []T, ldu int, c []T, ldc int, s *scratch[T]) {
	if !q.shareApply(f, left, trans, n, unit, ldu, c, ldc) {
		q.applyAlone(f, left, trans, n, unit, ldu, c, ldc, s)
	}
}

// shareApply is [QR.apply] by the crew, if there is one and it is worth while;
// otherwise it returns false.
func (q *QR[T]) shareApply(f *reflectors[T], left, trans bool, n int, unit []T, ldu int, c []T, ldc int) bool {
	const least = 6e6 // flops of which half are worth giving away
	if q.crew == nil || 4*float64(f.m)*float64(n)*float64(f.k) < least {
		return false
	}
	const grain = 96 // whole strips of every instruction set
	step, stepU := 1, 1
	if !left {
		step, stepU = ldc, ldu
	}
	parts := min(pieces*q.units, n/grain)
	if parts < 2 {
		return false
	}
	size := roundUp((n+parts-1)/parts, grain)
	one, all := *q, *f // copies: what others get to see is on the heap, and f is not
	dim := max(f.m, size, f.k)
	q.crew((n+size-1)/size, q.Work(dim, f.k, f.tb), func(i, _ int, work []T) {
		s := one.scratch(work, dim, all.k, all.tb)
		lo := i * size
		one.applyAlone(&all, left, trans, min(size, n-lo), from(unit, lo*stepU), ldu, from(c, lo*step), ldc, &s)
	})
	return true
}

// applyAlone is apply by one core.
func (q *QR[T]) applyAlone(f *reflectors[T], left, trans bool, n int, unit []T, ldu int, c []T, ldc int, s *scratch[T]) {
	blocks := f.blocks()
	number := func(i int) int { // the first block goes first in Qᵀ·C and in C·Q
		if left == trans {
			return i
		}
		return blocks - 1 - i
	}
	if !left {
		for j := 0; j < n; j += acrossMax {
			w := min(acrossMax, n-j)
			for i := range blocks {
				h := f.block(number(i), false, from(unit, j*ldu), ldu, from(c, j*ldc), ldc)
				q.applyRight(h, trans, w, s)
			}
		}
		return
	}
	if q.vec != nil {
		q.applyStrips(f, trans, n, unit, ldu, c, ldc, s)
		return
	}
	for j := 0; j < n; j += acrossMax {
		w := min(acrossMax, n-j)
		ld := padded[T](w)
		q.panels.copy(s.p, ld, from(c, j), ldc, f.m, w)
		for i := range blocks {
			h := f.block(number(i), true, from(unit, j), ldu, s.p, ld)
			q.applyLeft(h, trans, w, s)
		}
		q.panels.copy(from(c, j), ldc, s.p, ld, f.m, w)
	}
}

// applyLeft computes W = Vᵀ·C, W = op(T)·W and C −= V·W.
func (q *QR[T]) applyLeft(h blockReflector[T], trans bool, n int, s *scratch[T]) {
	k, r := h.k, q.r
	w, w2 := s.w[:k*n], s.w2[:k*n]
	var beta T
	if h.unit != nil {
		q.panels.copy(w, n, h.unit, h.ldu, k, n)
		beta = 1
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.Trans, blas.NoTrans, k, n, p.m, 1, p.v, p.ldv, p.c, p.ldc, beta, w, n, s.gemm)
			beta = 1
		}
	}
	for i := 0; i < k; i += applyStep {
		b := min(applyStep, k-i)
		if trans {
			r.Gemm(blas.Trans, blas.NoTrans, b, n, i+b, 1, h.t[i:], k, w, n, 0, w2[i*n:], n, s.gemm)
		} else {
			r.Gemm(blas.NoTrans, blas.NoTrans, b, n, k-i, 1, h.t[i*k+i:], k, w[i*n:], n, 0, w2[i*n:], n, s.gemm)
		}
	}
	if h.unit != nil {
		q.panels.subtract(h.unit, h.ldu, w2, n, k, n)
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.NoTrans, blas.NoTrans, p.m, n, k, -1, p.v, p.ldv, w2, n, 1, p.c, p.ldc, s.gemm)
		}
	}
}

// applyRight computes W = C·V, W = W·op(T) and C −= W·Vᵀ.
func (q *QR[T]) applyRight(h blockReflector[T], trans bool, n int, s *scratch[T]) {
	k, r := h.k, q.r
	w, w2 := s.w[:n*k], s.w2[:n*k]
	var beta T
	if h.unit != nil {
		q.panels.copy(w, k, h.unit, h.ldu, n, k)
		beta = 1
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.NoTrans, blas.NoTrans, n, k, p.m, 1, p.c, p.ldc, p.v, p.ldv, beta, w, k, s.gemm)
			beta = 1
		}
	}
	for i := 0; i < k; i += applyStep {
		b := min(applyStep, k-i)
		if trans {
			r.Gemm(blas.NoTrans, blas.Trans, n, b, k-i, 1, w[i:], k, h.t[i*k+i:], k, 0, w2[i:], k, s.gemm)
		} else {
			r.Gemm(blas.NoTrans, blas.NoTrans, n, b, i+b, 1, w, k, h.t[i:], k, 0, w2[i:], k, s.gemm)
		}
	}
	if h.unit != nil {
		q.panels.subtract(h.unit, h.ldu, w2, k, n, k)
	}
	for _, p := range [...]*rowsOf[T]{&h.corner, &h.rest} {
		if p.m > 0 {
			r.Gemm(blas.NoTrans, blas.Trans, n, p.m, k, -1, w2, k, p.v, p.ldv, 1, p.c, p.ldc, s.gemm)
		}
	}
}
