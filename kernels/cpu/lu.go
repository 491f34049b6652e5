package cpu

// Block is some rows of a matrix: element (i, j) is Data[i*Stride+j]. Blocks
// one below the other make up a panel.
type Block[T Element] struct {
	Rows, Stride int
	Data         []T
}

// checkBlocks returns the number of rows of a.
func checkBlocks[T Element](n int, a []Block[T]) (m int) {
	if n < 0 {
		panic(ErrDim)
	}
	for i := range a {
		checkMatrix(a[i].Rows, n, len(a[i].Data), a[i].Stride)
		m += a[i].Rows
	}
	return m
}

// LU is the routines of the LU factorization with the rows of their matrix in
// several blocks, put together from one implementation of the level-3
// routines. It is safe for concurrent use with distinct work slices.
type LU[T Element] struct {
	r      Routines[T]
	leaves luLeaves[T]
	// library, if not nil, is the Getrf of a C library. It needs m·n elements of
	// scratch. If it returns false, it has not factored A.
	library func(m, n int, a []Block[T], ipiv []int, work []T) (info int, ok bool)
}

// NewLU returns the LU routines on top of r, for a core with caches c. Those of
// an instruction set bring kernels of their own for the innermost columns.
func NewLU[T Element](r Routines[T], c Caches) *LU[T] {
	return &LU[T]{r: r, leaves: luLeavesOf(r, c)}
}
