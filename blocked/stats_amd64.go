//go:build !noasm

package blocked

import "golang.org/x/sys/cpu"

// absSumsF64 adds the magnitudes of four rows of n elements, stride apart, to
// the sums of their columns and to the four sums of the rows. n is a positive
// multiple of 4.
//
//go:noescape
func absSumsF64(x *float64, stride, n int, col, row *float64)

// absSumsF32 is absSumsF64 for float32.
//
//go:noescape
func absSumsF32(x *float32, stride, n int, col, row *float64)

// absSums adds the magnitudes of the first columns of four rows of x, stride
// apart, to the sums of their columns and rows. It returns how many columns it
// has done: all but up to three, or none without AVX2.
func absSums[T Element](x []T, stride int, col []float64, row *[4]float64) int {
	n := len(col) &^ 3
	if n == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	_ = x[3*stride+n-1]
	switch x := any(x).(type) {
	case []float64:
		absSumsF64(&x[0], stride, n, &col[0], &row[0])
	case []float32:
		absSumsF32(&x[0], stride, n, &col[0], &row[0])
	}
	return n
}
