package isa

import "github.com/tessera-la/tessera/internal/scalar"

// Larf is one call of a kernel that makes the vector of a reflector of a column x, and reflects the columns of a strip: M
// rows of N elements that lie LD bytes apart. N is at most Strip, and M at least 2. The first row is the one whose element
// of v is 1; in the others that is v = Factor·x, where x is C bytes from the beginning of the row.
//
//	w = Σ v·row;  row = Scale·row − v·(Taus·w), element by element;  Squares = Σ row²
//
// Scale and Taus are for the first vector of a row, and all others have 1 and Tau. The first row has no Scale. W and Squares
// are w and the squares of the first vector, the latter without the first row. The order of the fields stands in
// kernels/cpu/internal/gen, too.
type Larf[T scalar.Real] struct {
	A                       *T
	LD, M, C, N             int
	Scale, Taus, Squares, W [MaxLanes]T
	Factor, Tau             T
}

// MaxLanes is the largest number of elements in a vector.
const MaxLanes = 16
