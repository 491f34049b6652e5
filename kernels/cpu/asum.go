package cpu

import (
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/native"
)

// Sums of magnitudes, as BLAS's asum makes them, but of rows and columns at once: norms are made of these.
// They are in float64. With vector instructions they are as fast as memory is read.

// AbsFour adds the magnitudes in four rows of len(col) elements to col, raises *top to the largest of them, and
// returns the sums of the rows. Row r begins at x[r·stride]; len(x) must be at least 3·stride + len(col). A NaN
// makes the sums of its row and column NaN; *top may then be anything, so test a sum.
func AbsFour[T scalar.Real](x []T, stride int, col []float64, top *float64) [4]float64 {
	return absFour(isa.Of[T](native.Best()), x, stride, col, top)
}

// absFour is AbsFour with the vector instructions of k.
func absFour[T scalar.Real](k *isa.Kernels[T], x []T, stride int, col []float64, top *float64) [4]float64 {
	n, j := len(col), 0
	x0, x1, x2, x3 := x[:n], x[stride:][:n], x[2*stride:][:n], x[3*stride:][:n]
	var s, tops [4]float64
	if k.AbsSums != nil && n >= 4 {
		j = n &^ 3
		k.AbsSums(isa.Hide(&x0[0]), stride, j, isa.Hide(&col[0]), isa.Hide(&s[0]), isa.Hide(&tops[0]))
	}
	for ; j < n; j++ {
		v0, v1 := math.Abs(float64(x0[j])), math.Abs(float64(x1[j]))
		v2, v3 := math.Abs(float64(x2[j])), math.Abs(float64(x3[j]))
		s[0] += v0
		s[1] += v1
		s[2] += v2
		s[3] += v3
		col[j] += v0 + v1 + (v2 + v3)
		tops[j%4] = max(tops[j%4], v0, v1, v2, v3)
	}
	*top = max(*top, tops[0], tops[1], tops[2], tops[3])
	return s
}

// AbsOne is AbsFour for one row, x[:len(col)]: it adds the magnitudes to col, raises *top and returns their sum. A
// NaN makes the sum, its element of col and *top NaN.
func AbsOne[T scalar.Real](x []T, col []float64, top *float64) (s float64) {
	x = x[:len(col)]
	for j := range col {
		v := math.Abs(float64(x[j]))
		s += v
		col[j] += v
		*top = max(*top, v)
	}
	return s
}

// TopBits returns math.Float64bits of the largest magnitude in x. As integers, the bits of non-negative floats
// have the same order as the floats, with NaN last. Comparing integers is much faster than max of float64.
func TopBits[T scalar.Real](x []T) uint64 { return topBits(isa.Of[T](native.Best()), x) }

// topBits is TopBits with the vector instructions of k.
func topBits[T scalar.Real](k *isa.Kernels[T], x []T) (top uint64) {
	n := 0
	if k.TopBits != nil && len(x) >= 32 {
		n = len(x) &^ (128/int(unsafe.Sizeof(x[0])) - 1)
		var tops [8]uint64
		k.TopBits(isa.Hide(&x[0]), n, isa.Hide(&tops))
		for _, v := range unsafe.Slice((*T)(unsafe.Pointer(&tops)), 64/unsafe.Sizeof(x[0])) {
			top = max(top, math.Float64bits(float64(v)))
		}
	}
	for _, v := range x[n:] {
		top = max(top, math.Float64bits(float64(v))&^(1<<63))
	}
	return top
}
