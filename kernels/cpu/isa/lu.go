package isa

import "unsafe"

// LUColumn is one call of a kernel on columns that lie LD bytes apart and
// consist of whole blocks of [LUVectors] vectors. The order of the fields stands
// in kernels/cpu/internal/gen, too.
//
// One that updates takes column K, with rows 0 to K-1 of the columns before it
// unit lower triangular, as far as the columns before it go:
//
//	column(K-1) below row K-1 *= Scale
//	column(K) below row k −= column(K)[k]·column(k), k = 0, …, K-1
//
// and finds the greatest magnitude from row K on. It goes through the vectors of
// the column a few at a time, a turn, and keeps for each lane of a turn in Most
// the greatest magnitude so far and in Where the first row of the turn that it
// was found in, the uppermost of equal ones. Most is 0 where no magnitude
// exceeds that, which that of a NaN does not.
//
// One that scales multiplies column K from row K on by Scale.
type LUColumn struct {
	X      unsafe.Pointer // row 0 of column 0
	LD     int
	C      unsafe.Pointer // row 0 of column K
	K      int            // less than LUDiagonal to update, at most that to scale
	Blocks int            // at least 1
	Scale  uint64         // the bits of the element
	Most   [64]byte
	Where  [64]byte // integers of the size of the elements
}

// LUVectors is the number of vectors in a block of rows of a column.
const LUVectors = 4

// LUDiagonal is the number of columns that kernels can take.
const LUDiagonal = 16
