package asm

import "unsafe"

// LUColumn is one call of a kernel on columns that lie LD bytes apart and
// consist of whole blocks of [LUVectors] vectors. The order of the fields stands
// in internal/leafasm, too.
//
// One that updates computes in column K, from row Row on and with the columns
// before it,
//
//	column(K−1) *= Scale,   column(K) −= Σ U[k]·column(k) over k < K,
//
// and finds the greatest magnitude in column K. It goes through the vectors of
// the column a few at a time, a turn, and keeps for each lane of a turn in Most
// the greatest magnitude so far and in Where the first row of the turn that it
// was found in, the uppermost of equal ones. Most is 0 where no magnitude
// exceeds that, which that of a NaN does not.
type LUColumn struct {
	X      unsafe.Pointer // row 0 of column 0
	LD     int
	C      unsafe.Pointer // row 0 of column K
	U      unsafe.Pointer
	K      int
	Row    int    // less than a block has
	Blocks int    // at least 1
	Scale  uint64 // the bits of the element
	Most   [256]byte
	Where  [256]byte // integers of the size of the elements
}

// LUVectors is the number of vectors in a block of rows of a column.
const LUVectors = 4

// The number of vectors in a turn.
const (
	LUTurnAVX512 = 4
	LUTurnAVX2   = 2
)
