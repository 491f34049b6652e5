//go:build !noasm

package abssum

import (
	"math"

	"golang.org/x/sys/cpu"
)

// absSumsF64 adds the magnitudes of four rows of n elements, stride apart, to
// the sums of their columns and to the four sums of the rows, and raises the
// four elements of top to the largest in a fourth of the columns. What NaN do
// to top depends on where they are. n is a positive multiple of 4.
//
//go:noescape
func absSumsF64(x *float64, stride, n int, col, row, top *float64)

// absSumsF32 is absSumsF64 for float32.
//
//go:noescape
func absSumsF32(x *float32, stride, n int, col, row, top *float64)

// absSums adds the magnitudes of the first columns of four rows of x, stride
// apart, to the sums of their columns and rows, and raises elements of top so
// that one of them is the largest, unless there is a NaN. It returns how many
// columns it has done: all but up to three, or none without AVX2.
func absSums[T element](x []T, stride int, col []float64, row, top *[4]float64) int {
	n := len(col) &^ 3
	if n == 0 || !cpu.X86.HasAVX2 {
		return 0
	}
	_ = x[3*stride+n-1]
	switch x := any(x).(type) {
	case []float64:
		absSumsF64(&x[0], stride, n, &col[0], &row[0], &top[0])
	case []float32:
		absSumsF32(&x[0], stride, n, &col[0], &row[0], &top[0])
	}
	return n
}

// topBitsF64 raises the four elements of top to the bits of the magnitudes of n
// elements, each to those of a fourth of them. n is a positive multiple of 16.
//
//go:noescape
func topBitsF64(x *float64, n int, top *uint64)

// topBitsF32 raises the eight elements of top to the bits of the magnitudes of
// n elements, each to those of an eighth of them. n is a positive multiple of 32.
//
//go:noescape
func topBitsF32(x *float32, n int, top *uint32)

// topVector returns the bits, as a float64, of the largest magnitude of the
// first n elements of x: all but less than 32, or none without AVX2.
func topVector[T element](x []T) (n int, top uint64) {
	if len(x) < 32 || !cpu.X86.HasAVX2 {
		return 0, 0
	}
	switch x := any(x).(type) {
	case []float64:
		n = len(x) &^ 15
		var tops [4]uint64
		topBitsF64(&x[0], n, &tops[0])
		top = max(tops[0], tops[1], tops[2], tops[3])
	case []float32:
		n = len(x) &^ 31
		var tops [8]uint32
		topBitsF32(&x[0], n, &tops[0])
		bits := max(tops[0], tops[1], tops[2], tops[3], tops[4], tops[5], tops[6], tops[7])
		top = math.Float64bits(float64(math.Float32frombits(bits)))
	}
	return n, top
}
