//go:build !amd64 || noasm

package abssum

// absSums adds the magnitudes of the first columns of four rows of x, stride
// apart, to the sums of their columns and rows, and raises elements of top so
// that one of them is the largest, unless there is a NaN. It returns how many
// columns it has done: all but up to three, or none without AVX2.
func absSums[T element](x []T, stride int, col []float64, row, top *[4]float64) int { return 0 }

// topVector returns the bits, as a float64, of the largest magnitude of the
// first n elements of x: all but less than 32, or none without AVX2.
func topVector[T element](x []T) (n int, top uint64) { return 0, 0 }
