//go:build !amd64 || noasm

package loopapps

// rowMaxVector is rowMax for the first rows from lo on. It returns how many rows it did: all of them, or none
// without AVX2.
func rowMaxVector(g *Pattern, labels, next []uint32, lo, hi int) (rows, changed int) { return 0, 0 }
