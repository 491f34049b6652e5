//go:build !amd64 || noasm

package blocked

// absSums adds the magnitudes of the first columns of four rows of x, stride
// apart, to the sums of their columns and rows. It returns how many columns it
// has done: all but up to three, or none without AVX2.
func absSums[T Element](x []T, stride int, col []float64, row *[4]float64) int { return 0 }
