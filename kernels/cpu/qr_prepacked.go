package cpu

// A factor that is applied to several matrices may be packed once for all of them:
// V and the triangles of T as [reflectors] has them.

// Prepacks reports whether a factor of k reflectors of m elements may be packed
// before, l as for Tpmqrt: if a call would pack it itself.
func (q *QR[T]) Prepacks(m, k int) bool { return q.vec != nil && m > 0 && k > 0 && m*k <= q.most }

// SizeV returns the number of elements of a factor of k reflectors of m elements, in
// blocks of ib, when it is packed.
func (q *QR[T]) SizeV(m, k, ib int) int {
	return 2*roundUp(roundUp(k, ib)*min(ib, k), 16) + m*k
}

// PackGeqrt packs into dst, of SizeV elements, the factor of which Geqrt has left V
// and T, with k reflectors of m elements.
func (q *QR[T]) PackGeqrt(dst []T, m, k, ib int, v []T, ldv int, t []T, ldt int) {
	q.packFactor(dst, trapezoid, m, k, ib, narrowBlock, v, ldv, t, ldt)
}

// PackTpqrt packs into dst, of SizeV elements, the factor of which Tpqrt has left V
// and T, with k reflectors of m elements below the unit matrix, of which the last l
// are an upper trapezoid.
func (q *QR[T]) PackTpqrt(dst []T, m, k, l, ib int, v []T, ldv int, t []T, ldt int) {
	sh := shapeOf(l)
	q.packFactor(dst, sh, m, k, ib, sh.widest(), v, ldv, t, ldt)
}

func (q *QR[T]) packFactor(dst []T, sh shape, m, k, ib, most int, v []T, ldv int, t []T, ldt int) {
	var s scratch[T]
	s.factor(dst, k, ib)
	f := q.reflectors(sh, m, k, ib, most, v, ldv, &s)
	f.loadAll(t, ldt, q.panels)
}

// Packed returns q for calls of Gemqrt and Tpmqrt that apply the factor in vp, as
// PackGeqrt or PackTpqrt of q has left it there, instead of that in v and t. The
// results are the same, bit for bit.
func (q *QR[T]) Packed(vp []T) *QR[T] {
	p := *q
	p.packedV = vp
	return &p
}

// factor cuts vp into what [reflectors] of k columns in blocks of ib keep.
func (s *scratch[T]) factor(vp []T, k, ib int) {
	n := roundUp(roundUp(k, ib)*min(ib, k), 16)
	s.ts, s.corners, s.packed = vp[:n:n], vp[n:2*n:2*n], vp[2*n:]
}

// factorOf returns the reflectors of a call, packed.
func (q *QR[T]) factorOf(sh shape, m, k, ib, most int, v []T, ldv int, t []T, ldt int, s *scratch[T]) reflectors[T] {
	if q.packedV != nil {
		s.factor(q.packedV, k, ib)
	}
	f := q.reflectors(sh, m, k, ib, most, v, ldv, s)
	if q.packedV == nil {
		f.loadAll(t, ldt, q.panels)
	}
	return f
}
