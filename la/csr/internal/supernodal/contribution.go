package supernodal

import "github.com/tessera-la/tessera/internal/scalar"

// contribution is what a front contributes to its parent: the upper triangle of a symmetric matrix of order n. A front
// computes it in bands of rows, so that BLAS level 3 does the work. On the stack of a worker it is packed row by row,
// which takes less memory. A band is a dense matrix from its first diagonal element on:
//
//	┌──┬──────────┐
//	│  │          │  bandRows rows
//	└──┼──┬───────┤
//	   │  │       │
//	   └──┴───────┘
type contribution[T scalar.Real] struct {
	data   []T
	n      int
	packed bool
}

// bandRows is the number of rows of a band.
const bandRows = 512

// bandedSize returns the number of elements of a contribution in bands.
func bandedSize(n int) (size int64) {
	for lo := 0; lo < n; lo += bandRows {
		size += int64(min(bandRows, n-lo)) * int64(n-lo)
	}
	return size
}

// packedSize returns the number of elements of a packed contribution.
func packedSize(n int) int64 { return int64(n) * int64(n+1) / 2 }

// band returns the band with row lo, a multiple of bandRows: the number of its rows, and its elements. The leading
// dimension is n−lo.
func (c contribution[T]) band(lo int) (rows int, elements []T) {
	full := lo / bandRows // bands before it: band k has bandRows rows of n − k·bandRows elements
	at := lo*c.n - full*(full-1)/2*bandRows*bandRows
	return min(bandRows, c.n-lo), c.data[at:]
}

// row returns row i from the diagonal on.
func (c contribution[T]) row(i int) []T {
	if c.packed {
		at := i*c.n - i*(i-1)/2
		return c.data[at : at+c.n-i]
	}
	lo := i / bandRows * bandRows
	_, x := c.band(lo)
	at := (i-lo)*(c.n-lo) + i - lo
	return x[at : at+c.n-i]
}

// pack copies c to dst row by row.
func (c contribution[T]) pack(dst []T) {
	for i := range c.n {
		dst = dst[copy(dst, c.row(i)):]
	}
}
