package isa

import "unsafe"

// QRRows is one call of a kernel on M rows of 64 bytes that lie LD bytes apart:
// the columns of a narrow panel, all of which are read and written. C is the
// distance of a column from the first, in bytes, x the element of a row in that
// column. The order of the fields stands in kernels/cpu/internal/gen, too.
//
//	QRDots     Dots = Σ x·row
//	QRReflect  row −= x·W, then Dots = Σ x'·row with x' in the column after C
//	QRScale    row = W·row, element by element
type QRRows struct {
	A       unsafe.Pointer
	LD      int
	M       int
	C       int
	W, Dots unsafe.Pointer // 64 bytes each
}
