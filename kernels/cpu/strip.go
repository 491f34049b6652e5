package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// vectors is what an instruction set brings to [Packed]: a micro-kernel that
// does a whole strip of C at a time, and reads its operands from where they
// are, packed or not.
type vectors[T Element] struct {
	*isa.Kernels[T]
	lanes int // elements in a vector; NR is three vectors

	// Sizes in elements: of a block of A that stays in the second-level cache
	// while B and C pass through, and of the memory that a block of A and of B
	// may span, gaps included, if it is to be read in place; and of all three
	// matrices up to which they stay in the second-level cache.
	near, spanA, spanB, all int
	// The rows and columns of C from which on packing all is worth its time.
	narrow int
}

// set reports whether there are kernels.
func (v *vectors[T]) set() bool { return v.Kernels != nil }

// run runs the micro-kernel on s.
func (v *vectors[T]) run(s strip[T]) {
	t := s.args(v.lanes)
	for s.next(&t, v.Rows, v.lanes) {
		v.Gemm(isa.Hide(&t))
	}
}

// strip is one call of a vector micro-kernel,
//
//	C = alpha·A·B + beta·C
//
// for an m×n C with n ≤ NR. Rows of A come in panels of MR:
//
//	A(i, p) = a[(i/MR)*ps + (i%MR)*rs + p*cs]     B(p, j) = b[p*ldb+j]
//
// With beta = 0, C is not read. Every element of C is summed up in the order
// of k, whatever the shape of its tile.
type strip[T Element] struct {
	m, n, k     int
	alpha, beta T
	a           []T
	rs, cs, ps  int
	b           []T
	ldb         int
	padded      bool // rows of B may be read up to a whole vector
	c           []T
	ldc         int

	// ahead, if set, is what is wanted next: the kernel has it brought to the
	// second-level cache, about k/4 cache lines for each panel of A.
	ahead []T

	// Elements out of the uplo triangle of C are neither read nor written.
	// diag is the row of C minus its column, in the whole matrix, of c[0].
	// With uplo ≠ All, m is at most MR.
	uplo blas.Uplo
	diag int
}

// args returns the arguments that all tiles of s share.
func (s *strip[T]) args(lanes int) (t isa.Tiles[T]) {
	size := int(unsafe.Sizeof(s.alpha))
	t.RS, t.CS, t.PS = s.rs*size, s.cs*size, s.ps*size
	t.LDB, t.LDC = s.ldb*size, s.ldc*size
	t.K = s.k
	t.Alpha, t.Beta = s.alpha, s.beta
	t.Last = uint16(1)<<((s.n-1)%lanes+1) - 1
	next := s.ahead
	if next == nil {
		next = s.b // which is there already
	}
	t.Next = uintptr(unsafe.Pointer(unsafe.SliceData(next)))
	return t
}

// next sets t up for the next tiles of s, of mr rows if there are as many,
// and cuts them off s. It returns false at the end.
func (s *strip[T]) next(t *isa.Tiles[T], mr, lanes int) bool {
	if s.m == 0 {
		return false
	}
	h, panels := mr, s.m/mr
	if panels == 0 {
		h, panels = min(s.m, 4), 1
	}
	v := (s.n + lanes - 1) / lanes
	ragged := s.n < v*lanes

	// The kernels do not check: this is all the memory that they touch.
	rows := h * panels
	if s.k > 0 {
		_ = s.a[(panels-1)*s.ps+(h-1)*s.rs+(s.k-1)*s.cs]
		_ = s.b[(s.k-1)*s.ldb+s.n-1]
	}
	_ = s.c[(rows-1)*s.ldc+s.n-1]
	t.A, t.B, t.C = unsafe.Pointer(unsafe.SliceData(s.a)), unsafe.Pointer(unsafe.SliceData(s.b)), unsafe.Pointer(unsafe.SliceData(s.c))
	t.Panels = panels

	t.Kind = isa.Kind(h, v, ragged && !s.padded)
	t.Mode = isa.ScaleMask
	switch s.beta {
	case 0:
		t.Mode = isa.SetMask
		if h == mr && !ragged && s.uplo == blas.All {
			t.Mode = isa.Set
		}
	case 1:
		if h == mr && !ragged && s.uplo == blas.All {
			t.Mode = isa.Add
		}
	}
	if t.Mode >= isa.SetMask {
		s.mask(t, h, v, lanes)
	}

	if s.m -= rows; s.m > 0 {
		s.c = s.c[rows*s.ldc:]
		s.diag += rows
		if h == mr {
			s.a = s.a[panels*s.ps:]
		} else {
			s.a = s.a[h*s.rs:]
		}
	}
	return true
}

// mask sets the masks of a tile of h rows and v vectors.
func (s *strip[T]) mask(t *isa.Tiles[T], h, v, lanes int) {
	for i := range h {
		lo, hi := 0, s.n
		switch s.uplo {
		case blas.Lower:
			hi = min(s.n, s.diag+i+1)
		case blas.Upper:
			lo = max(0, s.diag+i)
		}
		row := t.Masks[i*isa.RowVectors : (i+1)*isa.RowVectors]
		for j := range v {
			row[j] = uint16(below(hi-j*lanes) &^ below(lo-j*lanes))
		}
	}
}

// below returns the mask of the lanes before lane n.
func below(n int) uint32 { return 1<<uint(min(max(n, 0), 16)) - 1 }

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
	if len(work) < p.tile()+p.blockA(m, k)+p.blockB(n, k) {
		panic(ErrWork)
	}
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

// width returns the number of columns of the next strip where n are left:
// three vectors, but rather two and two than three and one, of which the one
// would wait for its own sums.
func (p *Packed[T]) width(n int) int {
	l := p.vectors.lanes
	if n > isa.RowVectors*l && n <= (isa.RowVectors+1)*l {
		return 2 * l
	}
	return min(n, isa.RowVectors*l)
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
