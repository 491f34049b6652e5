//go:build !amd64 || noasm

package peak

// triad returns a function for dst[i] = x[i] + s·y[i] on slices of one
// length, a positive multiple of 16, and its instruction set.
func triad() (ISA, func(dst, x, y []float64, s float64)) { return Go, portableTriad }
