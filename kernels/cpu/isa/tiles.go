package isa

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
)

// A tile of a micro-kernel has as many vectors in a row, and at most as many
// rows.
const (
	RowVectors = 3
	MaxRows    = 8
)

// Tiles is one call of a micro-kernel: Panels tiles of C below each other,
//
//	C = Alpha·A·B + Beta·C
//
// Strides are in bytes. The offsets of the fields stand in kernels/cpu/internal/gen,
// too.
type Tiles[T scalar.Real] struct {
	A          unsafe.Pointer
	RS, CS, PS int // from row to row, column to column, panel to panel
	B          unsafe.Pointer
	LDB        int
	C          unsafe.Pointer
	LDC        int
	K, Panels  int
	Kind       int // which kernel, as Kind returns
	Mode       int // what becomes of the sums

	// Next is memory to bring to the second-level cache meanwhile: about K/4
	// cache lines for each panel. It is only a hint, and not a pointer, for it
	// ends up anywhere.
	Next uintptr

	_           [6]int64                     // scratch of the kernel
	Masks       [MaxRows * RowVectors]uint16 // lanes of C, vector by vector
	Last        uint16                       // lanes of the last vector in a row of B
	_           [3]uint16
	Alpha, Beta T
}

// Modes. Those with masks store no other lanes of C than Masks has, and need
// not be of tiles of all rows.
const (
	Set       = iota // Alpha·A·B
	Add              // Alpha·A·B + C
	SetMask          // Alpha·A·B
	ScaleMask        // Alpha·A·B + Beta·C
)

// Kind returns the kernel for tiles of h rows, 1 to 4 or all, and v vectors.
// The masked one reads no more of the last vector of B than Last has, the
// other one all lanes.
func Kind(h, v int, masked bool) int {
	kind := 2 * ((min(h, 5)-1)*RowVectors + v - 1)
	if masked {
		kind++
	}
	return kind
}

// Panel is one call of a packing function. Stride, Pitch, Far, and for a copy
// W, are in bytes.
//
// A copy packs K rows of W bytes, Stride apart, into rows of Pitch bytes, and
// fills them up with zeros; there must be at most three vectors in a row and
// less than one vector to fill. With AVX2 Pitch is a multiple of a vector, or
// half of one.
//
// A transposition packs W rows, Stride apart, of K elements: they become the
// W lanes of K vectors, Pitch apart, the other lanes of which become zero.
//
// Strips and panels abreast are copies of K rows, Stride apart, that are cut
// into pieces: those of one row go Far apart, those of one column Pitch apart.
type Panel struct {
	Dst, Src      unsafe.Pointer
	Stride, Pitch int
	K, W          int
	Far           int
}

// Pieces in a row of what is packed abreast: strips of three vectors, panels of as
// many rows as a tile.
const (
	Strips = 2
	Panels = 4
)
