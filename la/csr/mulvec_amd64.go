//go:build !noasm

package csr

import "unsafe"

// mulVecSSE2 is mulVecNarrow for rows lo to hi−1, of which there is at least one. It ends before a
// row whose pointers make no sense, and returns how many rows it has computed.
//
//go:noescape
func mulVecSSE2(dst, x *float64, starts *int, columns *int32, values *float64, entries, lo, hi int) (rows int)

// mulVecFast is mulVecNarrow for the first of the rows from lo on, and returns how many these are:
// all whose pointers make sense, or none without assembly.
func (a *Matrix) mulVecFast(dst, x []float64, lo, hi int) (rows int) {
	if lo >= hi {
		return 0
	}
	_, _ = dst[hi-1], a.ia[hi]
	return mulVecSSE2(&dst[0], unsafe.SliceData(x), &a.ia[0], unsafe.SliceData(a.narrow), unsafe.SliceData(a.data), len(a.narrow), lo, hi)
}
