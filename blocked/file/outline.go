package file

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
)

// outline returns an m×n Matrix whose tiles have no memory; a reader allocates them as
// data arrives. The error is a *FormatError if a file of that shape and symmetry cannot
// become the kind o.Want, or if the Matrix would take more than limit bytes; or the error
// of o.Check, unchanged. outline allocates only after these checks.
func outline[T blocked.Element](o *ReadOptions, symmetric, skew bool, m, n, limit int64) (*blocked.Matrix[T], error) {
	kind := o.Want.kind(symmetric)
	switch {
	case m > maxDim || n > maxDim:
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix: a dimension is above %d", m, n, maxDim)}
	case kind != blocked.Full && m != n:
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix is not square and cannot be read as %v", m, n, kind)}
	case skew && kind.Symmetric():
		return nil, &FormatError{Reason: fmt.Sprintf("skew-symmetric matrix cannot be read as %v", kind)}
	}
	if o.Check != nil {
		if err := o.Check(Header{int(m), int(n), kind}); err != nil {
			return nil, err
		}
	}
	limit = min(limit, mostBytes)
	if need := storedBytes[T](kind, m, n, int64(o.NB)); need > limit {
		takes := fmt.Sprintf("%d bytes, more than the limit of %d", need, limit)
		if need == math.MaxInt64 {
			takes = fmt.Sprintf("more than 100 PiB, and the limit is %d bytes", limit)
		}
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix takes %s (ReadOptions.MaxBytes)", m, n, takes)}
	}
	return tiles.Outline[T](kind, int(m), int(n), o.NB), nil
}

// storedBytes returns the memory of an m×n Matrix in bytes, including the padding
// of its rows and its table of tiles. It returns math.MaxInt64 if the number is
// larger. m and n are at most maxDim, and nb at most maxNB.
func storedBytes[T blocked.Element](kind blocked.Kind, m, n, nb int64) int64 {
	size := int64(scalar.Size[T]())
	lane := 64 / size
	pad := func(c int64) int64 { return (c + lane - 1) / lane * lane }
	mt, nt := (m+nb-1)/nb, (n+nb-1)/nb
	if mt*nt > math.MaxInt64/256 { // both below 2³¹
		return math.MaxInt64
	}
	// Each tile has an entry in the table, and up to 63 bytes that align it.
	overhead := mt * nt * (int64(unsafe.Sizeof(blocked.Tile[T]{})) + 64)

	perRow := n/nb*pad(nb) + pad(n%nb)
	if m > 0 && perRow > math.MaxInt64/256/m {
		return math.MaxInt64
	}
	elems := m * perRow
	if kind != blocked.Full {
		// n = m: the diagonal has q whole tiles, and a last one of order r.
		q, r := n/nb, n%nb
		elems = nb * pad(nb) * (q * (q + 1) / 2)
		if kind == blocked.SymLower || kind == blocked.TriLower {
			elems += r * (q*pad(nb) + pad(r))
		} else {
			elems += n * pad(r)
		}
	}
	return elems*size + overhead
}
