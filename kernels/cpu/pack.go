package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// packB packs a strip of B: the k×w matrix whose element (p, j) is
// src[p*rs+j*cs], into rows of r elements, a multiple of a vector, that end in
// zeros.
func (v *vectors[T]) packB(dst, src []T, rs, cs, w, k, r int) {
	size := scalar.Size[T]()
	_, _ = dst[k*r-1], src[(k-1)*rs+(w-1)*cs]
	if cs == 1 {
		v.PackRows(isa.Hide(&isa.Panel{
			Dst: unsafe.Pointer(&dst[0]), Pitch: r * size,
			Src: unsafe.Pointer(&src[0]), Stride: rs * size,
			K: k, W: w * size,
		}))
		return
	}
	for j := 0; j < w; j += v.lanes {
		v.PackTransposed(isa.Hide(&isa.Panel{
			Dst: unsafe.Pointer(&dst[j]), Pitch: r * size,
			Src: unsafe.Pointer(&src[j*cs]), Stride: cs * size,
			K: k, W: min(v.lanes, w-j),
		}))
	}
}

// packStrips packs the k×n matrix B, whose element (l, j) is
// src[l*rs+j*cs], strip by strip. The one at column j begins at dst[j*k].
func (p *Packed[T]) packStrips(dst, src []T, rs, cs, n, k int) {
	v, j := &p.vectors, 0
	if cs == 1 && v.PackStrips != nil {
		for w := isa.Strips * p.NR; p.width(n-j) == p.NR && p.width(n-j-p.NR) == p.NR; j += w {
			abreast(v.PackStrips, dst[j*k:], src[j:], rs, k, p.NR, isa.Strips)
		}
	}
	for j < n {
		w := p.width(n - j)
		v.packB(dst[j*k:], src[j*cs:], rs, cs, w, k, roundUp(w, v.lanes))
		j += w
	}
}

// abreast has f pack n pieces, of k rows of w elements, of rows of src that are
// rs elements apart. They follow each other in dst.
func abreast[T Element](f func(*isa.Panel), dst, src []T, rs, k, w, n int) {
	size := int(unsafe.Sizeof(dst[0]))
	_, _ = dst[n*w*k-1], src[(k-1)*rs+n*w-1]
	f(isa.Hide(&isa.Panel{
		Dst: unsafe.Pointer(&dst[0]), Pitch: w * size, Far: w * k * size,
		Src: unsafe.Pointer(&src[0]), Stride: rs * size,
		K: k,
	}))
}

// packAllB packs the k×n matrix B, whose element (l, j) is src[l*rs+j*cs], as
// packStrips does. If strips are packed one at a time, then rows are read a few
// at a time and as far as they go, rather than in pieces of the width of a
// strip from all of memory.
func (p *Packed[T]) packAllB(dst, src []T, rs, cs, n, k int) {
	if p.byStrips(cs) {
		p.packStrips(dst, src, rs, cs, n, k)
		return
	}
	for l := 0; l < k; l += packRows {
		p.packSlab(dst, src, rs, n, k, l, min(packRows, k-l))
	}
}

// byStrips reports whether packAllB packs a B, of which columns lie cs apart, strip
// by strip.
func (p *Packed[T]) byStrips(cs int) bool { return cs != 1 || p.vectors.PackStrips != nil }

// packRows is how many rows of B packAllB reads at a time: as many as the lines that a set of
// the first-level cache holds, since rows often lie a power of two apart.
const packRows = 8

// packSlab packs h rows of B, from row l on.
func (p *Packed[T]) packSlab(dst, src []T, rs, n, k, l, h int) {
	for j := 0; j < n; {
		w := p.width(n - j)
		r := roundUp(w, p.vectors.lanes)
		p.vectors.packB(dst[j*k+l*r:], src[l*rs+j:], rs, 1, w, h, r)
		j += w
	}
}

// packA packs the m×k matrix A, whose element (i, l) is src[i*rs+l*cs], into
// panels of MR rows: element (i, l) becomes dst[i/MR*MR*k + l*MR + i%MR]. What
// is beyond row m of the last panel, and up to a vector behind it, becomes
// undefined.
func (p *Packed[T]) packA(dst, src []T, rs, cs, m, k int) {
	v, mr := &p.vectors, p.MR
	i := 0
	switch {
	case cs != 1 && v.PackPanels != nil:
		for ; m-i >= isa.Panels*mr; i += isa.Panels * mr {
			abreast(v.PackPanels, dst[i*k:], src[i:], cs, k, mr, isa.Panels)
		}
	case cs != 1:
		const columns = 16
		for l := 0; l < k; l += columns {
			w := min(columns, k-l)
			for i := 0; i < m; i += mr {
				h := min(mr, m-i)
				v.packB(dst[i*k+l*mr:], src[i+l*cs:], cs, 1, h, w, mr)
			}
		}
		return
	}
	for ; i < m; i += mr {
		h := min(mr, m-i)
		v.packB(dst[i*k:], src[i*rs:], cs, rs, h, k, mr)
	}
}

func (p *Packed[T]) stepA(m, k int) int {
	return roundUp(roundUp(m, p.MR)*part(k, p.KC, 1)+p.vectors.lanes, 16)
}

func (p *Packed[T]) stepB(n, k int) int {
	return roundUp(roundUp(n, p.NR)*part(k, p.KC, 1), 16)
}

// packedA returns the block of kc columns of o, packed, that begins at row ic and
// column pc.
func (p *Packed[T]) packedA(o operand[T], m, k, ic, pc, kc int) []T {
	return o.packed[pc/part(k, p.KC, 1)*p.stepA(m, k)+ic*kc:]
}

// packedB returns the block of rows of o, packed, that begins at row pc.
func (p *Packed[T]) packedB(o operand[T], n, k, pc int) []T {
	return o.packed[pc/part(k, p.KC, 1)*p.stepB(n, k):]
}

// packsA reports whether large packs an op(A) of m rows.
func (p *Packed[T]) packsA(a operand[T], m int) bool {
	return a.trans || p.vectors.packA || part(m, p.MC, p.MR)*a.ld > p.vectors.spanA
}

// operandA gives s its block of the m×k op(A), from row ic and column pc on: packed,
// if it was packed before or pack says so, to ap, or where it lies.
func (p *Packed[T]) operandA(s *strip[T], a operand[T], m, k, ic, pc int, pack bool, ap []T) {
	if !pack && a.packed == nil {
		s.a, s.rs, s.cs = a.from(ic, pc)
		s.ps = p.MR * s.rs
		return
	}
	if a.packed != nil {
		ap = p.packedA(a, m, k, ic, pc, s.k)
	} else {
		x, rs, cs := a.from(ic, pc)
		p.packA(ap, x, rs, cs, s.m, s.k)
	}
	s.a, s.rs, s.cs, s.ps = ap, 1, p.MR, p.MR*s.k
}
