package cpu

import "gonum.org/v1/gonum/blas"

// apply computes C = op(Q)·C or, from the right, C·op(Q), for a C of n columns or, from the right, n rows.
//
// From the left, a strip of C at a time goes through a buffer, where it stays
// while all blocks are applied to it. Reference: LAPACK xLARFB and xTPRFB.
func (q *QR[T]) apply(f *reflectors[T], trans bool, n int, x target[T], s *scratch[T]) {
	if !q.shareApply(f, trans, n, x) {
		q.applyAlone(f, trans, n, x, s)
	}
}

// shareApply is [QR.apply] by the crew, if there is one and it is worth while;
// otherwise it returns false.
func (q *QR[T]) shareApply(f *reflectors[T], trans bool, n int, x target[T]) bool {
	const least = 6e6 // flops that are worth sharing
	if q.crew == nil || 4*float64(f.m)*float64(n)*float64(f.k) < least {
		return false
	}
	const grain = 96 // columns of C: whole strips in every instruction set
	parts := min(pieces*q.units, n/grain)
	if parts < 2 {
		return false
	}
	size := roundUp((n+parts-1)/parts, grain)
	one, all := *q, *f // copies, as what the crew gets is on the heap, where *f would be in every call
	dim := max(f.m, size, f.k)
	q.crew((n+size-1)/size, q.Work(dim, f.k, f.tb), func(i, _ int, work []T) {
		s := one.scratch(work, dim, all.k, all.tb)
		lo := i * size
		one.applyAlone(&all, trans, min(size, n-lo), x.from(lo), &s)
	})
	return true
}

// applyAlone is apply by one core.
func (q *QR[T]) applyAlone(f *reflectors[T], trans bool, n int, x target[T], s *scratch[T]) {
	if x.left && q.vec != nil {
		q.applyStrips(f, trans, n, x, s)
		return
	}
	blocks := f.blocks()
	for j := 0; j < n; j += acrossMax {
		w := min(acrossMax, n-j)
		y := x.from(j)
		if x.left { // y goes through the buffer
			y.c, y.ldc = s.p, padded[T](w)
			q.panels.copy(y.c, y.ldc, from(x.c, j), x.ldc, f.m, w)
		}
		for i := range blocks {
			b := i
			if x.left != trans { // Qᵀ·C and C·Q begin with the first block
				b = blocks - 1 - i
			}
			if h := f.block(b, y); x.left {
				q.applyLeft(h, trans, w, s)
			} else {
				q.applyRight(h, trans, w, s)
			}
		}
		if x.left {
			q.panels.copy(from(x.c, j), x.ldc, y.c, y.ldc, f.m, w)
		}
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
