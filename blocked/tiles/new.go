package tiles

// New returns an m×n Matrix of zeros with tiles of nb×nb. On a machine with
// several NUMA nodes the tiles of a large one are dealt out to them: see
// [FirstTouch]. It panics with ErrShape if m or n is negative, nb < 1, or kind is
// not Full and m ≠ n, and if the size of a tile overflows.
func New[T Element](kind Kind, m, n, nb int) *Matrix[T] {
	return NewOn[T](kind, m, n, nb, nil)
}

// NewOn is [New] with tile (i, j) in the memory of NUMA node home.Owner(i, j), if there
// are several nodes. It is for programs that know which node will work on a tile. Node
// numbers are taken modulo the number of nodes, in the order of the machine. If home is
// nil, NewOn is New.
func NewOn[T Element](kind Kind, m, n, nb int, home Layout) *Matrix[T] {
	a := Outline[T](kind, m, n, nb)
	// Each tile is its own allocation: a freed Matrix returns in pieces, and
	// no single contiguous arena of the matrix's size is needed.
	if !a.place(home) {
		a.allocateHere()
	}
	return a
}

// Unfilled returns a Matrix as New does, but its tiles have no memory at first.
// [Matrix.CopyFrom] or a [Filling] allocates each tile when it fills it. Until then
// elements must be neither read nor written.
func Unfilled[T Element](kind Kind, m, n, nb int) *Matrix[T] {
	a := Outline[T](kind, m, n, nb)
	if !a.place(nil) {
		a.shape()
	}
	return a
}
