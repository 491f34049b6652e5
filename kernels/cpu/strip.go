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
	lanes int  // elements in a vector; NR is three vectors
	packA bool // for large products: see [isa.Kernels.PackA]

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
