//go:build !amd64 || noasm

package loopapps

// rowMaxVector is rowMax for the first of the rows from lo on, and returns how many these are: all
// of them, or none without AVX2.
func rowMaxVector(g *Pattern, labels, next []uint32, lo, hi int) (rows, changed int) { return 0, 0 }
