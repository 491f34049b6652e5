package isa

import "unsafe"

// Leaf is one call of a kernel for triangles, on a strip of columns X whose
// rows lie three vectors apart. Strides are in bytes. The order of the fields
// stands in kernels/cpu/internal/gen, too.
//
// A kernel that solves does Panels times, for panels of as many rows as the
// instruction set's tile,
//
//	tile = triangle⁻¹·(C − A·X(0:K))
//
// where the triangle follows the K columns of A. The tile goes to row K of X
// and back to C, K grows by its rows, and A, C and Inv move on. One that
// factors does once, with A out of X itself,
//
//	tile = C − X(0:K, panel)ᵀ·X(0:K),   Uᵀ·U = tile(panel),   tile = U⁻ᵀ·tile
//
// and stores Inv. The panel is as many columns as the tile has rows and begins
// in the first vector; of C what is left of the diagonal is neither read nor
// written, of X it is undefined.
type Leaf struct {
	A          unsafe.Pointer
	RS, CS, PS int // from row to row, column to column, panel to panel of A
	X          unsafe.Pointer
	C          unsafe.Pointer
	LDC        int
	Inv        unsafe.Pointer // the reciprocals of the diagonal
	K          int            // a multiple of a tile's rows
	Panels     int
	Width      int // of a tile: vectors to factor, SolveWidth to solve
	Last       int // lanes in the last vector that C has
	Lane       int // of the first vector at which the panel begins, to factor
	Plain      int // not 0: do not solve, only subtract
	Grow       int // what PS grows by from panel to panel
}

// What a kernel that solves takes for C.
const (
	Whole  = iota // rows of whole vectors
	Masked        // rows of whose last vector C has only Last lanes
	Own           // row K of X
)

// SolveWidth returns [Leaf.Width] for tiles of v vectors and a kind of C.
func SolveWidth(v, kind int) int { return 3*v + kind }
