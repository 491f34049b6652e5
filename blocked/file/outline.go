package file

import (
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
)

// outline returns an m×n Matrix whose tiles have no memory; a reader allocates them as
// data arrives. The error is a *FormatError if a file of that shape and symmetry cannot
// become the kind o.Want, or if the Matrix would take more than limit bytes; or the error
// of o.Check, unchanged. outline allocates only after these checks.
func outline[T blocked.Element](o *ReadOptions, symmetry mtxSymmetry, m, n, limit int64) (*blocked.Matrix[T], error) {
	kind := o.Want.kind(symmetry == mtxSymmetric)
	switch {
	case m > maxDim || n > maxDim:
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix: a dimension is above %d", m, n, maxDim)}
	case kind != blocked.Full && m != n:
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix is not square and cannot be read as %v", m, n, kind)}
	case symmetry == mtxSkew && kind.Symmetric():
		return nil, &FormatError{Reason: fmt.Sprintf("skew-symmetric matrix cannot be read as %v", kind)}
	}
	if o.Check != nil {
		if err := o.Check(Header{int(m), int(n), kind}); err != nil {
			return nil, err
		}
	}
	limit = min(limit, mostBytes)
	if need := tiles.Bytes[T](kind, m, n, int64(o.NB)); need > limit {
		takes := fmt.Sprintf("%d bytes, more than the limit of %d", need, limit)
		if need == math.MaxInt64 {
			takes = fmt.Sprintf("more than 100 PiB, and the limit is %d bytes", limit)
		}
		return nil, &FormatError{Reason: fmt.Sprintf("%d×%d matrix takes %s (ReadOptions.MaxBytes)", m, n, takes)}
	}
	return tiles.Outline[T](kind, int(m), int(n), o.NB), nil
}
