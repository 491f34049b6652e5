//go:build !amd64 || noasm

package csr

// mulVecFast is mulVecNarrow for the first of the rows from lo on, and returns how many these are:
// all whose pointers make sense, or none without assembly.
func (a *Matrix) mulVecFast(dst, x []float64, lo, hi int) (rows int) { return 0 }
